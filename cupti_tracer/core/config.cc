#include "cupti_tracer/core/config.h"

#include <cstdlib>
#include <string_view>

namespace hotproof::tracer {
namespace {

std::string Get(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
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
  return config;
}

}  // namespace hotproof::tracer
