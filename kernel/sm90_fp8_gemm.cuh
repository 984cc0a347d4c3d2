// The FP8 block-scaled GEMM kernel. Read gemm_params.cuh first (what a CTA keeps in shared
// memory), then this file (the warps that multiply, the kernel), load.cuh (the warps that load) and
// store.cuh (how results leave). Host code is in fp8_gemm.cu.
//
// Operands are swapped: weight rows are wgmma's M, up to 32 tokens its N, so no tensor work is
// wasted on padding tokens. (More tokens: many_tokens.cuh.) A CTA:
//   warps 0-7   two consumer warpgroups; each multiplies its half of a tile's rows, 64 a wgmma
//   warp 8      one thread feeds weights by TMA; it does nothing else, because at the memory roof
//               it has less than half a microsecond for 16 KB
//   warps 9-11  tokens and scales: by TMA, or bf16 through registers, quantised on the way
#ifndef HOTPROOF_KERNEL_SM90_FP8_GEMM_CUH_
#define HOTPROOF_KERNEL_SM90_FP8_GEMM_CUH_

#include <cstdint>

#include "kernel/gemm_params.cuh"
#include "kernel/load.cuh"
#include "kernel/ptx.cuh"
#include "kernel/store.cuh"

namespace hotproof::kernel {

// Multiplies a stage's kStep K blocks of 64 weight rows and adds them to acc, block by block.
// Hopper's fp8 wgmma keeps about 14 bits of a sum: each block of 128 is summed apart and then added
// in fp32, together with its scales. weights, tokens: descriptors of the first block; a_scales:
// shared memory, [kStep][kMTile]; b_scales: of this lane's two rows, [kStep] each.
template <int kMTile, int kStep, Mutation kMutation>
__device__ void multiply(ptx::Descriptor weights, ptx::Descriptor tokens, uint32_t a_scales,
                         const uint32_t (&b_scales)[2], int lane, float fault,
                         float (&acc)[kMTile / 2]) {
  float part[kStep][kMTile / 2];
  ptx::wgmma_fence();
#pragma unroll
  for (int k = 0; k < 4; ++k) {
#pragma unroll
    for (int i = 0; i < kStep; ++i) {  // neighbours don't wait for each other
      ptx::wgmma_m64k32<kMTile>(part[i], weights.at(i * kAtomBytes + 32 * k),
                                tokens.at(i * kMTile * kBlockK + 32 * k), k);
    }
  }
  ptx::wgmma_commit();
  float b[2][kStep];
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    ptx::load_shared(b_scales[h], b[h]);
    if constexpr (kMutation == Mutation::kScaleTwice || kMutation == Mutation::kDropKBlock) {
      b[h][kStep > 1 ? 1 : 0] *= fault;
    }
  }
  constexpr bool kEarly = kStep * kMTile <= 32;  // few enough to hold while the tensor cores work
  float2 a[kStep][kMTile / 8];
  const auto load_a = [&](int i, int j) {
    a[i][j] = ptx::load_shared_v2(a_scales + (i * kMTile + 8 * j + 2 * (lane % 4)) * 4);
  };
#pragma unroll
  for (int i = 0; i < kStep && kEarly; ++i) {
#pragma unroll
    for (int j = 0; j < kMTile / 8; ++j) load_a(i, j);
  }
  ptx::wgmma_wait_all();
#pragma unroll
  for (int i = 0; i < kStep; ++i) {
#pragma unroll
    for (int j = 0; j < kMTile / 8; ++j) {
      if (!kEarly) load_a(i, j);
      acc[4 * j] = fmaf(part[i][4 * j], a[i][j].x * b[0][i], acc[4 * j]);
      acc[4 * j + 1] = fmaf(part[i][4 * j + 1], a[i][j].y * b[0][i], acc[4 * j + 1]);
      acc[4 * j + 2] = fmaf(part[i][4 * j + 2], a[i][j].x * b[1][i], acc[4 * j + 2]);
      acc[4 * j + 3] = fmaf(part[i][4 * j + 3], a[i][j].y * b[1][i], acc[4 * j + 3]);
    }
  }
}

// A consumer warp's life. kStep: K blocks in a stage; kFolds: K has segments. It is bound by the
// latency of its own instructions: everything that can be is compile time or outside the loop over
// stages.
template <int kMTile, int kStep, bool kFolds, Mutation kMutation>
__device__ void consume(const GemmParams& p, const Rings& rings, const CtaWork& cta,
                        const Share& share, int warp, int lane) {
  constexpr int kStride = kStep * kAtomBytes;  // between groups of 8 rows in a stage
  const int quarter = warp % 4;
  const int first_row = first_scale_row(p, cta);
  const bool stay = p.ring.tokens_stay;
  const auto stages_to = [](int from, int to) { return (to - from + kStep - 1) / kStep; };
  const ptx::Descriptor weights(rings.weights(0) + share.first_group * kStride, kStride);
  const ptx::Descriptor tokens(rings.tokens(0), kAtomBytes);
  Cursor w_at, t_at;
  bool first = kMutation == Mutation::kTimed && threadIdx.x == 0;
  ptx::mbarrier_wait(rings.table_full(), 0);
  for (int tile = cta.first_tile; tile < cta.end_tile; ++tile) {
    uint32_t b_scales[2];  // where the scales of this lane's rows are
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int group =
          min(2 * quarter + h, share.groups - 1) + share.first_group + tile * p.work.tile_groups;
      const int row = min(group / (kScaleRows / kGroup) - first_row, p.work.scale_rows() - 1);
      b_scales[h] = rings.table() + (row * p.layout.table_stride - cta.k_begin) * 4;
    }
    float acc[kMTile / 2];  // the segment's sum so far
    SegmentSum<kFolds ? kMTile / 2 : 1> sum;
    Meeting<kMTile / 2> meeting(p, tile, warp, lane);
    int k = cta.k_begin;
    for (int segment = cta.first_segment; k < cta.k_end; ++segment) {
#pragma unroll
      for (int j = 0; j < kMTile / 2; ++j) acc[j] = 0;
#pragma unroll 1
      for (int left = stages_to(k, kFolds ? p.cuts[segment + 1] : cta.k_end); left > 0;
           --left, k += kStep) {
        // After the first stage only: its tokens tell that the previous kernel is done with the
        // slots.
        if (kFolds && p.work.shared && k > cta.k_begin && k + kStep >= cta.k_end) meeting.look();
        wait_for_weights(rings, w_at);
        if (first) note<kMutation>(p, kFirstWeights);
        wait_for_tokens(rings, t_at);
        if (first) note<kMutation>(p, kFirstUnit);
        first = false;
        if (threadIdx.x == 0) note<kMutation>(p, kLastUnit);
        float fault = 1;  // for K block 1
        if (kMutation == Mutation::kScaleTwice && tile == p.work.tiles - 1 && k == 0) fault = 2;
        if (kMutation == Mutation::kDropKBlock && tile == 0 && k == 0) fault = 0;
        if constexpr (kMutation != Mutation::kReadOnly) {
          const uint32_t b_scale[2] = {b_scales[0] + k * 4, b_scales[1] + k * 4};
          multiply<kMTile, kStep, kMutation>(weights.plus(w_at.stage * p.layout.weight_stage),
                                             tokens.plus(t_at.stage * p.layout.token_stage),
                                             rings.scales(t_at.stage), b_scale, lane, fault, acc);
        }
        if (threadIdx.x == 0) note<kMutation>(p, kLastProduct);
        release_stage(rings, w_at, t_at, lane);
        next_stage(rings, &w_at, &t_at);
        if (stay) t_at.phase = 0;  // filled once
      }
      if constexpr (kFolds) {
#pragma unroll
        for (int j = 0; j < kMTile / 2; ++j) sum.add(segment - cta.first_segment, j, acc[j]);
      }
    }
    if constexpr (kMutation == Mutation::kReadOnly) continue;
    if constexpr (kFolds) {
#pragma unroll
      for (int j = 0; j < kMTile / 2; ++j) acc[j] = sum.total[j];
      if (p.work.shared) {
        const uint32_t done = meeting.template meet<kMutation>(acc);
        store_finished<kMTile>(p, output_tile<kMutation>(p, tile), share, quarter, lane, done, acc);
        continue;
      }
    }
    store_tile<kMTile>(p, output_tile<kMutation>(p, tile), share, quarter, lane, acc);
  }
}

// K blocks in a stage, as far as registers allow.
HOTPROOF_HOST_DEVICE constexpr int most_stage_blocks(int m_tile) { return m_tile <= 16 ? 4 : 2; }

template <int kMTile, bool kFolds, Mutation kMutation>
__device__ void consume(const GemmParams& p, const Rings& rings, const CtaWork& cta,
                        const Share& share, int warp, int lane) {
  constexpr int kMost = most_stage_blocks(kMTile);
  if (kMost >= 4 && p.ring.stage_blocks == 4) {
    return consume<kMTile, kMost, kFolds, kMutation>(p, rings, cta, share, warp, lane);
  }
  if (p.ring.stage_blocks == 2) {
    return consume<kMTile, 2, kFolds, kMutation>(p, rings, cta, share, warp, lane);
  }
  consume<kMTile, 1, kFolds, kMutation>(p, rings, cta, share, warp, lane);
}

template <int kMTile, bool kQuantise, Mutation kMutation>
__global__ void __launch_bounds__(kBlockThreads, 1)
    sm90_fp8_gemm_1x128_128x128(const __grid_constant__ GemmParams p) {
  extern __shared__ __align__(1024) uint8_t smem[];
  // From one lane, so that the compiler knows it is the same in all of a warp.
  const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0), lane = threadIdx.x % 32;
  const Rings rings{ptx::smem_address(smem), p.layout, p.ring.stages, p.ring.token_stages};
  if (warp <= kConsumerWarps) begin<kMutation>(p, rings, warp, lane, token_arrivals(kQuantise));
  const CtaWork cta(p);

  if (warp < kConsumerWarps) {
    const int first = groups_of_warpgroup(p.work.tile_groups, 0);
    const Share share = warp < 4 ? Share{0, first} : Share{first, p.work.tile_groups - first};
    if (share.groups > 0 && p.work.segments > 1) {
      consume<kMTile, true, kMutation>(p, rings, cta, share, warp, lane);
    } else if (share.groups > 0) {
      consume<kMTile, false, kMutation>(p, rings, cta, share, warp, lane);
    }
    if (threadIdx.x == 0) note<kMutation>(p, kEnd);
  } else {
    if (warp == kConsumerWarps) {
      if (lane != 0) return;
      feed_weights<kMutation>(p, rings, cta);
      if (p.launch_counter != nullptr && blockIdx.x + blockIdx.y == 0)
        atomicAdd(p.launch_counter, 1);
      return;
    }
    if (p.flags & kWaitBeforeWeights) ptx::grid_dependency_wait();
    const int w = warp - kConsumerWarps - 1;
    if (!kQuantise && w == 0 && lane == 0) ptx::prefetch_tensor_map(&p.a_map);
    load_b_scales<kMutation>(p, rings, cta, w, lane);
    if constexpr (kQuantise) {
      feed_tokens_quantised<kMTile, kMutation>(p, rings, cta, w, lane);
    } else {
      feed_tokens<kMTile, kMutation>(p, rings, cta, w, lane);
    }
  }
}

}  // namespace hotproof::kernel

#endif  // HOTPROOF_KERNEL_SM90_FP8_GEMM_CUH_
