// What the stand-ins of libcublasLt and libcublas offer: a few of the real entry points, with the
// real signatures, descriptors that are plain structs, and kernels that the program launches for
// them.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

// Called for each kernel that a library launches: "fill", "product" or "reduce".
using FakeBlasLaunch = void(const char* kernel);
void fake_cublaslt_use(FakeBlasLaunch* launch);

// What the real library keeps to itself.
struct FakeMatrixLayout {
  uint32_t type;
  int32_t order;
  uint64_t rows, cols;
  int64_t ld;
  int32_t batch;
  int64_t stride;
};
struct FakeMatmulDesc {
  int32_t compute_type, scale_type, transa, transb;
  uint32_t epilogue;
  int32_t a_scale_mode, b_scale_mode, d_scale_mode;  // -1: this version has no such attribute
};

int cublasLtMatrixLayoutGetAttribute(const void* layout, int attribute, void* value, size_t size,
                                     size_t* written);
int cublasLtMatmulDescGetAttribute(const void* desc, int attribute, void* value, size_t size,
                                   size_t* written);
int cublasLtMatmul(void* handle, const void* desc, const void* alpha, const void* a,
                   const void* a_layout, const void* b, const void* b_layout, const void* beta,
                   const void* c, const void* c_layout, void* d, const void* d_layout,
                   const void* algorithm, void* workspace, size_t workspace_bytes, void* stream);

int cublasGemmEx(void* handle, int transa, int transb, int m, int n, int k, const void* alpha,
                 const void* a, int a_type, int lda, const void* b, int b_type, int ldb,
                 const void* beta, void* c, int c_type, int ldc, int compute_type, int algorithm);
int cublasGemmStridedBatchedEx_64(void* handle, int transa, int transb, int64_t m, int64_t n,
                                  int64_t k, const void* alpha, const void* a, int a_type,
                                  int64_t lda, long long a_stride, const void* b, int b_type,
                                  int64_t ldb, long long b_stride, const void* beta, void* c,
                                  int c_type, int64_t ldc, long long c_stride, int64_t batch,
                                  int compute_type, int algorithm);
int cublasSgemm_v2(void* handle, int transa, int transb, int m, int n, int k, const float* alpha,
                   const float* a, int lda, const float* b, int ldb, const float* beta, float* c,
                   int ldc);
int cublasGemmGroupedBatchedEx(void* handle, const int* transa, const int* transb, const int* m,
                               const int* n, const int* k, const void* alpha, const void* const* a,
                               int a_type, const int* lda, const void* const* b, int b_type,
                               const int* ldb, const void* beta, void* const* c, int c_type,
                               const int* ldc, int group_count, const int* group_size,
                               int compute_type);
int cublasSgemmGroupedBatched(void* handle, const int* transa, const int* transb, const int* m,
                              const int* n, const int* k, const float* alpha, const float* const* a,
                              const int* lda, const float* const* b, const int* ldb,
                              const float* beta, float* const* c, const int* ldc, int group_count,
                              const int* group_size);
int cublasCgemm3mEx_64(void* handle, int transa, int transb, int64_t m, int64_t n, int64_t k,
                       const void* alpha, const void* a, int a_type, int64_t lda, const void* b,
                       int b_type, int64_t ldb, const void* beta, void* c, int c_type, int64_t ldc);
int cublasSgemv_v2(void* handle, int trans, int m, int n, const float* alpha, const float* a,
                   int lda, const float* x, int incx, const float* beta, float* y, int incy);
int cublasHSSgemvStridedBatched(void* handle, int trans, int m, int n, const float* alpha,
                                const void* a, int lda, long long a_stride, const void* x, int incx,
                                long long x_stride, const float* beta, float* y, int incy,
                                long long y_stride, int batch);
}
