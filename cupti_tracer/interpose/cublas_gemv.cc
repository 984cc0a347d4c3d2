// Stands in front of cuBLAS' products with a vector, y = op(A) x: described as a product whose n is
// 1, with m the length of y and k that of x. Some are what a GEMM of one token becomes.

#include "cupti_tracer/interpose/cublas_calls.h"

namespace hotproof::tracer {
namespace {

trace::LibraryCallEntry DescribeVector(const char* entry_point, int trans, int64_t m, int64_t n,
                                       int64_t lda, int matrix_type, int result_type) {
  trace::LibraryCallEntry call = trans == 0 ? Describe(entry_point, trans, 0, m, 1, n, lda, n, m)
                                            : Describe(entry_point, trans, 0, n, 1, m, lda, m, n);
  SetTypes(call, matrix_type, matrix_type, result_type, 0);
  return call;
}

}  // namespace

#define HOTPROOF_VECTOR(NAME, IN, OUT, MORE)                      \
  [&] {                                                           \
    auto call = DescribeVector(#NAME, trans, m, n, lda, IN, OUT); \
    MORE;                                                         \
    return call;                                                  \
  }

#define HOTPROOF_PLAIN_GEMV(NAME, Int, T, TYPE)                                                  \
  HOTPROOF_INTERPOSE int NAME(void* handle, int trans, Int m, Int n, const T* alpha, const T* a, \
                              Int lda, const T* x, Int incx, const T* beta, T* y, Int incy) {    \
    HOTPROOF_FORWARD(NAME, HOTPROOF_VECTOR(NAME, TYPE, TYPE, ), handle, trans, m, n, alpha, a,   \
                     lda, x, incx, beta, y, incy);                                               \
  }

// cublas<STEM>gemvBatched, <STEM>gemvStridedBatched.
#define HOTPROOF_BATCHED_GEMV(STEM, SUFFIX, Int, Scalar, In, IN, Out, OUT)                       \
  HOTPROOF_INTERPOSE int STEM##Batched##SUFFIX(                                                  \
      void* handle, int trans, Int m, Int n, const Scalar* alpha, const In* const* a, Int lda,   \
      const In* const* x, Int incx, const Scalar* beta, Out* const* y, Int incy, Int batch) {    \
    HOTPROOF_FORWARD(                                                                            \
        STEM##Batched##SUFFIX,                                                                   \
        HOTPROOF_VECTOR(STEM##Batched##SUFFIX, IN, OUT, SetBatch(call, batch, 0, 0, 0)), handle, \
        trans, m, n, alpha, a, lda, x, incx, beta, y, incy, batch);                              \
  }                                                                                              \
  HOTPROOF_INTERPOSE int STEM##StridedBatched##SUFFIX(                                           \
      void* handle, int trans, Int m, Int n, const Scalar* alpha, const In* a, Int lda,          \
      long long a_stride, const In* x, Int incx, long long x_stride, const Scalar* beta, Out* y, \
      Int incy, long long y_stride, Int batch) {                                                 \
    HOTPROOF_FORWARD(STEM##StridedBatched##SUFFIX,                                               \
                     HOTPROOF_VECTOR(STEM##StridedBatched##SUFFIX, IN, OUT,                      \
                                     SetBatch(call, batch, a_stride, x_stride, y_stride)),       \
                     handle, trans, m, n, alpha, a, lda, a_stride, x, incx, x_stride, beta, y,   \
                     incy, y_stride, batch);                                                     \
  }

#define HOTPROOF_GEMV(STEM, SUFFIX, Int, T, TYPE)      \
  HOTPROOF_PLAIN_GEMV(STEM##_v2##SUFFIX, Int, T, TYPE) \
  HOTPROOF_BATCHED_GEMV(STEM, SUFFIX, Int, T, T, TYPE, T, TYPE)

#define HOTPROOF_ALL(SUFFIX, Int)                                                              \
  HOTPROOF_GEMV(cublasSgemv, SUFFIX, Int, float, kCudaR32F)                                    \
  HOTPROOF_GEMV(cublasDgemv, SUFFIX, Int, double, kCudaR64F)                                   \
  HOTPROOF_GEMV(cublasCgemv, SUFFIX, Int, void, kCudaC32F)                                     \
  HOTPROOF_GEMV(cublasZgemv, SUFFIX, Int, void, kCudaC64F)                                     \
  HOTPROOF_BATCHED_GEMV(cublasHSHgemv, SUFFIX, Int, float, void, kCudaR16F, void, kCudaR16F)   \
  HOTPROOF_BATCHED_GEMV(cublasHSSgemv, SUFFIX, Int, float, void, kCudaR16F, float, kCudaR32F)  \
  HOTPROOF_BATCHED_GEMV(cublasTSTgemv, SUFFIX, Int, float, void, kCudaR16BF, void, kCudaR16BF) \
  HOTPROOF_BATCHED_GEMV(cublasTSSgemv, SUFFIX, Int, float, void, kCudaR16BF, float, kCudaR32F)

HOTPROOF_ALL(, int)
HOTPROOF_ALL(_64, int64_t)

}  // namespace hotproof::tracer
