// What of a process's command line and environment may be written down. Used by the tracer's header and
// by `hotproof run`'s manifest; pure functions, any thread, no Abseil.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hotproof::trace {

// "<redacted>" stands for every value that looks like a secret: what follows a flag whose name has
// a word such as key, token, secret, password, credential, auth; user:password@ in a URL; a long run
// of letters and digits without a path separator. Code behind -c is left out ("<code>").
std::vector<std::string> RedactArguments(const std::vector<std::string>& arguments);

// Those NAME=VALUE entries whose name is on the allow-list (CUDA_*, VLLM_*, ...), redacted likewise.
std::vector<std::string> AllowedEnvironment(const std::vector<std::string>& variables);

}  // namespace hotproof::trace
