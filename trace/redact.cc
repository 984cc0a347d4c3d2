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
  std::vector<std::string> redacted;
  redacted.reserve(arguments.size());
  bool value_is_secret = false, value_is_code = false;
  for (const std::string& argument : arguments) {
    const bool is_flag = argument.size() > 1 && argument[0] == '-';
    const size_t equals = argument.find('=');
    if (value_is_code) {
      redacted.emplace_back("<code>");
    } else if (value_is_secret && !is_flag) {
      redacted.emplace_back(kRedacted);
    } else if (equals != std::string::npos) {
      redacted.push_back(RedactAssignment(argument, equals));
    } else if (ValueLooksSecret(argument)) {
      redacted.emplace_back(kRedacted);
    } else {
      redacted.push_back(Cut(argument));
    }
    value_is_code = !value_is_code && argument == "-c";
    value_is_secret = is_flag && equals == std::string::npos && NameLooksSecret(argument);
  }
  return redacted;
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
