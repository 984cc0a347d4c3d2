// Stands in front of cuBLAS' products: D = op(A) op(B), column-major. Each forwards to the real
// function whatever happens; in a traced process the call's description goes with the kernels that
// it launches. Every entry point exists with 32- and with 64-bit extents (suffix _64).

#include "cupti_tracer/interpose/cublas_calls.h"

namespace hotproof::tracer {
namespace {

// The groups' common extents; absent (0) where groups differ.
template <typename Int>
trace::LibraryCallEntry DescribeGroups(const char* entry_point, const int* transa,
                                       const int* transb, const Int* m, const Int* n, const Int* k,
                                       Int group_count, const Int* group_size) {
  trace::LibraryCallEntry call;
  call.entry_point = entry_point;
  if (group_count <= 0 || m == nullptr || n == nullptr || k == nullptr || group_size == nullptr) {
    return call;
  }
  const auto common = [group_count](const Int* values) {
    for (Int i = 1; i < group_count; ++i) {
      if (values[i] != values[0]) return uint64_t{0};
    }
    return static_cast<uint64_t>(values[0]);
  };
  call.numbers.m = common(m);
  call.numbers.n = common(n);
  call.numbers.k = common(k);
  call.numbers.groups = static_cast<uint64_t>(group_count);
  for (Int i = 0; i < group_count; ++i) call.numbers.batch += static_cast<uint64_t>(group_size[i]);
  if (transa != nullptr) call.numbers.operation_a = static_cast<uint32_t>(transa[0]);
  if (transb != nullptr) call.numbers.operation_b = static_cast<uint32_t>(transb[0]);
  return call;
}

}  // namespace

// cublasGemmEx, cublasGemmStridedBatchedEx, cublasGemmBatchedEx, cublasGemmGroupedBatchedEx.
#define HOTPROOF_GEMM_EX(SUFFIX, Int)                                                              \
  HOTPROOF_INTERPOSE int cublasGemmEx##SUFFIX(                                                     \
      void* handle, int transa, int transb, Int m, Int n, Int k, const void* alpha, const void* a, \
      int a_type, Int lda, const void* b, int b_type, Int ldb, const void* beta, void* c,          \
      int c_type, Int ldc, int compute_type, int algorithm) {                                      \
    HOTPROOF_FORWARD(cublasGemmEx##SUFFIX,                                                         \
                     HOTPROOF_DESCRIBED(cublasGemmEx##SUFFIX, lda, ldb, ldc,                       \
                                        SetTypes(call, a_type, b_type, c_type,                     \
                                                 static_cast<uint32_t>(compute_type))),            \
                     handle, transa, transb, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, \
                     c, c_type, ldc, compute_type, algorithm);                                     \
  }                                                                                                \
  HOTPROOF_INTERPOSE int cublasGemmStridedBatchedEx##SUFFIX(                                       \
      void* handle, int transa, int transb, Int m, Int n, Int k, const void* alpha, const void* a, \
      int a_type, Int lda, long long a_stride, const void* b, int b_type, Int ldb,                 \
      long long b_stride, const void* beta, void* c, int c_type, Int ldc, long long c_stride,      \
      Int batch, int compute_type, int algorithm) {                                                \
    HOTPROOF_FORWARD(                                                                              \
        cublasGemmStridedBatchedEx##SUFFIX,                                                        \
        HOTPROOF_DESCRIBED(                                                                        \
            cublasGemmStridedBatchedEx##SUFFIX, lda, ldb, ldc,                                     \
            (SetTypes(call, a_type, b_type, c_type, static_cast<uint32_t>(compute_type)),          \
             SetBatch(call, batch, a_stride, b_stride, c_stride))),                                \
        handle, transa, transb, m, n, k, alpha, a, a_type, lda, a_stride, b, b_type, ldb,          \
        b_stride, beta, c, c_type, ldc, c_stride, batch, compute_type, algorithm);                 \
  }                                                                                                \
  HOTPROOF_INTERPOSE int cublasGemmBatchedEx##SUFFIX(                                              \
      void* handle, int transa, int transb, Int m, Int n, Int k, const void* alpha,                \
      const void* const* a, int a_type, Int lda, const void* const* b, int b_type, Int ldb,        \
      const void* beta, void* const* c, int c_type, Int ldc, Int batch, int compute_type,          \
      int algorithm) {                                                                             \
    HOTPROOF_FORWARD(cublasGemmBatchedEx##SUFFIX,                                                  \
                     HOTPROOF_DESCRIBED(cublasGemmBatchedEx##SUFFIX, lda, ldb, ldc,                \
                                        (SetTypes(call, a_type, b_type, c_type,                    \
                                                  static_cast<uint32_t>(compute_type)),            \
                                         SetBatch(call, batch, 0, 0, 0))),                         \
                     handle, transa, transb, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, \
                     c, c_type, ldc, batch, compute_type, algorithm);                              \
  }                                                                                                \
  HOTPROOF_INTERPOSE int cublasGemmGroupedBatchedEx##SUFFIX(                                       \
      void* handle, const int* transa, const int* transb, const Int* m, const Int* n,              \
      const Int* k, const void* alpha, const void* const* a, int a_type, const Int* lda,           \
      const void* const* b, int b_type, const Int* ldb, const void* beta, void* const* c,          \
      int c_type, const Int* ldc, Int group_count, const Int* group_size, int compute_type) {      \
    HOTPROOF_FORWARD(                                                                              \
        cublasGemmGroupedBatchedEx##SUFFIX,                                                        \
        [&] {                                                                                      \
          auto call = DescribeGroups("cublasGemmGroupedBatchedEx" #SUFFIX, transa, transb, m, n,   \
                                     k, group_count, group_size);                                  \
          SetTypes(call, a_type, b_type, c_type, static_cast<uint32_t>(compute_type));             \
          return call;                                                                             \
        },                                                                                         \
        handle, transa, transb, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type,   \
        ldc, group_count, group_size, compute_type);                                               \
  }

// cublas<T>gemm, <T>gemmStridedBatched, <T>gemmBatched: STEM, and PLAIN is the name of the first,
// which has a version in it for most types.
#define HOTPROOF_PLAIN_GEMM(PLAIN, SUFFIX, Int, Scalar, TYPE)                                     \
  HOTPROOF_INTERPOSE int PLAIN##SUFFIX(void* handle, int transa, int transb, Int m, Int n, Int k, \
                                       const Scalar* alpha, const Scalar* a, Int lda,             \
                                       const Scalar* b, Int ldb, const Scalar* beta, Scalar* c,   \
                                       Int ldc) {                                                 \
    HOTPROOF_FORWARD(                                                                             \
        PLAIN##SUFFIX,                                                                            \
        HOTPROOF_DESCRIBED(PLAIN##SUFFIX, lda, ldb, ldc, SetTypes(call, TYPE, TYPE, TYPE, 0)),    \
        handle, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);                    \
  }

#define HOTPROOF_GEMM(PLAIN, STEM, SUFFIX, Int, Scalar, TYPE)                                      \
  HOTPROOF_PLAIN_GEMM(PLAIN, SUFFIX, Int, Scalar, TYPE)                                            \
  HOTPROOF_INTERPOSE int STEM##StridedBatched##SUFFIX(                                             \
      void* handle, int transa, int transb, Int m, Int n, Int k, const Scalar* alpha,              \
      const Scalar* a, Int lda, long long a_stride, const Scalar* b, Int ldb, long long b_stride,  \
      const Scalar* beta, Scalar* c, Int ldc, long long c_stride, Int batch) {                     \
    HOTPROOF_FORWARD(STEM##StridedBatched##SUFFIX,                                                 \
                     HOTPROOF_DESCRIBED(STEM##StridedBatched##SUFFIX, lda, ldb, ldc,               \
                                        (SetTypes(call, TYPE, TYPE, TYPE, 0),                      \
                                         SetBatch(call, batch, a_stride, b_stride, c_stride))),    \
                     handle, transa, transb, m, n, k, alpha, a, lda, a_stride, b, ldb, b_stride,   \
                     beta, c, ldc, c_stride, batch);                                               \
  }                                                                                                \
  HOTPROOF_INTERPOSE int STEM##Batched##SUFFIX(                                                    \
      void* handle, int transa, int transb, Int m, Int n, Int k, const Scalar* alpha,              \
      const Scalar* const* a, Int lda, const Scalar* const* b, Int ldb, const Scalar* beta,        \
      Scalar* const* c, Int ldc, Int batch) {                                                      \
    HOTPROOF_FORWARD(                                                                              \
        STEM##Batched##SUFFIX,                                                                     \
        HOTPROOF_DESCRIBED(STEM##Batched##SUFFIX, lda, ldb, ldc,                                   \
                           (SetTypes(call, TYPE, TYPE, TYPE, 0), SetBatch(call, batch, 0, 0, 0))), \
        handle, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, batch);              \
  }

// cublasSgemmEx, cublasCgemmEx: types of their own for A, B and D, scalars of the compute type.
#define HOTPROOF_TYPED_GEMM(NAME, Int, Scalar)                                                    \
  HOTPROOF_INTERPOSE int NAME(void* handle, int transa, int transb, Int m, Int n, Int k,          \
                              const Scalar* alpha, const void* a, int a_type, Int lda,            \
                              const void* b, int b_type, Int ldb, const Scalar* beta, void* c,    \
                              int c_type, Int ldc) {                                              \
    HOTPROOF_FORWARD(                                                                             \
        NAME, HOTPROOF_DESCRIBED(NAME, lda, ldb, ldc, SetTypes(call, a_type, b_type, c_type, 0)), \
        handle, transa, transb, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type,  \
        ldc);                                                                                     \
  }

#define HOTPROOF_GROUPED_GEMM(NAME, Int, Scalar, TYPE)                                          \
  HOTPROOF_INTERPOSE int NAME(void* handle, const int* transa, const int* transb, const Int* m, \
                              const Int* n, const Int* k, const Scalar* alpha,                  \
                              const Scalar* const* a, const Int* lda, const Scalar* const* b,   \
                              const Int* ldb, const Scalar* beta, Scalar* const* c,             \
                              const Int* ldc, Int group_count, const Int* group_size) {         \
    HOTPROOF_FORWARD(                                                                           \
        NAME,                                                                                   \
        [&] {                                                                                   \
          auto call = DescribeGroups(#NAME, transa, transb, m, n, k, group_count, group_size);  \
          SetTypes(call, TYPE, TYPE, TYPE, 0);                                                  \
          return call;                                                                          \
        },                                                                                      \
        handle, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, group_count,      \
        group_size);                                                                            \
  }

#define HOTPROOF_ALL(SUFFIX, Int)                                                 \
  HOTPROOF_GEMM_EX(SUFFIX, Int)                                                   \
  HOTPROOF_GEMM(cublasSgemm_v2, cublasSgemm, SUFFIX, Int, float, kCudaR32F)       \
  HOTPROOF_GEMM(cublasDgemm_v2, cublasDgemm, SUFFIX, Int, double, kCudaR64F)      \
  HOTPROOF_GEMM(cublasHgemm, cublasHgemm, SUFFIX, Int, uint16_t, kCudaR16F)       \
  HOTPROOF_GEMM(cublasCgemm_v2, cublasCgemm, SUFFIX, Int, void, kCudaC32F)        \
  HOTPROOF_GEMM(cublasZgemm_v2, cublasZgemm, SUFFIX, Int, void, kCudaC64F)        \
  HOTPROOF_GEMM(cublasCgemm3m, cublasCgemm3m, SUFFIX, Int, void, kCudaC32F)       \
  HOTPROOF_PLAIN_GEMM(cublasZgemm3m, SUFFIX, Int, void, kCudaC64F)                \
  HOTPROOF_TYPED_GEMM(cublasSgemmEx##SUFFIX, Int, float)                          \
  HOTPROOF_TYPED_GEMM(cublasCgemmEx##SUFFIX, Int, void)                           \
  HOTPROOF_TYPED_GEMM(cublasCgemm3mEx##SUFFIX, Int, void)                         \
  HOTPROOF_GROUPED_GEMM(cublasSgemmGroupedBatched##SUFFIX, Int, float, kCudaR32F) \
  HOTPROOF_GROUPED_GEMM(cublasDgemmGroupedBatched##SUFFIX, Int, double, kCudaR64F)

HOTPROOF_ALL(, int)
HOTPROOF_ALL(_64, int64_t)

}  // namespace hotproof::tracer
