// The warps that fill the rings: one thread for weights, three warps for tokens and scales.
#ifndef HOTPROOF_KERNEL_LOAD_CUH_
#define HOTPROOF_KERNEL_LOAD_CUH_

#include <cstdint>

#include "kernel/gemm_params.cuh"
#include "kernel/ptx.cuh"
#include "kernel/quantize.cuh"

namespace hotproof::kernel {

__device__ inline void load_weights(const GemmParams& p, const Rings& rings, int stage, int tile,
                                    int k) {
  const bool ragged = p.flags & kRaggedK;
  const uint32_t full = rings.full(stage);
  ptx::mbarrier_arrive_expect_tx(full, p.layout.weight_stage);
  ptx::tma_load_4d(rings.weights(stage), &p.b_map, ragged ? k * kBlockK : 0, 0, ragged ? 0 : k,
                   tile * p.work.tile_groups, full, ptx::kEvictFirst);
}

// The first thing a CTA does, by the weight thread: the memory idles until a load is out. Weights
// don't depend on the previous kernel, unless the caller says so.
template <Mutation kMutation>
__device__ void load_first_weights(const GemmParams& p, const Rings& rings) {
  note<kMutation>(p, kStart);
  ptx::mbarrier_init(rings.full(0), 1);
  ptx::fence_mbarrier_init();
  ptx::fence_proxy_async();
  if (p.flags & kWaitBeforeWeights) return;
  load_weights(p, rings, 0, p.work.first_tile(blockIdx.x),
               p.cuts[p.work.first_segment(blockIdx.y)]);
}

// How every CTA begins: barriers are set up, weights asked for. All warps call this. readers:
// consumer warps that read a stage; token_arrivals: what completes a stage of tokens.
template <Mutation kMutation>
__device__ void begin(const GemmParams& p, const Rings& rings, int warp, int lane, int readers,
                      int token_arrivals) {
  if (warp == kConsumerWarps) {
    if (lane == 0) {
      load_first_weights<kMutation>(p, rings);
      // Only one CTA fits on a multiprocessor: the next kernel's come one by one as multiprocessors
      // fall free, and load their first weights while the last of ours still compute.
      ptx::launch_dependents();
    }
    if (lane < rings.stages) {
      if (lane > 0) ptx::mbarrier_init(rings.full(lane), 1);
      ptx::mbarrier_init(rings.empty(lane), readers);
    }
    ptx::fence_mbarrier_init();
    ptx::fence_proxy_async();
    __syncwarp();
    ptx::named_barrier_arrive(0, kBlockThreads);  // it needs no one else's barriers
    return;
  }
  if (warp == kConsumerWarps + 1) {
    if (lane < rings.token_stages) {
      ptx::mbarrier_init(rings.token_full(lane), token_arrivals);
      ptx::mbarrier_init(rings.token_empty(lane), readers);
    }
    if (lane == 0) ptx::mbarrier_init(rings.table_full(), 32 * kTokenWarps);
    ptx::fence_mbarrier_init();
    ptx::fence_proxy_async();
  }
  ptx::named_barrier_sync(0, kBlockThreads);
}

// The weight thread's life from then on. At most `window` stages are on their way at a time,
// however deep the ring: what is queued at the memory beyond what keeps it busy delays everything
// else that this and the other multiprocessors ask for.
template <Mutation kMutation>
__device__ void feed_weights(const GemmParams& p, const Rings& rings, const CtaRange& cta) {
  Cursor to, landing;
  int issued = 0;
  if (p.flags & kWaitBeforeWeights) {
    ptx::grid_dependency_wait();
    load_weights(p, rings, 0, cta.first_tile, cta.k_begin);
  }
  for (StageWalk at(cta, p.ring.stage_blocks); !at.done(); at.next(), ++issued) {
    if (issued > 0) {
      ptx::mbarrier_wait(rings.empty(to.stage), to.phase ^ 1);
      if (issued >= p.ring.window) {
        ptx::mbarrier_wait(rings.full(landing.stage), landing.phase);
        landing.next(rings.stages);
      }
      load_weights(p, rings, to.stage, at.tile, at.k());
    }
    to.next(rings.stages);
  }
  note<kMutation>(p, kLastIssue);
}

// B's scales of all the CTA's work into shared memory: few bytes, asked for before the weights,
// since behind them they would wait. thread: 0..95 of the token warps.
template <Mutation kMutation>
__device__ void load_b_scales(const GemmParams& p, const Rings& rings, const CtaRange& cta,
                              int thread) {
  const int stride = p.layout.table_stride;
  const int first_row = first_scale_row(p, cta);
  const int rows = ceil_div(p.n, kScaleRows);
  const int k_begin = cta.k_begin;
  for (int r = 0; r < p.work.scale_rows(); ++r) {
#pragma unroll 1  // short code is there sooner
    for (int i = thread; i < stride; i += 32 * kTokenWarps) {
      int row = first_row + r, k = k_begin + i;
      const bool inside = row < rows && k < p.work.k_blocks;
      if constexpr (kMutation == Mutation::kSwapScaleAxes) {
        const int swapped = row % p.work.k_blocks;
        row = k % rows;
        k = swapped;
      }
      ptx::cp_async_4(rings.table() + (r * stride + i) * 4,
                      p.b_scale + (inside ? row * p.b_scale_stride_n + k * p.b_scale_stride_k : 0),
                      inside);
    }
  }
}

// Token warp w of three takes every third stage: A by TMA, its scales by 4-byte copies. The
// previous kernel is waited for at the last moment: all that comes before it is then done, and its
// code is in the cache.
template <int kMTile, Mutation kMutation>
__device__ void feed_tokens(const GemmParams& p, const Rings& rings, const CtaWork& cta, int w,
                            int lane) {
  Cursor to;
  to.advance(rings.token_stages, w);
  StageWalk at = cta.walk(p);
  at.next(w);
  bool waited = false;
  for (; !at.done(); at.next(kTokenWarps), to.advance(rings.token_stages, kTokenWarps)) {
    const uint32_t full = rings.token_full(to.stage);
    const int first_k = at.k();
    ptx::mbarrier_wait(rings.token_empty(to.stage), to.phase ^ 1);
    if (lane == 0) ptx::mbarrier_arrive_expect_tx(full, p.layout.token_stage);
    if (!waited) {
      wait_for_previous_kernel(p);
      if (w == 0 && lane == 0) note<kMutation>(p, kDependencyMet);
      waited = true;
    }
    if (lane == 0) {
#pragma unroll 1
      for (int j = 0; j < p.ring.stage_blocks; ++j) {
        ptx::tma_load_2d(rings.tokens(to.stage) + j * kMTile * kBlockK, &p.a_map,
                         (first_k + j) * kBlockK, 0, full, ptx::kEvictLast);
      }
    }
#pragma unroll 1
    for (int i = lane; i < p.ring.stage_blocks * kMTile; i += 32) {
      const int m = i % kMTile, k = first_k + i / kMTile;
      const bool inside = m < p.m && k < p.work.k_blocks;
      ptx::cp_async_4(rings.scales(to.stage) + i * 4,
                      p.a_scale + (inside ? m * p.a_scale_stride_m + k * p.a_scale_stride_k : 0),
                      inside);
    }
    ptx::mbarrier_arrive_after_cp_async(full);
  }
}

// 8 rows x 128 of a bf16 A in registers: lane l has row l / 4 and of its 16 chunks of 16 bytes
// every fourth.
struct EightRows {
  uint4 chunk[4];

  __device__ void load(const GemmParams& p, int row, int k_block, int lane) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int k = k_block * kBlockK + (lane % 4 + 4 * i) * 8;
      chunk[i] = make_uint4(0, 0, 0, 0);
      if (row < p.m && k < p.k) chunk[i] = *reinterpret_cast<const uint4*>(p.a + row * p.lda + k);
    }
  }

  // Quantises, writes the rows (swizzled as wgmma wants them) and their scales.
  __device__ void store(const GemmParams& p, uint32_t tokens, uint32_t scales, int row,
                        int lane) const {
    float amax = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) amax = fmaxf(amax, amax_8(chunk[i]));
    amax = fmaxf(amax, __shfl_xor_sync(~0u, amax, 1));
    amax = fmaxf(amax, __shfl_xor_sync(~0u, amax, 2));
    const float scale = group_scale(amax, p.flags & kPowerOfTwoScales);
    const float inverse = 1.0f / scale;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int eight = lane % 4 + 4 * i;
      const uint2 q = quantise_8(chunk[i], inverse);
      const uint32_t at = tokens + row * kBlockK + ((eight / 2) ^ (row % 8)) * 16 + eight % 2 * 8;
      ptx::store_shared_v2(at, q.x, q.y);
    }
    if (lane % 4 == 0) ptx::store_shared(scales + row * 4, row < p.m ? scale : 0.0f);
  }
};

// The same for a bf16 A: through registers, quantised on the way. A warp asks for the next 16 rows'
// worth before it works on the last.
template <int kMTile>
__device__ void feed_tokens_quantised(const GemmParams& p, const Rings& rings, const CtaWork& cta,
                                      int w, int lane) {
  constexpr int kGroups = kMTile / kGroup;
  const int items = kGroups * p.ring.stage_blocks;  // of 8 rows x 128, in a stage
  Cursor to;
  to.advance(rings.token_stages, w);
  StageWalk at = cta.walk(p);
  at.next(w);
  EightRows held[2], next[2];
  const auto load = [&](const StageWalk& from, int item, EightRows(&rows)[2]) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int i = item + h;
      if (i < items) {
        rows[h].load(p, i % kGroups * kGroup + lane / 4, from.k() + i / kGroups, lane);
      }
    }
  };
  if (!at.done()) load(at, 0, next);
  while (!at.done()) {
    StageWalk after = at;
    after.next(kTokenWarps);
    ptx::mbarrier_wait(rings.token_empty(to.stage), to.phase ^ 1);
    for (int item = 0; item < items; item += 2) {
      held[0] = next[0];
      held[1] = next[1];
      if (item + 2 < items) {
        load(at, item + 2, next);
      } else if (!after.done()) {
        load(after, 0, next);
      }
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int i = item + h;
        if (i < items) {
          held[h].store(p, rings.tokens(to.stage) + i / kGroups * kMTile * kBlockK,
                        rings.scales(to.stage) + i / kGroups * kMTile * 4,
                        i % kGroups * kGroup + lane / 4, lane);
        }
      }
    }
    ptx::fence_proxy_async();  // wgmma reads what ordinary stores wrote
    __syncwarp();
    if (lane == 0) ptx::mbarrier_arrive(rings.token_full(to.stage));
    at = after;
    to.advance(rings.token_stages, kTokenWarps);
  }
}

}  // namespace hotproof::kernel

#endif  // HOTPROOF_KERNEL_LOAD_CUH_
