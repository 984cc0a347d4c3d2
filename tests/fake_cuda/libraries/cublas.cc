// libcublas without a GPU: cublasGemmEx goes through cublasLtMatmul, as the real one may.
#include "tests/fake_cuda/libraries/blas.h"

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

int Product(int rows, int cols) {
  const FakeMatrixLayout layout{
      14, 0, static_cast<uint64_t>(rows), static_cast<uint64_t>(cols), rows, 1, 0};
  const FakeMatmulDesc desc{68, 0, 0, 0, 1, -1, -1, -1};
  return cublasLtMatmul(nullptr, &desc, nullptr, nullptr, &layout, nullptr, &layout, nullptr,
                        nullptr, &layout, nullptr, &layout, nullptr, nullptr, 0, nullptr);
}

}  // namespace

FAKE_EXPORT int cublasGemmEx(void*, int, int, int, int, int, const void*, const void*, int, int,
                             const void*, int, int, const void*, void*, int, int, int, int) {
  return Product(1, 1);  // not what was asked: only the outer call knows
}
FAKE_EXPORT int cublasGemmStridedBatchedEx_64(void*, int, int, int64_t, int64_t, int64_t,
                                              const void*, const void*, int, int64_t, long long,
                                              const void*, int, int64_t, long long, const void*,
                                              void*, int, int64_t, long long, int64_t, int, int) {
  return Product(1, 1);
}
FAKE_EXPORT int cublasSgemm_v2(void*, int, int, int, int, int, const float*, const float*, int,
                               const float*, int, const float*, float*, int ldc) {
  return ldc == -1 ? 7 : Product(1, 1);
}
FAKE_EXPORT int cublasSgemmGroupedBatched(void*, const int*, const int*, const int*, const int*,
                                          const int*, const float*, const float* const*, const int*,
                                          const float* const*, const int*, const float*,
                                          float* const*, const int*, int, const int*) {
  return Product(1, 1);
}
FAKE_EXPORT int cublasCgemm3mEx_64(void*, int, int, int64_t, int64_t, int64_t, const void*,
                                   const void*, int, int64_t, const void*, int, int64_t,
                                   const void*, void*, int, int64_t) {
  return Product(1, 1);
}
FAKE_EXPORT int cublasSgemv_v2(void*, int, int, int, const float*, const float*, int, const float*,
                               int, const float*, float*, int) {
  return Product(1, 1);
}
FAKE_EXPORT int cublasHSSgemvStridedBatched(void*, int, int, int, const float*, const void*, int,
                                            long long, const void*, int, long long, const float*,
                                            float*, int, long long, int batch) {
  return batch == 6 ? Product(1, 1) : 7;  // that last argument as it was given
}
FAKE_EXPORT int cublasGemmGroupedBatchedEx(void*, const int*, const int*, const int*, const int*,
                                           const int*, const void*, const void* const*, int,
                                           const int*, const void* const*, int, const int*,
                                           const void*, void* const*, int, const int*, int,
                                           const int*, int) {
  return Product(1, 1);
}
