// What happens to a finished segment: stored, or added to the other segments of its tile in K
// order.
#ifndef HOTPROOF_KERNEL_STORE_CUH_
#define HOTPROOF_KERNEL_STORE_CUH_

#include <cuda_bf16.h>

#include <cstdint>

#include "kernel/gemm_params.cuh"
#include "kernel/ptx.cuh"

namespace hotproof::kernel {

// A warp's 16 weight rows x kMTile tokens -> D. acc is laid out as wgmma leaves it.
template <int kMTile, Mutation kMutation>
__device__ void store_tile(const GemmParams& p, int tile, int warp, int lane,
                           const float (&acc)[kMTile / 2]) {
  if constexpr (kMutation == Mutation::kOffByOneTile) tile = (tile + 1) % p.work.tiles;
  const int n0 = tile * kTileN + warp * 16;
#pragma unroll
  for (int j = 0; j < kMTile / 8; ++j) {
    const int m = 8 * j + lane / 4;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const __nv_bfloat162 pair = __floats2bfloat162_rn(acc[4 * j + 2 * h], acc[4 * j + 2 * h + 1]);
      const uint32_t bits = ptx::transpose_8x8(reinterpret_cast<const uint32_t&>(pair));
      if (m < p.m && n0 + 8 * h < p.n) {
        *reinterpret_cast<uint32_t*>(p.d + m * p.ldd + n0 + 8 * h + 2 * (lane % 4)) = bits;
      }
    }
  }
}

// The tile's segments meet in the workspace: each warp writes its part and takes a ticket; the warp
// that finds all others arrived adds all parts in K order, whatever the order of arrival, and
// stores.
template <int kMTile, Mutation kMutation>
__device__ void reduce_in_workspace(const GemmParams& p, int cta, const Segment& segment, int warp,
                                    int lane, float (&acc)[kMTile / 2]) {
  // Few tokens: the last warp adds its own part from registers. Many: registers are short, it reads
  // its own part back.
  constexpr bool kKeepOwn = kMTile <= 32 && kMutation != Mutation::kStaleWorkspace;
  const auto part = [&](int slot, int j) {
    return reinterpret_cast<float4*>(p.partials) +
           ((static_cast<int64_t>(slot) * kConsumerWarps + warp) * (kMTile / 8) + j) * 32 + lane;
  };
  const int first = p.work.first_cta(segment.tile);
  const int last = p.work.last_cta(segment.tile);
  int* ticket = p.tickets + segment.tile * kConsumerWarps + warp;
  int arrived = 0;
  // A tile's first segment is its CTA's last work: the others may well be there already, and then
  // its own part need not go through memory.
  if (kKeepOwn && segment.k_begin == 0) {
    if (lane == 0) arrived = ptx::load_acquire(ticket);
    arrived = __shfl_sync(~0u, arrived, 0);
  }
  if (arrived < last - first) {
    const int own_slot = partial_slot(cta, segment.k_begin);
#pragma unroll
    for (int j = 0; j < kMTile / 8 && kMutation != Mutation::kStaleWorkspace; ++j) {
      __stcg(part(own_slot, j),
             make_float4(acc[4 * j], acc[4 * j + 1], acc[4 * j + 2], acc[4 * j + 3]));
    }
    // The warp barrier and the atomic's release order all lanes' parts before the ticket; its
    // acquire, and the shuffle, order the others' parts before the loads below.
    __syncwarp();
    if (lane == 0) arrived = ptx::atomic_add_acq_rel(ticket, 1);
    arrived = __shfl_sync(~0u, arrived, 0);
    if (arrived < last - first) return;
  }
  float own[kKeepOwn ? kMTile / 2 : 1];
  if constexpr (kKeepOwn) {
#pragma unroll
    for (int i = 0; i < kMTile / 2; ++i) own[i] = acc[i];
  }
  for (int from = first; from <= last; ++from) {
    const int slot = partial_slot(from, from == first ? 0 : 1);
#pragma unroll
    for (int j = 0; j < kMTile / 8; ++j) {
      float4 other;
      if (kKeepOwn && from == cta) {
        if constexpr (kKeepOwn) {
          other = make_float4(own[4 * j], own[4 * j + 1], own[4 * j + 2], own[4 * j + 3]);
        }
      } else {
        other = __ldcg(part(slot, j));
      }
      acc[4 * j] = from == first ? other.x : acc[4 * j] + other.x;
      acc[4 * j + 1] = from == first ? other.y : acc[4 * j + 1] + other.y;
      acc[4 * j + 2] = from == first ? other.z : acc[4 * j + 2] + other.z;
      acc[4 * j + 3] = from == first ? other.w : acc[4 * j + 3] + other.w;
    }
  }
  if (lane == 0) *ticket = 0;
  store_tile<kMTile, kMutation>(p, segment.tile, warp, lane, acc);
}

}  // namespace hotproof::kernel

#endif  // HOTPROOF_KERNEL_STORE_CUH_
