// A library that uses cuBLAS, as an extension module of Python does: linked to it, opened by the
// program. Calls every entry point of the stand-ins once.
#include "tests/fake_cuda/libraries/blas.h"

extern "C" __attribute__((visibility("default"))) int use_blas(FakeBlasLaunch* launch) {
  fake_cublaslt_use(launch);
  // y[8][96] = x[8][5120] w[96][5120]^T, in column-major words: 96 x 8.
  const FakeMatrixLayout weight{28, 0, 5120, 96, 5120, 1, 0}, tokens{28, 0, 5120, 8, 5120, 1, 0},
      result{14, 0, 96, 8, 96, 1, 0};
  const FakeMatmulDesc desc{68, 0, 1, 0, 4, 5, 4, -1};
  int failed = cublasLtMatmul(nullptr, &desc, nullptr, nullptr, &weight, nullptr, &tokens, nullptr,
                              nullptr, &result, nullptr, &result, nullptr, nullptr, 0, nullptr);
  failed |= cublasGemmEx(nullptr, 1, 0, 1024, 16, 4096, nullptr, nullptr, 14, 4096, nullptr, 14,
                         4096, nullptr, nullptr, 14, 1024, 68, 99);
  failed |= cublasGemmStridedBatchedEx_64(nullptr, 0, 0, 128, 64, 32, nullptr, nullptr, 2, 128,
                                          4096, nullptr, 2, 32, 2048, nullptr, nullptr, 2, 128,
                                          8192, 12, 68, 99);
  failed |=
      cublasSgemm_v2(nullptr, 0, 1, 7, 5, 3, nullptr, nullptr, 7, nullptr, 5, nullptr, nullptr, 7);
  const int transposed[] = {1, 1}, none[] = {0, 0}, m[] = {64, 64}, n[] = {8, 24}, k[] = {256, 256},
            sizes[] = {3, 2};
  failed |= cublasGemmGroupedBatchedEx(nullptr, transposed, none, m, n, k, nullptr, nullptr, 14, k,
                                       nullptr, 14, k, nullptr, nullptr, 14, m, 2, sizes, 68);
  // Groups of nothing in common; a thin product with a wide D; y = A^T x and y = A x.
  const int other_k[] = {256, 512};
  failed |= cublasSgemmGroupedBatched(nullptr, transposed, none, m, n, other_k, nullptr, nullptr, k,
                                      nullptr, k, nullptr, nullptr, m, 2, sizes);
  failed |= cublasCgemm3mEx_64(nullptr, 0, 2, 1, 1, 0, nullptr, nullptr, 4, 1, nullptr, 4, 1,
                               nullptr, nullptr, 4, 4096);
  failed |=
      cublasSgemv_v2(nullptr, 1, 5120, 96, nullptr, nullptr, 5120, nullptr, 1, nullptr, nullptr, 1);
  failed |= cublasHSSgemvStridedBatched(nullptr, 0, 96, 5120, nullptr, nullptr, 128, 655360,
                                        nullptr, 1, 5120, nullptr, nullptr, 1, 96, 6);
  // A refused call: its status comes back as it is.
  if (cublasSgemm_v2(nullptr, 0, 0, 1, 1, 1, nullptr, nullptr, 1, nullptr, 1, nullptr, nullptr,
                     -1) != 7)
    failed |= 1;
  return failed;
}
