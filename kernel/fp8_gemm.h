/* C ABI of hotproof's FP8 block-scaled GEMM for Hopper (sm_90a).
 *
 *   D[M,N] (bf16) = dequant(A[M,K]) x dequant(B[N,K])^T
 *   A, B: e4m3, row-major, K contiguous.  A has one fp32 scale per row and 128 of K, B one per 128
 * x 128.
 *
 * Owns nothing: every buffer is the caller's, on the device of the stream. Calls enqueue one kernel
 * on the stream and return; they never synchronise or allocate, can be captured into a CUDA graph,
 * and may be made from any thread. Two calls that may run at the same time need two workspaces.
 *
 * Results are deterministic and batch-invariant on a given GPU model: the bits of a row depend on
 * that row of A, on B and the scales, not on M, on the other rows, or on what else runs. */
#ifndef HOTPROOF_KERNEL_FP8_GEMM_H_
#define HOTPROOF_KERNEL_FP8_GEMM_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HOTPROOF_API __attribute__((visibility("default")))
#else
#define HOTPROOF_API
#endif

typedef enum hotproof_status {
  HOTPROOF_OK = 0,
  HOTPROOF_INVALID_ARGUMENT =
      1, /* a null pointer, a size or stride out of range, a bad alignment */
  HOTPROOF_UNSUPPORTED_SHAPE = 2,  /* M > 128 (bf16 entry: M > 32), N % 8, K % 16 */
  HOTPROOF_UNSUPPORTED_DEVICE = 3, /* the current GPU is not compute capability 9.0 */
  HOTPROOF_WORKSPACE_TOO_SMALL = 4,
  HOTPROOF_CUDA_ERROR = 5 /* hotproof_last_cuda_error() says which */
} hotproof_status;

/* Flags. */
/* By default the kernel starts to read B and its scales while the kernel before it in the stream
 * still runs (programmatic dependent launch), and where that one was launched so, too, and lets its
 * dependents start early, as ours do, while those before it run. None of them may write B or its
 * scales. Set this when one may. */
#define HOTPROOF_WEIGHTS_MAY_CHANGE 1u
/* bf16 entry point: round scales up to powers of two. */
#define HOTPROOF_POWER_OF_TWO_SCALES 2u
/* Launch as an ordinary kernel, fully ordered after the one before it. */
#define HOTPROOF_NO_PROGRAMMATIC_LAUNCH 4u

/* One GEMM. Strides count elements. M in 1..128; N a multiple of 8; K a multiple of 16; the last
 * block of 128 in N or K may be partial. a, b: 16-byte aligned, lda >= K and ldb >= K multiples
 * of 16. d: 4-byte aligned, ldd >= N, even. Scales: 4-byte aligned, any strides >= 0: scale of
 * A[m][k] = a_scale[m * a_scale_stride_m + (k / 128) * a_scale_stride_k] scale of B[n][k] =
 * b_scale[(n / 128) * b_scale_stride_n + (k / 128) * b_scale_stride_k] so both vLLM's row-major and
 * DeepGEMM's M-major activation scales fit without a copy. With more than 32 rows the latter are
 * faster, if M and a_scale_stride_k are multiples of 4 and a_scale is 16-byte aligned. */
typedef struct hotproof_fp8_gemm_args {
  int32_t m, n, k;
  uint32_t flags;
  const void* a;
  int64_t lda;
  const float* a_scale;
  int64_t a_scale_stride_m, a_scale_stride_k;
  const void* b;
  int64_t ldb;
  const float* b_scale;
  int64_t b_scale_stride_n, b_scale_stride_k;
  void* d;
  int64_t ldd;
  void* workspace; /* 256-byte aligned */
  size_t workspace_bytes;
} hotproof_fp8_gemm_args;

/* The workspace a GEMM of this shape, by either entry point, needs on the current device, in bytes
 * (may be 0). The first *control_bytes of it must be zero before the first call that uses it
 * (hotproof_fp8_gemm_init_workspace does that); every call leaves them zero. The rest may hold
 * anything, at any time between calls. control_bytes may be NULL. */
HOTPROOF_API hotproof_status hotproof_fp8_gemm_workspace(int32_t m, int32_t n, int32_t k,
                                                         size_t* bytes, size_t* control_bytes);

/* Enqueues the zeroing of a workspace's control bytes; `stream` is a cudaStream_t. Once per
 * workspace; a workspace may then serve shapes of any kind, one call at a time. */
HOTPROOF_API hotproof_status hotproof_fp8_gemm_init_workspace(void* workspace, size_t bytes,
                                                              void* stream);

/* Enqueues D = A x B^T. `stream` is a cudaStream_t of the current device. */
HOTPROOF_API hotproof_status hotproof_fp8_gemm(const hotproof_fp8_gemm_args* args, void* stream);

/* The same with a bf16 A (a: 16-byte aligned, lda a multiple of 8), quantised inside the kernel:
 * per row and 128 of K, scale = max(amax, 1e-10) / 448, q = e4m3(x * (1 / scale)), round to nearest
 * even, saturating. a_scale and its strides are ignored. M in 1..32. Same bits as
 * hotproof_quantize_1x128 followed by hotproof_fp8_gemm. */
HOTPROOF_API hotproof_status hotproof_fp8_gemm_bf16(const hotproof_fp8_gemm_args* args,
                                                    void* stream);

/* Enqueues that quantisation alone: x bf16 [m][ldx] -> q e4m3 [m][ldq], scale as in a_scale above.
 * k a multiple of 16; x, q 16-byte aligned, ldx a multiple of 8, ldq of 16. flags:
 * HOTPROOF_POWER_OF_TWO_SCALES, HOTPROOF_NO_PROGRAMMATIC_LAUNCH. */
HOTPROOF_API hotproof_status hotproof_quantize_1x128(int32_t m, int32_t k, const void* x,
                                                     int64_t ldx, void* q, int64_t ldq,
                                                     float* scale, int64_t stride_m,
                                                     int64_t stride_k, uint32_t flags,
                                                     void* stream);

/* A sentence for a status; never NULL. */
HOTPROOF_API const char* hotproof_status_string(hotproof_status status);
/* The cudaError_t behind this thread's last HOTPROOF_CUDA_ERROR. */
HOTPROOF_API int hotproof_last_cuda_error(void);

#ifdef __cplusplus
}
#endif

#endif /* HOTPROOF_KERNEL_FP8_GEMM_H_ */
