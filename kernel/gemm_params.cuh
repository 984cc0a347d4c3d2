// What the GEMM kernel is given, and how a CTA lays out its shared memory: a ring of stages with a
// barrier for 'full' and one for 'empty' each.
#ifndef HOTPROOF_KERNEL_GEMM_PARAMS_CUH_
#define HOTPROOF_KERNEL_GEMM_PARAMS_CUH_

#include <cuda.h>
#include <cuda_bf16.h>

#include <cstdint>

#include "kernel/decomposition.h"
#include "kernel/launch.h"
#include "kernel/ptx.cuh"

namespace hotproof::kernel {

struct GemmParams {
  int m, n, k;  // first: tracers read the shape from the argument bytes
  Decomposition work;
  int stages;
  uint32_t flags;  // kWaitBeforeWeights, kPowerOfTwoScales
  const float* a_scale;
  int64_t a_scale_stride_m, a_scale_stride_k;
  const float* b_scale;
  int64_t b_scale_stride_n, b_scale_stride_k;
  const void* a;  // e4m3, or bf16 with kQuantise; a_map instead when tokens come by TMA
  int64_t lda;
  __nv_bfloat16* d;
  int64_t ldd;
  int* tickets;         // [tile][8 warps]: segments that have arrived; zero between launches
  float* partials;      // [2 * ctas][8 warps][kMTile / 8][32 lanes][4]
  int* launch_counter;  // null, or counts launches of the kernel (test builds)
  Timeline* timeline;   // null, or one per CTA (test builds)
  CUtensorMap a_map;    // aligned by its type
  CUtensorMap b_map;
};
inline constexpr uint32_t kWaitBeforeWeights = 1;
inline constexpr uint32_t kPowerOfTwoScales = 2;
inline constexpr uint32_t kNeverWait = 4;  // test builds: wrong, but shows what waiting costs

inline constexpr int kConsumerWarps = 8;
// Three token warps take turns: with fewer stages than that one could be two passes of the ring
// ahead of a stage, and a barrier's parity tells only one.
inline constexpr int kMinStages = 3;
inline constexpr int kUnitBytes = kTileN * kBlockK;

// A's way into shared memory: through registers, or by TMA when there is much of it.
HOTPROOF_HOST_DEVICE constexpr bool tokens_by_tma(int m_tile) { return m_tile > 32; }
HOTPROOF_HOST_DEVICE constexpr int token_warps(int m_tile) { return tokens_by_tma(m_tile) ? 1 : 3; }
HOTPROOF_HOST_DEVICE constexpr int block_threads(int m_tile) {
  return 32 * (kConsumerWarps + 1 + token_warps(m_tile));
}
// Arrivals that complete a stage: the weights' TMA and one token warp; with TMA for tokens too,
// their TMA and 32 lanes' scale copies.
HOTPROOF_HOST_DEVICE constexpr int full_arrivals(int m_tile) {
  return tokens_by_tma(m_tile) ? 1 + 1 + 32 : 1 + 1;
}
// Byte offsets in dynamic shared memory.
struct SmemLayout {
  int a, scales, barriers, total;
  HOTPROOF_HOST_DEVICE constexpr SmemLayout(int m_tile, int stages)
      : a(stages * kUnitBytes),
        scales(a + stages * m_tile * kBlockK),
        barriers(scales + stages * (m_tile + 4) * 4),
        total(barriers + 2 * stages * 8) {}
};

// The ring of stages. Stage s holds one unit of weights, the same K block of A, A's scales [kMTile]
// and B's scale. full[s] completes when all of it has landed, empty[s] when all consumers have read
// it.
template <int kMTile>
struct Ring {
  uint32_t base;
  int stages;
  SmemLayout layout;

  __device__ uint32_t weights(int s) const { return base + s * kUnitBytes; }
  __device__ uint32_t a(int s) const { return base + layout.a + s * kMTile * kBlockK; }
  __device__ uint32_t scales(int s) const { return base + layout.scales + s * (kMTile + 4) * 4; }
  __device__ uint32_t full(int s) const { return base + layout.barriers + s * 8; }
  __device__ uint32_t empty(int s) const { return base + layout.barriers + (stages + s) * 8; }
};

struct Cursor {
  int stage = 0;
  uint32_t phase = 0;
  __device__ void advance(int stages, int by = 1) {
    for (stage += by; stage >= stages; stage -= stages) phase ^= 1;
  }
};

// The timed variant notes when things happened.
enum Moment { kStart, kPrimed, kDependencyMet, kFirstUnit, kLastIssue, kLastUnit, kEnd };
template <Mutation kMutation>
__device__ void note(const GemmParams& p, Moment moment) {
  if constexpr (kMutation == Mutation::kTimed) {
    p.timeline[blockIdx.x].ns[moment] = ptx::global_ns();
    p.timeline[blockIdx.x].cycles[moment] = clock64();
    if (moment == kStart) p.timeline[blockIdx.x].ns[7] = ptx::multiprocessor();
  }
}
__device__ inline void wait_for_previous_kernel(const GemmParams& p) {
#ifdef HOTPROOF_MUTATIONS
  if (p.flags & kNeverWait) return;
#endif
  (void)p;
  ptx::grid_dependency_wait();
}

}  // namespace hotproof::kernel

#endif  // HOTPROOF_KERNEL_GEMM_PARAMS_CUH_
