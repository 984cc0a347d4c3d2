// The GEMM in double precision on the CPU, and the bound an implementation must keep. Owned by the
// tests and the benchmark's checks. compute() starts its own threads and joins them.
#ifndef HOTPROOF_KERNEL_REFERENCE_H_
#define HOTPROOF_KERNEL_REFERENCE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace hotproof::kernel {

// Host copies of a problem. Strides are in elements. a_scale[m * stride_m + (k / 128) * stride_k],
// b_scale[(n / 128) * stride_n + (k / 128) * stride_k].
struct HostProblem {
  int m, n, k;
  const uint8_t* a;
  int64_t lda;
  const float* a_scale;
  int64_t a_scale_stride_m, a_scale_stride_k;
  const uint8_t* b;
  int64_t ldb;
  const float* b_scale;
  int64_t b_scale_stride_n, b_scale_stride_k;
};

struct Reference {
  std::vector<int> columns;       // which n were computed
  std::vector<double> value;      // [m][columns.size()]: sum of a * sa * b * sb
  std::vector<double> magnitude;  // the same sum over absolute values
};

// Computes the given columns (all of them when `columns` is empty).
Reference compute(const HostProblem& problem, std::vector<int> columns = {});

// |d - value| <= 2^-8 |value| + 2^-13 magnitude, plus half of bf16's smallest step: 8 bits of bf16
// and about 13 bits that the tensor core keeps inside a block of 128.
bool within_bound(double d, double value, double magnitude);

struct Mismatch {
  int64_t count = 0;       // elements outside the bound
  double worst_ratio = 0;  // largest |d - value| / bound, over finite values
  std::string first;       // where and what the first one was
};
// d: bf16 bits, row-major [m][ldd].
Mismatch compare(const Reference& reference, const HostProblem& problem, const uint16_t* d,
                 int64_t ldd);
// Bit equality with the correctly rounded value.
Mismatch compare_exact(const Reference& reference, const HostProblem& problem, const uint16_t* d,
                       int64_t ldd);

}  // namespace hotproof::kernel

#endif  // HOTPROOF_KERNEL_REFERENCE_H_
