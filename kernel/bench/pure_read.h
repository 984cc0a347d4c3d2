// The roof: kernels that only read the weights.
#ifndef HOTPROOF_KERNEL_BENCH_PURE_READ_H_
#define HOTPROOF_KERNEL_BENCH_PURE_READ_H_

#include <cuda_runtime.h>

#include <cstdint>

namespace hotproof::kernel::bench {

// Each of `ctas` CTAs reads a near-equal contiguous run of 16 KB pieces with one thread and
// `stages` pieces in flight, evict_first.
struct ReadPlan {
  enum Copy { kContiguous, kTensorBoxes, kBulkRows } copy = kContiguous;
  int row_piece = 0;  // boxes and rows: bytes of a row in a piece (128..1024); a piece is
                      // (16384 / row_piece) rows, pieces follow each other along K
  int ctas = 132;
  int stages = 12;
  bool programmatic = true;  // starts while the previous kernel runs and waits for nothing
  int l2_promotion = 256;    // boxes
  bool evict_first = true;
};

// Enqueues one read of the n x k bytes at `data` (n * k a multiple of 16 KB).
void enqueue_pure_read(const uint8_t* data, int n, int k, const ReadPlan& plan,
                       cudaStream_t stream);

}  // namespace hotproof::kernel::bench

#endif  // HOTPROOF_KERNEL_BENCH_PURE_READ_H_
