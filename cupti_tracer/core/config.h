// What the environment asks of the tracer. Read once, in InitializeInjection.
#pragma once

#include <string>

#include "cupti_tracer/core/rotation.h"

namespace hotproof::tracer {

enum class Mode { kFull, kCount };
enum class Record { kKernels, kOperations };

struct Config {
  std::string out_directory;  // HOTPROOF_OUT; empty: inert
  Mode mode = Mode::kFull;    // HOTPROOF_MODE: "full" (default) or "count"
  std::string mode_error;     // HOTPROOF_MODE had another value: it, else empty
  // HOTPROOF_RECORD: "kernels" (default), or "operations": memory copies, memsets, synchronizations
  // and event records, too. Not the default: not measured on a GPU yet, and CUPTI before 13.3 leaks
  // on graphs with such nodes.
  Record record = Record::kKernels;
  std::string record_error;   // it had another value: it, else empty
  // HOTPROOF_ROTATE_BYTES, HOTPROOF_ROTATE_SECONDS, HOTPROOF_KEEP_BYTES: whole numbers.
  RotationLimits rotation;
  std::string rotation_error;  // one that is none: "NAME=VALUE", else empty
  std::string cupti_path;     // HOTPROOF_CUPTI
  std::string cuda_home;      // CUDA_HOME
  unsigned flush_period_ms = 250;

  static Config FromEnvironment();
};

}  // namespace hotproof::tracer
