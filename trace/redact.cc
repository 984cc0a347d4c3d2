#include "trace/redact.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace hotproof::trace {
namespace {

constexpr std::string_view kRedacted = "<redacted>";
constexpr size_t kMaxArgumentBytes = 1024;

// Variables that decide which GPU code runs, and nothing personal.
constexpr std::array<std::string_view, 18> kAllowedPrefixes = {
    "CUDA_",  "CUBLAS", "NVIDIA_",    "NCCL_", "HOTPROOF_", "VLLM_", "TORCH", "PYTORCH_",  "TRITON_",
    "FLASHINFER_", "DG_", "TRTLLM_", "NVTX_", "SGL",  "INDUCTOR_", "XLA_",  "TF_CUDNN", "OMP_NUM_THREADS"};
constexpr std::array<std::string_view, 2> kAllowedNames = {"LD_PRELOAD", "PYTHONUNBUFFERED"};
constexpr std::array<std::string_view, 12> kSecretWords = {
    "key",  "token", "secret",  "password", "passwd",    "credential",
    "auth", "pwd",   "private", "cookie",   "signature", "session"};
// "--tokenizer", "--max-num-batched-tokens", "--kv-cache-dtype" are no secrets.
constexpr std::array<std::string_view, 6> kHarmlessWords = {"tokenizer", "tokens", "keys",
                                                            "keyed", "author", "monkey"};

// The allow-list for command lines.
constexpr std::array<std::string_view, 10> kPlainWords = {"true", "false", "yes",  "no",   "on",
                                                          "off",  "auto",  "none", "null", "default"};
constexpr std::array<std::string_view, 9> kSubcommands = {
    "serve", "bench", "run", "chat", "complete", "launch_server", "latency", "throughput", "torchrun"};
constexpr std::array<std::string_view, 12> kShortOptions = {"tp", "pp", "dp", "ep", "dcp", "pcp",
                                                            "cc", "sc", "asc", "dpn", "dpl", "dpr"};
// Their values are paths or names: the last component says which.
constexpr std::array<std::string_view, 8> kPathOptions = {
    "model", "model-path", "tokenizer", "served-model-name", "speculative-model", "draft-model",
    "speculative-draft-model-path", "hf-config-path"};
// Their values decide which kernels run.
constexpr std::array<std::string_view, 32> kValueOptions = {
    "m", "dtype", "kv-cache-dtype", "mamba-cache-dtype", "mamba-ssm-cache-dtype", "quantization", "q",
    "load-format", "config-format", "model-impl", "runner", "task", "convert", "device", "mode",
    "attention-backend", "mm-encoder-attn-backend", "moe-backend", "moe-runner-backend",
    "fp8-gemm-backend", "sampling-backend", "all2all-backend", "distributed-executor-backend",
    "data-parallel-backend", "compilation-config", "cc", "cudagraph-mode", "cuda-graph-mode",
    "optimization-level", "scheduling-policy", "tokenizer-mode", "kv-cache-layout"};

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

bool NameLooksSecret(std::string_view name) {
  std::string lower = Lower(name);
  for (std::string_view harmless : kHarmlessWords) {
    for (size_t at; (at = lower.find(harmless)) != std::string::npos;) {
      lower.erase(at, harmless.size());
    }
  }
  return std::any_of(kSecretWords.begin(), kSecretWords.end(), [&](std::string_view word) {
    return lower.find(word) != std::string::npos;
  });
}

bool ValueLooksSecret(std::string_view value) {
  for (std::string_view prefix : {"hf_", "sk-", "ghp_", "glpat-", "AKIA", "xox", "eyJ", "Bearer "}) {
    if (value.substr(0, prefix.size()) == prefix && value.size() >= 16) return true;
  }
  const size_t scheme = value.find("://");
  if (scheme != std::string_view::npos) {
    const std::string_view rest = value.substr(scheme + 3);
    const size_t at = rest.find('@');
    if (at != std::string_view::npos && at < rest.find('/')) return true;
  }
  if (value.size() < 32) return false;
  bool digit = false, letter = false;
  for (unsigned char c : value) {
    if (std::isdigit(c)) digit = true;
    else if (std::isalpha(c)) letter = true;
    else if (c != '+' && c != '_' && c != '=') return false;
  }
  return digit && letter;
}

std::string Cut(std::string_view text) {
  if (text.size() <= kMaxArgumentBytes) return std::string(text);
  return std::string(text.substr(0, kMaxArgumentBytes)) + "...";
}

std::string LastComponent(std::string_view path) {
  // What follows in a URL may be a key.
  if (path.find("://") != std::string_view::npos) path = path.substr(0, path.find_first_of("?#"));
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  const size_t slash = path.rfind('/');
  return Cut(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

template <size_t N>
bool IsOneOf(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Numbers (16k, 0.9, 1,2,4) and yes or no: they say how, not who.
bool IsPlainValue(std::string_view value) {
  if (IsOneOf(Lower(value), kPlainWords)) return true;
  const size_t last = value.find_last_not_of("kKmMgGtTbBiI");
  if (value.size() > 32 || last == std::string_view::npos || value.size() - last > 4) return false;
  size_t digits = 0;  // in a row
  bool any = false;
  for (unsigned char c : value.substr(0, last + 1)) {
    digits = std::isdigit(c) ? digits + 1 : 0;
    any |= digits != 0;
    if (digits > 12 || (digits == 0 && std::string_view(".,:-+").find(static_cast<char>(c)) ==
                                           std::string_view::npos)) {
      return false;
    }
  }
  return any;
}

// --name, -x, -O3, or one of the short names that servers have.
bool IsOptionName(std::string_view name) {
  if (name.size() > 66) return false;
  const bool is_long = name.substr(0, 2) == "--";
  const std::string_view bare = name.substr(is_long ? 2 : 1);
  if (bare.empty()) return true;
  for (unsigned char c : bare) {
    if (!std::isalnum(c) && c != '-' && c != '_' && c != '.') return false;
  }
  return is_long || bare.size() == 1 || IsOneOf(bare, kShortOptions) ||
         (bare.size() == 2 && std::isdigit(static_cast<unsigned char>(bare[1])));
}

// What is kept of an option's value.
std::string KeptValue(std::string_view option, std::string_view value) {
  if (NameLooksSecret(option) || ValueLooksSecret(value)) return std::string(kRedacted);
  if (IsPlainValue(value) || value.empty()) return std::string(value);
  std::string name = Lower(option.substr(std::min(option.find_first_not_of('-'), option.size())));
  std::replace(name.begin(), name.end(), '_', '-');
  if (IsOneOf(name, kPathOptions)) return LastComponent(value);
  if (IsOneOf(name, kValueOptions)) return Cut(value);
  return std::string(kRedacted);
}

std::string KeptPositional(std::string_view argument, bool is_model) {
  if (ValueLooksSecret(argument)) return std::string(kRedacted);
  if (IsOneOf(argument, kSubcommands) || IsPlainValue(argument)) return std::string(argument);
  const bool is_script = argument.size() > 3 && argument.substr(argument.size() - 3) == ".py";
  return is_model || is_script ? LastComponent(argument) : std::string(kRedacted);
}

// "NAME=VALUE" with the value judged; `name_end` is the place of '='.
std::string RedactAssignment(std::string_view text, size_t name_end) {
  const std::string_view name = text.substr(0, name_end);
  const std::string_view value = text.substr(name_end + 1);
  if (!value.empty() && (NameLooksSecret(name) || ValueLooksSecret(value))) {
    return std::string(name) + "=" + std::string(kRedacted);
  }
  return Cut(text);
}

}  // namespace

std::vector<std::string> RedactArguments(const std::vector<std::string>& arguments) {
  std::vector<std::string> kept;
  kept.reserve(arguments.size());
  std::string option;  // whose value may come next; "": none
  bool positional_is_model = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (i == 0) {
      kept.push_back(ValueLooksSecret(argument) ? std::string(kRedacted) : LastComponent(argument));
    } else if (option == "-c") {
      kept.emplace_back("<code>");
      option.clear();
    } else if (argument.size() > 1 && argument[0] == '-' && !IsPlainValue(argument)) {
      const size_t equals = argument.find('=');
      option = argument.substr(0, equals);
      if (!IsOptionName(option)) {
        kept.emplace_back(kRedacted);
        option.clear();
      } else if (equals == std::string::npos) {
        kept.push_back(argument);
      } else {
        kept.push_back(option + "=" + KeptValue(option, argument.substr(equals + 1)));
        option.clear();
      }
    } else if (!option.empty()) {
      kept.push_back(KeptValue(option, argument));
      option.clear();
    } else {
      kept.push_back(KeptPositional(argument, positional_is_model));
      positional_is_model = argument == "serve";
      option.clear();
    }
  }
  return kept;
}

std::vector<std::string> AllowedEnvironment(const std::vector<std::string>& variables) {
  std::vector<std::string> allowed;
  for (const std::string& variable : variables) {
    const size_t equals = variable.find('=');
    if (equals == std::string::npos) continue;
    const std::string_view name = std::string_view(variable).substr(0, equals);
    const bool listed =
        std::find(kAllowedNames.begin(), kAllowedNames.end(), name) != kAllowedNames.end() ||
        std::any_of(kAllowedPrefixes.begin(), kAllowedPrefixes.end(), [&](std::string_view prefix) {
          return name.substr(0, prefix.size()) == prefix;
        });
    if (listed) allowed.push_back(RedactAssignment(variable, equals));
  }
  std::sort(allowed.begin(), allowed.end());
  return allowed;
}

}  // namespace hotproof::trace
