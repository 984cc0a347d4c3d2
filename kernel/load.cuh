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
  const uint32_t full = rings.full(stage);
  ptx::mbarrier_arrive_expect_tx(full, p.layout.weight_stage);
  ptx::tma_load_4d(rings.weights(stage), &p.b_map, k * p.first.k_to_byte, 0, k * p.first.k_to_block,
                   tile * p.work.tile_groups, full, ptx::kEvictFirst);
}

// The first thing a CTA does, by the weight thread: until loads are out the memory idles, and here
// every instruction takes long. Weights don't depend on the previous kernel, unless the caller says
// so.
template <Mutation kMutation>
__device__ void load_first_weights(const GemmParams& p, uint32_t smem) {
  note<kMutation>(p, kStart);
  const uint32_t full = smem + p.first.barriers;
  ptx::mbarrier_init(full, 1);
  ptx::mbarrier_init(full + 8, 1);
  ptx::fence_mbarrier_init();
  ptx::fence_proxy_async();
  if (p.flags & kWaitBeforeWeights) return;
  const int group = static_cast<int>(blockIdx.x) * p.first.groups;
  const int k = p.cuts[p.work.first_segment(blockIdx.y)];
  const auto load = [&](int stage, int k) {
    ptx::mbarrier_arrive_expect_tx(full + stage * 8, p.first.stage_bytes);
    ptx::tma_load_4d(smem + stage * p.first.stage_bytes, &p.b_map, k * p.first.k_to_byte, 0,
                     k * p.first.k_to_block, group, full + stage * 8, ptx::kEvictFirst);
  };
  load(0, k);
  note<kMutation>(p, kFirstIssue);
  if (p.first.to_second > 0) load(1, k + p.first.to_second);
  note<kMutation>(p, kSecondIssue);
}

// How consumers and the weight warp begin: weights are asked for, barriers are set up, a few by
// each warp since one takes 100 cycles. token_arrivals: what completes a stage of tokens.
template <Mutation kMutation>
__device__ void begin(const GemmParams& p, const Rings& rings, int warp, int lane,
                      int token_arrivals) {
  if (warp == kConsumerWarps) {
    if (lane == 0) {
      load_first_weights<kMutation>(p, rings.base);
      // Only one CTA fits on a multiprocessor: the next kernel's come one by one as multiprocessors
      // fall free, and load their first weights while the last of ours still compute.
      ptx::launch_dependents();
    }
    __syncwarp();
  } else {
    if (lane == 0) {
      const int weights = rings.stages, both = rings.stages + rings.token_stages;
#pragma unroll 1  // short code is there sooner
      for (int i = kFirstStages + warp; i <= 2 * both; i += kConsumerWarps) {
        const int arrivals = i < weights                            ? 1
                             : i < 2 * weights                      ? p.first.readers
                             : i < 2 * weights + rings.token_stages ? token_arrivals
                             : i < 2 * both                         ? p.first.readers
                                                                    : kTableThreads;
        ptx::mbarrier_init(rings.full(i), arrivals);
      }
      ptx::fence_mbarrier_init();
      ptx::fence_proxy_async();
    }
    __syncwarp();
    ptx::named_barrier_arrive(kTokensBegin, 32 * (kConsumerWarps + kTokenWarps));
  }
  ptx::named_barrier_sync(kBegin, 32 * (kConsumerWarps + 1));
  if (threadIdx.x == 0) note<kMutation>(p, kBegun);
}

// And token warps, when they have done what needs no barriers. w: 0, 1, 2.
__device__ inline void begin_tokens(const Rings& rings, int w) {
  ptx::named_barrier_sync(kTokensBegin, 32 * (kConsumerWarps + kTokenWarps));
  if (w > 0) ptx::mbarrier_arrive_after_cp_async(rings.table_full());
}

// The weight thread's life from then on. At most `window` stages are on their way at a time,
// however deep the ring: what is queued at the memory beyond what keeps it busy delays everything
// else that this and the other multiprocessors ask for.
template <Mutation kMutation>
__device__ void feed_weights(const GemmParams& p, const Rings& rings, const CtaRange& cta) {
  Cursor to, landing;
  StageWalk at(cta, p.ring.stage_blocks);
  int issued = 0;
  if (p.flags & kWaitBeforeWeights) {
    ptx::grid_dependency_wait();
  } else {
    issued = p.first.to_second > 0 ? kFirstStages : 1;
    at.next(issued);
    to.advance(rings.stages, issued);
  }
  for (; !at.done(); at.next(), ++issued) {
    ptx::mbarrier_wait(rings.empty(to.stage), to.phase ^ 1);
    if (issued >= p.ring.window) {
      ptx::mbarrier_wait(rings.full(landing.stage), landing.phase);
      landing.next(rings.stages);
    }
    load_weights(p, rings, to.stage, at.tile, at.k);
    to.next(rings.stages);
  }
  note<kMutation>(p, kLastIssue);
}

// B's scales of all the CTA's work into shared memory: few bytes, by the token warps but the first,
// whose tokens are the first to be needed. begin_tokens() tells when they are there.
template <Mutation kMutation>
__device__ void load_b_scales(const GemmParams& p, const Rings& rings, const CtaRange& cta, int w,
                              int lane) {
  if (w == 0) return;
  const int stride = p.layout.table_stride;
  const int first_row = first_scale_row(p, cta);
  const int rows = ceil_div(p.n, kScaleRows);
  const int k_begin = cta.k_begin;
  for (int r = 0; r < p.work.scale_rows(); ++r) {
#pragma unroll 1  // short code is there sooner
    for (int i = (w - 1) * 32 + lane; i < stride; i += kTableThreads) {
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
  begin_tokens(rings, w);
  bool waited = false;
  for (; !at.done(); at.next(kTokenWarps), to.advance(rings.token_stages, kTokenWarps)) {
    const uint32_t full = rings.token_full(to.stage);
    const int first_k = at.k;
    ptx::mbarrier_wait(rings.token_empty(to.stage), to.phase ^ 1);
    if (lane == 0) ptx::mbarrier_arrive_expect_tx(full, p.layout.token_stage);
    if (!waited) {
      wait_for_previous_kernel(p);
      if (w == 0 && lane == 0) note<kMutation>(p, kDependencyMet);
      waited = true;
    }
    if (lane == 0) {
      ptx::tma_load_3d(rings.tokens(to.stage), &p.a_map, first_k * p.first.k_to_byte, 0,
                       first_k * p.first.k_to_block, full, ptx::kEvictLast);
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
    if (threadIdx.x == 32 * (kConsumerWarps + 1)) note<kMutation>(p, kTokensIssued);
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
template <int kMTile, Mutation kMutation>
__device__ void feed_tokens_quantised(const GemmParams& p, const Rings& rings, const CtaWork& cta,
                                      int w, int lane) {
  constexpr int kGroups = kMTile / kGroup;
  const int items = kGroups * p.ring.stage_blocks;  // of 8 rows x 128, in a stage
  Cursor to;
  to.advance(rings.token_stages, w);
  StageWalk at = cta.walk(p);
  if (p.ring.tokens_stay) at.range.end_tile = cta.first_tile + 1;
  at.next(w);
  EightRows held[2], next[2];
  const auto load = [&](const StageWalk& from, int item, EightRows(&rows)[2]) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int i = item + h;
      if (i < items) {
        rows[h].load(p, i % kGroups * kGroup + lane / 4, from.k + i / kGroups, lane);
      }
    }
  };
  wait_for_previous_kernel(p);
  if (w == 0 && lane == 0) note<kMutation>(p, kDependencyMet);
  if (!at.done()) load(at, 0, next);  // these few before the many weights that will be asked for
  begin_tokens(rings, w);
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
    if (threadIdx.x == 32 * (kConsumerWarps + 1)) note<kMutation>(p, kTokensIssued);
    at = after;
    to.advance(rings.token_stages, kTokenWarps);
  }
}

}  // namespace hotproof::kernel

#endif  // HOTPROOF_KERNEL_LOAD_CUH_
