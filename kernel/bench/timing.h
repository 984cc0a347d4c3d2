// The timed parts of the benchmark. All graphs that are compared are replayed in turn.
#ifndef HOTPROOF_KERNEL_BENCH_TIMING_H_
#define HOTPROOF_KERNEL_BENCH_TIMING_H_

#include <set>
#include <string>
#include <vector>

#include "kernel/bench/cublaslt.h"
#include "kernel/bench/records.h"
#include "kernel/bench/workload.h"
#include "kernel/launch.h"

namespace hotproof::kernel::bench {

struct TimingContext {
  Workload& workload;
  CublasLt* cublaslt;               // may be null
  std::set<std::string> baselines;  // roof, cublaslt
  int replays;
  cudaStream_t stream;
  Records& records;
  int pause_ms = 0;                 // before every replay
  Tuning tuning[kShapeCount] = {};  // by shape; the library's choice unless overridden
};

// One GEMM per shape and M, back to back over rotating weights.
void time_shapes(TimingContext& context, const std::vector<ShapeId>& shapes,
                 const std::vector<int>& ms);
// The 256 GEMMs in model order.
void time_forward(TimingContext& context, const std::vector<int>& ms);
// The 256 GEMMs, each between kernels that write its bf16 A and read its D and know nothing of
// programmatic launch; quantisation included.
void time_sandwich(TimingContext& context, const std::vector<int>& ms);
// One configuration parameter at a time, around the default.
void sweep(TimingContext& context, const std::vector<ShapeId>& shapes, const std::vector<int>& ms);
// One plain launch per shape, for a profiler.
void once(TimingContext& context, const std::vector<ShapeId>& shapes, int m);
// When the CTAs of two consecutive GEMMs reached each step: min/median/max over CTAs in us, and in
// parentheses the median time since the CTA's start.
void show_timelines(TimingContext& context, const std::vector<ShapeId>& shapes, int m);
// How the order of addresses, the CTA count and the ring depth move the roof.
void sweep_reads(TimingContext& context, const std::vector<ShapeId>& shapes);

}  // namespace hotproof::kernel::bench

#endif  // HOTPROOF_KERNEL_BENCH_TIMING_H_
