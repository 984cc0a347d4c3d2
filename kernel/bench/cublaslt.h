// cuBLASLt's block-scaled FP8 GEMM as a baseline. The library is opened at run time; nothing links
// to it.
#ifndef HOTPROOF_KERNEL_BENCH_CUBLASLT_H_
#define HOTPROOF_KERNEL_BENCH_CUBLASLT_H_

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace hotproof::kernel::bench {

// A and B's operands as the ABI has them, except A's scales: M-major (element (m, kb) at kb *
// m_padded + m).
struct CublasLtArgs {
  int m, n, k;
  const void* a;
  const float* a_scale;
  const void* b;
  const float* b_scale;  // [n / 128][k / 128] with rows of k / 128 floats
  void* d;
};

class CublasLt {
 public:
  // Null, with a reason in *error, when the library is missing or too old. `path` may be empty.
  static std::unique_ptr<CublasLt> open(const std::string& path, std::string* error);
  virtual ~CublasLt() = default;
  virtual size_t version() const = 0;
  // How many of the first 8 algorithms the heuristic offers for this shape (M a multiple of 4); 0:
  // none.
  virtual int prepare(int m, int n, int k) = 0;
  // Enqueues with algorithm `index` of prepare(); false when cuBLASLt refuses.
  virtual bool enqueue(const CublasLtArgs& args, int index, cudaStream_t stream) = 0;
};

}  // namespace hotproof::kernel::bench

#endif  // HOTPROOF_KERNEL_BENCH_CUBLASLT_H_
