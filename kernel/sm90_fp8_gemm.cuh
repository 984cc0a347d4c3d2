// The FP8 block-scaled GEMM kernel. Read gemm_params.cuh first (what a CTA keeps in shared
// memory), then this file (the warps that multiply, the kernel), load.cuh (the warps that load) and
// store.cuh (how shared tiles are summed). Host code is in fp8_gemm.cu.
//
// Operands are swapped: 64 weight rows are wgmma's M, up to 128 tokens its N, so a tile of D is 128
// weight rows x kMTile tokens and no tensor work is wasted on padding tokens. A CTA:
//   warps 0-7   two consumer warpgroups, each multiplies one 64-row half of every weight unit
//   warp 8      one thread feeds weights by TMA into a ring of stages; it does nothing else,
//   because at the
//               memory roof it has less than half a microsecond for a unit
//   warps 9-11  activations and scales into the same stages: up to 32 tokens through registers,
//   quantising
//               bf16 on the way if asked to; more tokens by TMA (warp 9 alone)
#ifndef HOTPROOF_KERNEL_SM90_FP8_GEMM_CUH_
#define HOTPROOF_KERNEL_SM90_FP8_GEMM_CUH_

#include <cstdint>

#include "kernel/gemm_params.cuh"
#include "kernel/load.cuh"
#include "kernel/ptx.cuh"
#include "kernel/store.cuh"

namespace hotproof::kernel {

template <int kMTile, Mutation kMutation>
__device__ void consume(const GemmParams& p, const Ring<kMTile>& ring, int cta, int begin, int end,
                        int warp, int lane) {
  const int half = warp / 4;  // which 64 rows of the unit
  Cursor at;
  int unit = begin;
  while (unit < end) {
    const Segment segment = p.work.segment_at(cta, unit);
    float acc[kMTile / 2] = {};
    for (int k_block = segment.k_begin; k_block < segment.k_end; ++k_block) {
      ptx::mbarrier_wait(ring.full(at.stage), at.phase);
      if constexpr (kMutation == Mutation::kTimed) {
        const int now = unit + k_block - segment.k_begin;
        if (threadIdx.x == 0 && now == begin) note<kMutation>(p, kFirstUnit);
        if (threadIdx.x == 0 && now == end - 1) note<kMutation>(p, kLastUnit);
      }
      if constexpr (kMutation != Mutation::kReadOnly) {
        // Hopper's fp8 wgmma keeps about 14 bits of a sum: each block of 128 is summed apart and
        // then added in fp32, together with its scales.
        float part[kMTile / 2];
        const uint64_t weights =
            ptx::wgmma_descriptor(ring.weights(at.stage) + half * kUnitBytes / 2);
        const uint64_t tokens = ptx::wgmma_descriptor(ring.a(at.stage));
        ptx::wgmma_fence();
#pragma unroll
        for (int k = 0; k < 4; ++k)
          ptx::wgmma_m64k32<kMTile>(part, weights + 2 * k, tokens + 2 * k, k);
        ptx::wgmma_commit();
        const uint32_t scales = ring.scales(at.stage);
        float b_scale;
        asm volatile("ld.shared.f32 %0, [%1];"
                     : "=f"(b_scale)
                     : "r"(scales + kMTile * 4)
                     : "memory");
        if constexpr (kMutation == Mutation::kScaleTwice) {
          if (segment.tile == p.work.tiles - 1 && k_block == 1) b_scale *= 2;
        }
        if constexpr (kMutation == Mutation::kDropKBlock) {
          if (segment.tile == 0 && k_block == 1) b_scale = 0;
        }
        ptx::wgmma_wait_all();
#pragma unroll
        for (int j = 0; j < kMTile / 8; ++j) {
          float s0, s1;
          asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];"
                       : "=f"(s0), "=f"(s1)
                       : "r"(scales + (8 * j + 2 * (lane % 4)) * 4)
                       : "memory");
          s0 *= b_scale;
          s1 *= b_scale;
          acc[4 * j] = fmaf(part[4 * j], s0, acc[4 * j]);
          acc[4 * j + 1] = fmaf(part[4 * j + 1], s1, acc[4 * j + 1]);
          acc[4 * j + 2] = fmaf(part[4 * j + 2], s0, acc[4 * j + 2]);
          acc[4 * j + 3] = fmaf(part[4 * j + 3], s1, acc[4 * j + 3]);
        }
      }
      __syncwarp();
      if (lane == 0) ptx::mbarrier_arrive(ring.empty(at.stage));
      at.advance(ring.stages);
    }
    unit += segment.k_end - segment.k_begin;
    if constexpr (kMutation == Mutation::kReadOnly) continue;
    if (segment.k_end - segment.k_begin == p.work.k_blocks) {
      store_tile<kMTile, kMutation>(p, segment.tile, warp, lane, acc);
    } else {
      reduce_in_workspace<kMTile, kMutation>(p, cta, segment, warp, lane, acc);
    }
  }
}

template <int kMTile, bool kQuantise, Mutation kMutation>
__global__ void __launch_bounds__(block_threads(kMTile), 1)
    sm90_fp8_gemm_1x128_128x128(const __grid_constant__ GemmParams p) {
  extern __shared__ __align__(1024) uint8_t smem[];
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int cta = blockIdx.x;
  const int begin = p.work.begin(cta);
  const int end = p.work.begin(cta + 1);
  const Ring<kMTile> ring{ptx::smem_address(smem), p.stages, SmemLayout(kMTile, p.stages)};

  if (threadIdx.x == 32 * kConsumerWarps) {
    // Only one CTA fits on a multiprocessor: the next kernel's may come as soon as there is room,
    // one by one, and load their first weights while the last of ours still compute.
    ptx::launch_dependents();
    ptx::prefetch_tensor_map(&p.b_map);
    note<kMutation>(p, kStart);
    for (int s = 0; s < p.stages; ++s) {
      ptx::mbarrier_init(ring.full(s), full_arrivals(kMTile));
      ptx::mbarrier_init(ring.empty(s), kConsumerWarps);
    }
    ptx::fence_mbarrier_init();
    ptx::fence_proxy_async();
    if (p.launch_counter != nullptr && cta == 0) atomicAdd(p.launch_counter, 1);
  }
  if (warp == kConsumerWarps + 1 && !(p.flags & kWaitBeforeWeights)) {
    prefetch_b_scales<kMutation>(p, begin, end, lane);
  }
  __syncthreads();

  if (warp < kConsumerWarps) {
    consume<kMTile, kMutation>(p, ring, cta, begin, end, warp, lane);
    if (threadIdx.x == 0) note<kMutation>(p, kEnd);
  } else if (warp == kConsumerWarps) {
    if (lane == 0) {
      if (p.flags & kWaitBeforeWeights) ptx::grid_dependency_wait();
      feed_weights<kMTile, kMutation>(p, ring, begin, end);
    }
  } else if constexpr (tokens_by_tma(kMTile)) {
    feed_tokens_by_tma<kMTile, kMutation>(p, ring, begin, end, lane);
  } else {
    feed_tokens<kMTile, kQuantise, kMutation>(p, ring, begin, end, warp - kConsumerWarps - 1, lane);
  }
}

}  // namespace hotproof::kernel

#endif  // HOTPROOF_KERNEL_SM90_FP8_GEMM_CUH_
