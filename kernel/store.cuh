// What happens to a finished tile, or segment of one: stored, or added to the other segments of its
// tile in K order.
#ifndef HOTPROOF_KERNEL_STORE_CUH_
#define HOTPROOF_KERNEL_STORE_CUH_

#include <cuda_bf16.h>

#include <cstdint>

#include "kernel/gemm_params.cuh"
#include "kernel/ptx.cuh"

namespace hotproof::kernel {

// The part of a tile that a consumer warpgroup computes.
struct Share {
  int first_group, groups;  // of the tile
};

// A warpgroup's weight rows x kMTile tokens -> D. acc is laid out as wgmma leaves it.
template <int kMTile, int kBlocks, Mutation kMutation>
__device__ void store_tile(const GemmParams& p, int tile, const Share& share, int quarter, int lane,
                           const float (&acc)[kBlocks][kMTile / 2]) {
  if constexpr (kMutation == Mutation::kOffByOneTile) tile = (tile + 1) % p.work.tiles;
  const int first = tile * p.work.tile_groups + share.first_group;
#pragma unroll
  for (int b = 0; b < kBlocks; ++b) {
#pragma unroll
    for (int j = 0; j < kMTile / 8; ++j) {
      const int m = 8 * j + lane / 4;
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const __nv_bfloat162 pair =
            __floats2bfloat162_rn(acc[b][4 * j + 2 * h], acc[b][4 * j + 2 * h + 1]);
        const uint32_t bits = ptx::transpose_8x8(reinterpret_cast<const uint32_t&>(pair));
        const int group = 8 * b + 2 * quarter + h;
        const int n = (first + group) * kGroup;
        if (m < p.m && group < share.groups && n < p.n) {
          *reinterpret_cast<uint32_t*>(p.d + m * p.ldd + n + 2 * (lane % 4)) = bits;
        }
      }
    }
  }
}

// The segments of a shared tile meet in the workspace: each warp writes its parts there, takes a
// ticket when they are written, and the warp that finds all others arrived adds all parts in K
// order, whatever the order of arrival.
template <int kMTile>
__device__ float4* part_address(const GemmParams& p, int tile, int segment, int warp, int lane) {
  const int64_t slot =
      (static_cast<int64_t>(tile) * p.work.segments + segment) * kConsumerWarps + warp;
  return reinterpret_cast<float4*>(p.partials) + slot * 2 * (kMTile / 8) * 32 + lane;
}

template <int kMTile, int kBlocks, Mutation kMutation>
__device__ void write_part(const GemmParams& p, int tile, int segment, int warp, int lane,
                           const float (&acc)[kBlocks][kMTile / 2]) {
  float4* to = part_address<kMTile>(p, tile, segment, warp, lane);
#pragma unroll
  for (int b = 0; b < kBlocks; ++b) {
#pragma unroll
    for (int j = 0; j < kMTile / 8 && kMutation != Mutation::kStaleWorkspace; ++j) {
      const float* own = &acc[b][4 * j];
      __stcg(to + (b * (kMTile / 8) + j) * 32, make_float4(own[0], own[1], own[2], own[3]));
    }
  }
}

// True for the last warp to come: acc is then the sum of all parts.
template <int kMTile, int kBlocks>
__device__ bool add_parts(const GemmParams& p, int tile, int warp, int lane,
                          float (&acc)[kBlocks][kMTile / 2]) {
  // The warp barrier and the atomic's release order all lanes' parts before the ticket; its
  // acquire, and the shuffle, order the others' parts before the loads below.
  int* ticket = p.tickets + tile * kConsumerWarps + warp;
  int arrived = 0;
  __syncwarp();
  if (lane == 0) arrived = ptx::atomic_add_acq_rel(ticket, 1);
  arrived = __shfl_sync(~0u, arrived, 0);
  if (arrived < p.work.segments / 2 - 1) return false;
  // As many loads at a time as registers hold: every round costs a trip to L2.
  constexpr int kTogether = kMTile * kBlocks <= 64 ? 64 / (kMTile * kBlocks) : 1;
  for (int first = 0; first < p.work.segments; first += kTogether) {
    float4 part[kTogether][kBlocks * kMTile / 8];
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      if (first + i >= p.work.segments) continue;
      const float4* from = part_address<kMTile>(p, tile, first + i, warp, lane);
#pragma unroll
      for (int j = 0; j < kBlocks * kMTile / 8; ++j) part[i][j] = __ldcg(from + j * 32);
    }
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      if (first + i >= p.work.segments) continue;
#pragma unroll
      for (int j = 0; j < kBlocks * kMTile / 8; ++j) {
        float* sum = &acc[j / (kMTile / 8)][j % (kMTile / 8) * 4];
        const bool begin = first + i == 0;
        sum[0] = begin ? part[i][j].x : sum[0] + part[i][j].x;
        sum[1] = begin ? part[i][j].y : sum[1] + part[i][j].y;
        sum[2] = begin ? part[i][j].z : sum[2] + part[i][j].z;
        sum[3] = begin ? part[i][j].w : sum[3] + part[i][j].w;
      }
    }
  }
  if (lane == 0) *ticket = 0;
  return true;
}

}  // namespace hotproof::kernel

#endif  // HOTPROOF_KERNEL_STORE_CUH_
