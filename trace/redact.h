// What of a process's command line and environment may be written down. Used by the tracer's header and
// by `hotproof run`'s manifest; pure functions, any thread, no Abseil.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hotproof::trace {

// Keeps of a command line what says which GPU code ran, by allow-list; "<redacted>" stands for the rest:
//   program, script (.py)             the last component of its path
//   module behind -m, names of options kept (a single dash: one letter, or a name that servers have)
//   numbers, true, auto, ...          kept, of every option
//   --dtype, --quantization, ...      kept: options that choose kernels (kValueOptions)
//   --model, --tokenizer, ... and     the last component
//   what follows `serve`
//   serve, bench, run, ...            kept
//   code behind -c                    "<code>"
// Redacted in spite of all that: the value of an option whose name has a word such as key, token, secret,
// password, credential, auth; user:password@ in a URL; what looks like a key (a known prefix, or a long
// run of letters and digits).
std::vector<std::string> RedactArguments(const std::vector<std::string>& arguments);

// Those NAME=VALUE entries whose name is on the allow-list (CUDA_*, VLLM_*, ...), redacted likewise.
std::vector<std::string> AllowedEnvironment(const std::vector<std::string>& variables);

}  // namespace hotproof::trace
