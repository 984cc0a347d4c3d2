// The warps that fill the ring: one thread for weights, three warps (or one, by TMA) for tokens and
// scales.
#ifndef HOTPROOF_KERNEL_LOAD_CUH_
#define HOTPROOF_KERNEL_LOAD_CUH_

#include <cstdint>

#include "kernel/gemm_params.cuh"
#include "kernel/ptx.cuh"
#include "kernel/quantize.cuh"

namespace hotproof::kernel {

// The next unit's coordinates in B, in the order of the CTA's range.
struct UnitWalk {
  int k0, n0, k_end;
  __device__ UnitWalk(const Decomposition& work, int unit)
      : k0(unit % work.k_blocks * kBlockK),
        n0(unit / work.k_blocks * kTileN),
        k_end(work.k_blocks * kBlockK) {}
  __device__ void next() {
    k0 += kBlockK;
    if (k0 == k_end) k0 = 0, n0 += kTileN;
  }
};

template <int kMTile>
__device__ void load_weights(const GemmParams& p, const Ring<kMTile>& ring, int stage,
                             const UnitWalk& at) {
  ptx::mbarrier_arrive_expect_tx(ring.full(stage), kUnitBytes);
  ptx::tma_load_2d(ring.weights(stage), &p.b_map, at.k0, at.n0, ring.full(stage), ptx::kEvictFirst);
}

// The weight thread's whole life, after it has set up the barriers. Weights don't depend on the
// previous kernel, so nothing waits for it here.
template <int kMTile, Mutation kMutation>
__device__ void feed_weights(const GemmParams& p, const Ring<kMTile>& ring, int begin, int end) {
  UnitWalk at(p.work, begin);
  int left = end - begin;
  uint32_t phase = 1;  // the first pass over the ring finds every stage empty
  while (true) {
    for (int stage = 0; stage < ring.stages; ++stage) {
      ptx::mbarrier_wait(ring.empty(stage), phase);
      load_weights(p, ring, stage, at);
      if (--left == 0) {
        note<kMutation>(p, kLastIssue);
        return;
      }
      at.next();
    }
    if (phase == 1) note<kMutation>(p, kPrimed);
    phase ^= 1;
  }
}

template <Mutation kMutation>
__device__ const float* b_scale_address(const GemmParams& p, int tile, int k_block) {
  if constexpr (kMutation == Mutation::kSwapScaleAxes) {
    return p.b_scale + (k_block % p.work.tiles) * p.b_scale_stride_n +
           (tile % p.work.k_blocks) * p.b_scale_stride_k;
  }
  return p.b_scale + tile * p.b_scale_stride_n + k_block * p.b_scale_stride_k;
}

// B's scales are few bytes, but once 12 MB of weights are queued at the memory they would wait
// behind them: ask for them first.
template <Mutation kMutation>
__device__ void prefetch_b_scales(const GemmParams& p, int begin, int end, int lane) {
  for (int unit = begin + lane; unit < end; unit += 32) {
    const int tile = unit / p.work.k_blocks;
    ptx::prefetch_l2(b_scale_address<kMutation>(p, tile, unit - tile * p.work.k_blocks));
  }
}

// Where bytes [16 * chunk, 16 * chunk + 16) of a row of A lie in a stage, with the 128-byte
// swizzle.
__device__ inline uint32_t swizzled(uint32_t a, int row, int chunk) {
  return a + row * kBlockK + (chunk ^ (row % 8)) * 16;
}

// 8 rows of A in registers: lane l has row l / 4 and of its 128 elements every fourth chunk. A
// chunk is 8 bf16 (quantised on the way) or 16 e4m3: 16 bytes.
template <bool kQuantise>
struct EightRows {
  static constexpr int kChunks = kQuantise ? 4 : 2;
  uint4 chunk[kChunks];

  __device__ void load(const GemmParams& p, int row, int k0, int lane) {
    constexpr int kElements = kQuantise ? 8 : 16;
#pragma unroll
    for (int i = 0; i < kChunks; ++i) {
      const int k = k0 + (lane % 4 + 4 * i) * kElements;
      chunk[i] = make_uint4(0, 0, 0, 0);
      if (row < p.m && k < p.k) {
        chunk[i] = *reinterpret_cast<const uint4*>(static_cast<const uint8_t*>(p.a) +
                                                   (row * p.lda + k) * (kQuantise ? 2 : 1));
      }
    }
  }

  // Writes the stage's rows; with kQuantise also their scales.
  __device__ void store(const GemmParams& p, uint32_t a, uint32_t scales, int row, int lane) const {
    if constexpr (kQuantise) {
      float amax = 0;
#pragma unroll
      for (int i = 0; i < kChunks; ++i) amax = fmaxf(amax, amax_8(chunk[i]));
      amax = fmaxf(amax, __shfl_xor_sync(~0u, amax, 1));
      amax = fmaxf(amax, __shfl_xor_sync(~0u, amax, 2));
      const float scale = group_scale(amax, p.flags & kPowerOfTwoScales);
      const float inverse = 1.0f / scale;
#pragma unroll
      for (int i = 0; i < kChunks; ++i) {
        const int eight = lane % 4 + 4 * i;
        const uint2 q = quantise_8(chunk[i], inverse);
        ptx::store_shared_v2(swizzled(a, row, eight / 2) + eight % 2 * 8, q.x, q.y);
      }
      if (lane % 4 == 0) ptx::store_shared(scales + row * 4, row < p.m ? scale : 0.0f);
    } else {
#pragma unroll
      for (int i = 0; i < kChunks; ++i) {
        ptx::store_shared_v4(swizzled(a, row, lane % 4 + 4 * i), chunk[i]);
      }
    }
  }
};

// Token warp w of three takes every third unit.
template <int kMTile, bool kQuantise, Mutation kMutation>
__device__ void feed_tokens(const GemmParams& p, const Ring<kMTile>& ring, int begin, int end,
                            int w, int lane) {
  wait_for_previous_kernel(p);
  if (w == 0 && lane == 0) note<kMutation>(p, kDependencyMet);
  constexpr int kWarps = token_warps(kMTile);
  constexpr int kGroups = kMTile / 8;               // of eight rows
  constexpr int kHeld = kGroups < 2 ? kGroups : 2;  // groups whose loads are in flight together
  Cursor at;
  at.advance(ring.stages, w);
  for (int unit = begin + w; unit < end; unit += kWarps) {
    const int tile = unit / p.work.k_blocks;
    const int k_block = unit - tile * p.work.k_blocks;
    const uint32_t a = ring.a(at.stage), scales = ring.scales(at.stage);
    float a_scale = 0;
    if (!kQuantise && lane < p.m) {
      a_scale = p.a_scale[lane * p.a_scale_stride_m + k_block * p.a_scale_stride_k];
    }
    const float b_scale = *b_scale_address<kMutation>(p, tile, k_block);
#pragma unroll
    for (int group = 0; group < kGroups; group += kHeld) {
      EightRows<kQuantise> rows[kHeld];
#pragma unroll
      for (int h = 0; h < kHeld; ++h) {
        rows[h].load(p, (group + h) * 8 + lane / 4, k_block * kBlockK, lane);
      }
      if (group == 0) ptx::mbarrier_wait(ring.empty(at.stage), at.phase ^ 1);
#pragma unroll
      for (int h = 0; h < kHeld; ++h) rows[h].store(p, a, scales, (group + h) * 8 + lane / 4, lane);
    }
    if (!kQuantise && lane < kMTile) ptx::store_shared(scales + lane * 4, a_scale);
    if (lane == 0) ptx::store_shared(scales + kMTile * 4, b_scale);
    ptx::fence_proxy_async();  // wgmma reads what ordinary stores wrote
    __syncwarp();
    if (lane == 0) ptx::mbarrier_arrive(ring.full(at.stage));
    at.advance(ring.stages, kWarps);
  }
}

// The same for many tokens: TMA for A, 4-byte asynchronous copies for the scales.
template <int kMTile, Mutation kMutation>
__device__ void feed_tokens_by_tma(const GemmParams& p, const Ring<kMTile>& ring, int begin,
                                   int end, int lane) {
  wait_for_previous_kernel(p);
  UnitWalk at(p.work, begin);
  Cursor to;
  for (int unit = begin; unit < end; ++unit, at.next()) {
    const uint32_t full = ring.full(to.stage), scales = ring.scales(to.stage);
    ptx::mbarrier_wait(ring.empty(to.stage), to.phase ^ 1);
    if (lane == 0) {
      ptx::mbarrier_arrive_expect_tx(full, kMTile * kBlockK);
      ptx::tma_load_2d(ring.a(to.stage), &p.a_map, at.k0, 0, full, ptx::kEvictLast);
      ptx::cp_async_4(scales + kMTile * 4,
                      b_scale_address<kMutation>(p, at.n0 / kTileN, at.k0 / kBlockK), true);
    }
#pragma unroll
    for (int i = 0; i < kMTile / 32; ++i) {
      const int m = lane + 32 * i;
      const int64_t offset = m * p.a_scale_stride_m + at.k0 / kBlockK * p.a_scale_stride_k;
      ptx::cp_async_4(scales + m * 4, p.a_scale + (m < p.m ? offset : 0), m < p.m);
    }
    ptx::mbarrier_arrive_after_cp_async(full);
    to.advance(ring.stages);
  }
}

}  // namespace hotproof::kernel

#endif  // HOTPROOF_KERNEL_LOAD_CUH_
