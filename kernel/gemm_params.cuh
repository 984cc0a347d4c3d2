// What the GEMM kernel is given, and how a CTA lays out its shared memory: two rings of stages with
// a barrier for 'full' and one for 'empty' each.
#ifndef HOTPROOF_KERNEL_GEMM_PARAMS_CUH_
#define HOTPROOF_KERNEL_GEMM_PARAMS_CUH_

#include <cuda.h>
#include <cuda_bf16.h>

#include <cstdint>

#include "kernel/decomposition.h"
#include "kernel/launch.h"
#include "kernel/ptx.cuh"
#include "kernel/stage_walk.h"

namespace hotproof::kernel {

inline constexpr int kAtomBytes = kGroup * kBlockK;  // 8 rows x 128 bytes, what the swizzle spans

// Byte offsets in dynamic shared memory: two rings, one for weights and one for tokens with their
// scales, B's scales, barriers. A stage of either ring holds `stage_blocks` K blocks.
struct SmemLayout {
  int weight_stage = 0, token_stage = 0, scale_stage = 0;  // bytes
  int table_stride =
      0;  // floats in a row of B's scales: a CTA's K blocks, and zeros to a full stage
  int tokens = 0, scales = 0, table = 0, barriers = 0, total = 0;

  constexpr SmemLayout() = default;
  constexpr SmemLayout(const Decomposition& work, const RingPlan& ring, int m_tile)
      : weight_stage(work.tile_groups * ring.stage_blocks * kAtomBytes),
        token_stage(ring.stage_blocks * m_tile * kBlockK),
        scale_stage(ring.stage_blocks * m_tile * 4),
        table_stride(ceil_div(work.longest_k(), 4) * 4),
        tokens(ring.stages * weight_stage),
        scales(tokens + ring.token_stages * token_stage),
        table(scales + ring.token_stages * scale_stage),
        barriers(table + work.scale_rows() * table_stride * 4),
        total(barriers + (2 * ring.stages + 2 * ring.token_stages + 1) * 8) {
    // A wgmma reads 64 or more rows whatever the tile has: the last stage's last one may read past
    // the weights, and whatever lies there becomes rows that nobody stores.
    const int reach = tokens + kFullTileGroups * ring.stage_blocks * kAtomBytes;
    if (total < reach) total = reach;
  }
};

// What every CTA needs first, worked out by the host: until weights are asked for the memory idles.
struct FirstLoads {
  uint32_t barriers = 0, stage_bytes = 0;  // layout.barriers, layout.weight_stage
  int groups = 0;                          // of a column of CTAs
  int to_second = 0;                       // to_second_stage()
  int k_to_byte = 0, k_to_block = 0;       // K block to the tensor map's coordinates: one is zero
  int readers = 0;                         // consumer warps that read a stage

  FirstLoads() = default;
  FirstLoads(const Decomposition& work, const RingPlan& ring, const SmemLayout& layout, bool ragged)
      : barriers(layout.barriers),
        stage_bytes(layout.weight_stage),
        groups(work.tiles_per_cta * work.tile_groups),
        to_second(to_second_stage(work, ring.stage_blocks)),
        k_to_byte(ragged ? kBlockK : 0),
        k_to_block(ragged ? 0 : 1),
        readers(consumer_warps(work)) {}
};

struct GemmParams {
  int m, n, k;     // first: tracers read the shape from the argument bytes
  uint32_t flags;  // kWaitBeforeWeights, kPowerOfTwoScales, ...
  FirstLoads first;
  Decomposition work;          // what a CTA needs first stands together
  int cuts[kMaxSegments + 1];  // work.cut(s): divisions cost time where every CTA begins
  RingPlan ring;
  SmemLayout layout;
  const float* a_scale;
  int64_t a_scale_stride_m, a_scale_stride_k;
  const float* b_scale;
  int64_t b_scale_stride_n, b_scale_stride_k;
  const __nv_bfloat16* a;  // with kQuantise; else a_map
  int64_t lda;
  __nv_bfloat16* d;
  int64_t ldd;
  // Zero between launches: with many tokens the CTAs that have arrived, [shared tile][8 warps];
  // with few where sums meet, [shared tile][2 or 1][8 warps][what a lane holds / 4][32 lanes].
  int* tickets;
  uint4* slots;
  float* partials;  // [shared tile][pair of segments][8 warps][what a lane holds / 4][32 lanes][4]
  int* launch_counter;  // null, or counts launches of the kernel (test builds)
  Timeline* timeline;   // null, or one per CTA (test builds)
  CUtensorMap a_map;    // aligned by its type
  CUtensorMap b_map;
};
using KernelFunction = void (*)(GemmParams);
KernelFunction many_tokens_kernel(int m_tile);  // 64 or 128
inline constexpr uint32_t kWaitBeforeWeights = 1;
inline constexpr uint32_t kPowerOfTwoScales = 2;
inline constexpr uint32_t kNeverWait = 8;    // test builds: wrong, but shows what waiting costs
inline constexpr uint32_t kBulkScales = 16;  // A's scales of a K block are neighbours, aligned

inline constexpr int kConsumerWarps = 8;
inline constexpr int kBlockThreads = 32 * (kConsumerWarps + 1 + kTokenWarps);
// K blocks in a stage of the kernel for many tokens, at most; `cut`: a CTA has half of the tokens.
HOTPROOF_HOST_DEVICE constexpr int most_many_blocks(bool cut) { return cut ? 4 : 2; }
enum NamedBarrier { kBegin, kTokensBegin };
inline constexpr int kTableThreads = 32 * (kTokenWarps - 1);  // that load B's scales
// Arrivals that complete a token stage: one thread's TMA and 32 lanes' scale copies, or one warp
// that wrote it with ordinary stores.
HOTPROOF_HOST_DEVICE constexpr int token_arrivals(bool quantise) { return quantise ? 1 : 33; }

// Addresses in the two rings. full completes when a stage's data has landed, empty when all
// consumers have read it.
struct Rings {
  uint32_t base;
  SmemLayout layout;
  int stages, token_stages;

  __device__ uint32_t weights(int s) const { return base + s * layout.weight_stage; }
  __device__ uint32_t tokens(int s) const { return base + layout.tokens + s * layout.token_stage; }
  __device__ uint32_t scales(int s) const { return base + layout.scales + s * layout.scale_stage; }
  __device__ uint32_t table() const { return base + layout.table; }
  __device__ uint32_t full(int s) const { return base + layout.barriers + s * 8; }
  __device__ uint32_t empty(int s) const { return full(stages + s); }
  __device__ uint32_t token_full(int s) const { return full(2 * stages + s); }
  __device__ uint32_t token_empty(int s) const { return full(2 * stages + token_stages + s); }
  __device__ uint32_t table_full() const { return full(2 * stages + 2 * token_stages); }
};

// Which of all this is a CTA's.
struct CtaWork : CtaRange {
  int first_segment;
  __device__ CtaWork(const GemmParams& p)
      : CtaRange{p.work.first_tile(blockIdx.x), p.work.end_tile(blockIdx.x),
                 p.cuts[p.work.first_segment(blockIdx.y)], p.cuts[p.work.end_segment(blockIdx.y)]},
        first_segment(p.work.first_segment(blockIdx.y)) {}
  __device__ StageWalk walk(const GemmParams& p) const {
    return StageWalk(*this, p.ring.stage_blocks);
  }
};
// First of the rows of B's scales that a CTA's tiles touch.
__device__ inline int first_scale_row(const GemmParams& p, const CtaRange& cta) {
  return cta.first_tile * p.work.tile_groups / (kScaleRows / kGroup);
}

struct Cursor {
  int stage = 0;
  uint32_t phase = 0;
  __device__ void next(int stages) {
    if (++stage == stages) stage = 0, phase ^= 1;
  }
  __device__ void advance(int stages, int by = 1) {
    for (stage += by; stage >= stages; stage -= stages) phase ^= 1;
  }
};

// A consumer warp goes through both rings, a stage at a time: waits for what it reads, says that it
// has read it, and goes on.
__device__ inline void wait_for_weights(const Rings& rings, const Cursor& at) {
  ptx::mbarrier_wait(rings.full(at.stage), at.phase);
}
__device__ inline void wait_for_tokens(const Rings& rings, const Cursor& at) {
  ptx::mbarrier_wait(rings.token_full(at.stage), at.phase);
}
__device__ inline void release_stage(const Rings& rings, const Cursor& weights,
                                     const Cursor& tokens, int lane) {
  __syncwarp();
  if (lane == 0) {
    ptx::mbarrier_arrive(rings.empty(weights.stage));
    ptx::mbarrier_arrive(rings.token_empty(tokens.stage));
  }
}
__device__ inline void next_stage(const Rings& rings, Cursor* weights, Cursor* tokens) {
  weights->next(rings.stages);
  tokens->next(rings.token_stages);
}

// The timed variant notes when things happened.
template <Mutation kMutation>
__device__ void note(const GemmParams& p, Moment moment) {
  if constexpr (kMutation == Mutation::kTimed) {
    Timeline& t = p.timeline[blockIdx.y * gridDim.x + blockIdx.x];
    t.cycles[moment] = clock();
    if (moment == kStart) t.multiprocessor = ptx::multiprocessor(), t.start_ns = ptx::global_ns();
    if (moment == kEnd) t.end_ns = ptx::global_ns();
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
