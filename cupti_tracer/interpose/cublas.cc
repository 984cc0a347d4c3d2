// Stands in front of cuBLAS' products: D = op(A) op(B), column-major. Each forwards to the real
// function whatever happens; in a traced process the call's description goes with the kernels that
// it launches. Every entry point exists with 32- and with 64-bit extents (suffix _64).

#include "cupti_tracer/interpose/cublas.h"

namespace hotproof::tracer {
namespace {

constexpr char kLibrary[] = "libcublas.so";

trace::LibraryCallEntry Describe(const char* entry_point, int transa, int transb, int64_t m,
                                 int64_t n, int64_t k, int64_t lda, int64_t ldb, int64_t ldd) {
  trace::LibraryCallEntry call;
  call.entry_point = entry_point;
  call.numbers.m = static_cast<uint64_t>(m);
  call.numbers.n = static_cast<uint64_t>(n);
  call.numbers.k = static_cast<uint64_t>(k);
  call.numbers.operation_a = static_cast<uint32_t>(transa);
  call.numbers.operation_b = static_cast<uint32_t>(transb);
  call.numbers.lda = static_cast<uint64_t>(lda);
  call.numbers.ldb = static_cast<uint64_t>(ldb);
  call.numbers.ldd = static_cast<uint64_t>(ldd);
  return call;
}

void SetTypes(trace::LibraryCallEntry& call, int a, int b, int d, uint32_t compute) {
  call.numbers.a_type = Known(a);
  call.numbers.b_type = Known(b);
  call.numbers.c_type = call.numbers.d_type = Known(d);
  call.numbers.compute_type = compute;
}

void SetBatch(trace::LibraryCallEntry& call, int64_t batch, int64_t a, int64_t b, int64_t d) {
  call.numbers.batch = static_cast<uint64_t>(batch);
  call.numbers.stride_a = static_cast<uint64_t>(a);
  call.numbers.stride_b = static_cast<uint64_t>(b);
  call.numbers.stride_d = static_cast<uint64_t>(d);
}

// Calls the real function, inside a scope if `describe` has something to say.
template <typename Function, typename Describer, typename... Args>
int Forward(RealFunction& real, const void* caller, const void* self, Describer&& describe,
            Args... args) {
  auto* function = reinterpret_cast<Function*>(real.For(caller, self));
  if (function == nullptr) return kCublasStatusNotSupported;
  if (!WantsLibraryCall()) return function(args...);
  const trace::LibraryCallEntry call = describe();
  const LibraryCallScope scope(call);
  return function(args...);
}

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

#define HOTPROOF_FORWARD(NAME, DESCRIBE, ...)                       \
  static constinit RealFunction real(#NAME, kLibrary);              \
  return Forward<decltype(NAME)>(real, __builtin_return_address(0), \
                                 reinterpret_cast<const void*>(&NAME), DESCRIBE, __VA_ARGS__)

#define HOTPROOF_DESCRIBED(NAME, LDA, LDB, LDD, MORE)                    \
  [&] {                                                                  \
    auto call = Describe(#NAME, transa, transb, m, n, k, LDA, LDB, LDD); \
    MORE;                                                                \
    return call;                                                         \
  }

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

// cublas<T>gemm, <T>gemmStridedBatched, <T>gemmBatched: PLAIN is the name of the first, which has a
// version in it for most types.
#define HOTPROOF_GEMM(PLAIN, T, SUFFIX, Int, Scalar, TYPE)                                         \
  HOTPROOF_INTERPOSE int PLAIN##SUFFIX(void* handle, int transa, int transb, Int m, Int n, Int k,  \
                                       const Scalar* alpha, const Scalar* a, Int lda,              \
                                       const Scalar* b, Int ldb, const Scalar* beta, Scalar* c,    \
                                       Int ldc) {                                                  \
    HOTPROOF_FORWARD(                                                                              \
        PLAIN##SUFFIX,                                                                             \
        HOTPROOF_DESCRIBED(PLAIN##SUFFIX, lda, ldb, ldc, SetTypes(call, TYPE, TYPE, TYPE, 0)),     \
        handle, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);                     \
  }                                                                                                \
  HOTPROOF_INTERPOSE int cublas##T##gemmStridedBatched##SUFFIX(                                    \
      void* handle, int transa, int transb, Int m, Int n, Int k, const Scalar* alpha,              \
      const Scalar* a, Int lda, long long a_stride, const Scalar* b, Int ldb, long long b_stride,  \
      const Scalar* beta, Scalar* c, Int ldc, long long c_stride, Int batch) {                     \
    HOTPROOF_FORWARD(cublas##T##gemmStridedBatched##SUFFIX,                                        \
                     HOTPROOF_DESCRIBED(cublas##T##gemmStridedBatched##SUFFIX, lda, ldb, ldc,      \
                                        (SetTypes(call, TYPE, TYPE, TYPE, 0),                      \
                                         SetBatch(call, batch, a_stride, b_stride, c_stride))),    \
                     handle, transa, transb, m, n, k, alpha, a, lda, a_stride, b, ldb, b_stride,   \
                     beta, c, ldc, c_stride, batch);                                               \
  }                                                                                                \
  HOTPROOF_INTERPOSE int cublas##T##gemmBatched##SUFFIX(                                           \
      void* handle, int transa, int transb, Int m, Int n, Int k, const Scalar* alpha,              \
      const Scalar* const* a, Int lda, const Scalar* const* b, Int ldb, const Scalar* beta,        \
      Scalar* const* c, Int ldc, Int batch) {                                                      \
    HOTPROOF_FORWARD(                                                                              \
        cublas##T##gemmBatched##SUFFIX,                                                            \
        HOTPROOF_DESCRIBED(cublas##T##gemmBatched##SUFFIX, lda, ldb, ldc,                          \
                           (SetTypes(call, TYPE, TYPE, TYPE, 0), SetBatch(call, batch, 0, 0, 0))), \
        handle, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, batch);              \
  }

HOTPROOF_GEMM_EX(, int)
HOTPROOF_GEMM_EX(_64, int64_t)
HOTPROOF_GEMM(cublasSgemm_v2, S, , int, float, kCudaR32F)
HOTPROOF_GEMM(cublasSgemm_v2, S, _64, int64_t, float, kCudaR32F)
HOTPROOF_GEMM(cublasDgemm_v2, D, , int, double, kCudaR64F)
HOTPROOF_GEMM(cublasDgemm_v2, D, _64, int64_t, double, kCudaR64F)
HOTPROOF_GEMM(cublasHgemm, H, , int, uint16_t, kCudaR16F)
HOTPROOF_GEMM(cublasHgemm, H, _64, int64_t, uint16_t, kCudaR16F)
HOTPROOF_GEMM(cublasCgemm_v2, C, , int, void, kCudaC32F)
HOTPROOF_GEMM(cublasCgemm_v2, C, _64, int64_t, void, kCudaC32F)
HOTPROOF_GEMM(cublasZgemm_v2, Z, , int, void, kCudaC64F)
HOTPROOF_GEMM(cublasZgemm_v2, Z, _64, int64_t, void, kCudaC64F)

}  // namespace hotproof::tracer
