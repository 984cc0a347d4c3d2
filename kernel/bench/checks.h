// Correctness on the device, before anything is timed. Each check prints one line and returns
// whether it held; they run one after another on the calling thread.
#ifndef HOTPROOF_KERNEL_BENCH_CHECKS_H_
#define HOTPROOF_KERNEL_BENCH_CHECKS_H_

#include <string>

#include "kernel/bench/cublaslt.h"

namespace hotproof::kernel::bench {

struct CheckOptions {
  int determinism_runs = 10000;
  bool full_shapes = true;  // the five shapes of the workload, on sampled columns
  CublasLt* cublaslt = nullptr;
};

// Number of checks that failed.
int run_checks(const CheckOptions& options);

// A few small launches of every kind, for compute-sanitizer.
int run_tiny();

}  // namespace hotproof::kernel::bench

#endif  // HOTPROOF_KERNEL_BENCH_CHECKS_H_
