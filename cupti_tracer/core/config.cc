#include "cupti_tracer/core/config.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace hotproof::tracer {
namespace {

std::string Get(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// 0 where the variable is not set or no number, which `error` then says.
uint64_t GetNumber(const char* name, uint64_t most, std::string& error) {
  const std::string text = Get(name);
  uint64_t number = 0;
  const auto [end, result] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty()) return 0;
  if (result == std::errc() && end == text.data() + text.size() && number <= most) return number;
  error = std::string(name) + "=" + text;
  return 0;
}

}  // namespace

Config Config::FromEnvironment() {
  Config config;
  config.out_directory = Get("HOTPROOF_OUT");
  config.cupti_path = Get("HOTPROOF_CUPTI");
  config.cuda_home = Get("CUDA_HOME");
  const std::string mode = Get("HOTPROOF_MODE");
  if (mode == "count") {
    config.mode = Mode::kCount;
  } else if (!mode.empty() && mode != "full") {
    config.mode_error = mode;
  }
  const std::string record = Get("HOTPROOF_RECORD");
  if (record == "operations") {
    config.record = Record::kOperations;
  } else if (!record.empty() && record != "kernels") {
    config.record_error = record;
  }
  constexpr uint64_t kNsPerSecond = 1'000'000'000;
  config.rotation.file_bytes = GetNumber("HOTPROOF_ROTATE_BYTES", UINT64_MAX, config.rotation_error);
  config.rotation.file_ns = kNsPerSecond * GetNumber("HOTPROOF_ROTATE_SECONDS", UINT64_MAX / kNsPerSecond,
                                                     config.rotation_error);
  config.rotation.folder_bytes = GetNumber("HOTPROOF_KEEP_BYTES", UINT64_MAX, config.rotation_error);
  return config;
}

}  // namespace hotproof::tracer
