// What happens to finished segments and tiles: segments are added in a fixed order, tiles stored.
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

// The tile that a tile is stored as.
template <Mutation kMutation>
__device__ int output_tile(const GemmParams& p, int tile) {
  return kMutation == Mutation::kOffByOneTile ? (tile + 1) % p.work.tiles : tile;
}

// Swapped operands: a warpgroup's weight rows x kMTile tokens -> D. acc is laid out as wgmma leaves
// it.
template <int kMTile>
__device__ void store_tile(const GemmParams& p, int tile, const Share& share, int quarter, int lane,
                           const float (&acc)[kMTile / 2]) {
  const int first = tile * p.work.tile_groups + share.first_group;
#pragma unroll
  for (int j = 0; j < kMTile / 8; ++j) {
    const int m = 8 * j + lane / 4;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const __nv_bfloat162 pair = __floats2bfloat162_rn(acc[4 * j + 2 * h], acc[4 * j + 2 * h + 1]);
      const uint32_t bits = ptx::transpose_8x8(reinterpret_cast<const uint32_t&>(pair));
      const int group = 2 * quarter + h;
      const int n = (first + group) * kGroup;
      if (m < p.m && group < share.groups && n < p.n) {
        *reinterpret_cast<uint32_t*>(p.d + m * p.ldd + n + 2 * (lane % 4)) = bits;
      }
    }
  }
}

// 16 tokens x kN weight rows that a warp holds -> D, of them `groups` groups of 8 rows. Four lanes
// hold 8 neighbours in D: they exchange four such pieces so that each stores 16 bytes.
template <int kN>
__device__ void store_rows(const GemmParams& p, int first_m, int first_group, int groups, int lane,
                           const float (&acc)[kN / 2]) {
  const int quad = lane % 4;
  const bool wide =
      (reinterpret_cast<uintptr_t>(p.d) | static_cast<uintptr_t>(p.ldd) * 2) % 16 == 0;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int m = first_m + lane / 4 + 8 * h;
    uint32_t* row = reinterpret_cast<uint32_t*>(p.d + m * p.ldd + first_group * kGroup);
#pragma unroll
    for (int j = 0; j < kN / 8; j += 4) {
      uint32_t v[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        v[i] = 0;
        if (j + i < kN / 8) {
          const __nv_bfloat162 pair =
              __floats2bfloat162_rn(acc[4 * (j + i) + 2 * h], acc[4 * (j + i) + 2 * h + 1]);
          v[i] = reinterpret_cast<const uint32_t&>(pair);
        }
      }
      // The transpose of 4 x 4 words over four lanes.
#pragma unroll
      for (int bit = 1; bit <= 2; bit *= 2) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          if (i & bit) continue;
          const bool upper = quad & bit;
          const uint32_t got = __shfl_xor_sync(~0u, upper ? v[i] : v[i | bit], bit);
          (upper ? v[i] : v[i | bit]) = got;
        }
      }
      const int group = j + quad;
      if (m >= p.m || group >= groups || (first_group + group) * kGroup >= p.n) continue;
      if (wide) {
        *reinterpret_cast<uint4*>(row + group * 4) = make_uint4(v[0], v[1], v[2], v[3]);
      } else {
#pragma unroll
        for (int i = 0; i < 4; ++i) row[group * 4 + i] = v[i];
      }
    }
  }
}

// How segments are added, whoever computes them: (s0 + s1) + (s2 + s3) + ..., in K order.
template <int kCount>
struct SegmentSum {
  float total[kCount];  // of the pairs so far
  float first[kCount];  // of a pair whose second segment isn't there yet

  __device__ void add(int segment, int i, float value) {
    if (segment % 2 == 0) {
      first[i] = value;
    } else {
      const float pair = first[i] + value;
      total[i] = segment == 1 ? pair : total[i] + pair;
    }
  }
};

// Stores what is finished, four sums of a lane at a time (done: bit j for tokens 8j to 8j + 7):
// which of them a CTA finishes is for each lane to find out.
template <int kMTile>
__device__ void store_finished(const GemmParams& p, int tile, const Share& share, int quarter,
                               int lane, uint32_t done, const float (&acc)[kMTile / 2]) {
  const int first = tile * p.work.tile_groups + share.first_group;
#pragma unroll
  for (int i = 0; i < kMTile / 2; ++i) {
    const int m = 8 * (i / 4) + 2 * (lane % 4) + i % 2;
    const int group = 2 * quarter + i % 4 / 2, n = (first + group) * kGroup + lane / 4;
    if ((done >> (i / 4) & 1) && m < p.m && group < share.groups && n < p.n) {
      p.d[m * p.ldd + n] = __float2bfloat16_rn(acc[i]);
    }
  }
}

// A slot of 16 bytes in which four of a lane's sums meet another CTA's: zero when empty, the sums
// inverted, since no arithmetic makes a NaN of 32 ones.
__device__ inline uint4 inverted(const float* sum) {
  return make_uint4(~__float_as_uint(sum[0]), ~__float_as_uint(sum[1]), ~__float_as_uint(sum[2]),
                    ~__float_as_uint(sum[3]));
}
__device__ inline bool empty(const uint4& slot) { return !(slot.x | slot.y | slot.z | slot.w); }
// Takes out what another CTA left.
__device__ inline void take(uint4* slot, const uint4& found, float* sum) {
  *slot = make_uint4(0, 0, 0, 0);
  sum[0] += __uint_as_float(~found.x);
  sum[1] += __uint_as_float(~found.y);
  sum[2] += __uint_as_float(~found.z);
  sum[3] += __uint_as_float(~found.w);
}

// Where the CTAs of a shared tile meet in the workspace, with few tokens lane by lane, four sums at
// a time: the first to come leaves its own in the slot, the second takes them out and goes on with
// the sum of both. One trip to L2, where sums, a fence, a ticket and loads take three. Pairs are
// added in K order: 0 and 1 meet in the first slot, and in the last one the sum of both meets 2.
template <int kCount>
struct Meeting {
  static constexpr int kFours = kCount / 4, kStride = kConsumerWarps * kFours * 32;
  static constexpr bool kLooks = kFours == 1;  // ahead; with more fours nothing was gained
  uint4* slots = nullptr;
  bool two = false;  // slots to go through
  uint4 seen[2] = {};

  __device__ Meeting(const GemmParams& p, int tile, int warp, int lane) {
    if (!p.work.shared) return;
    const int meetings = p.work.parts() - 1;
    two = meetings == 2 && blockIdx.y < 2;
    slots = p.slots + static_cast<int64_t>(tile) * meetings * kStride +
            (two ? 0 : (meetings - 1) * kStride) + warp * kFours * 32 + lane;
  }
  // While a CTA waits for its last stage: who ends last, whom all wait for, finds all others' sums.
  __device__ void look() {
    if constexpr (kLooks) {
      seen[0] = ptx::load_16(slots);
      if (two) seen[1] = ptx::load_16(slots + kStride);
    }
  }
  // Returns a bit for each four that are now the sum of all, in acc.
  template <Mutation kMutation>
  __device__ uint32_t meet(float (&acc)[kCount]) {
    constexpr bool kStale = kMutation == Mutation::kStaleWorkspace;
    uint32_t done = 0;
    uint4 found[kFours], next[kFours];
    const auto there = [](uint4& slot) {
      if (kStale && empty(slot))
        slot = make_uint4(~0u, ~0u, ~0u, ~0u);  // who isn't there counts as nothing
      return !empty(slot);
    };
#pragma unroll
    for (int j = 0; j < kFours; ++j) {
      found[j] = kLooks ? seen[0] : uint4{};
      if (empty(found[j]))
        found[j] = ptx::atomic_exchange_16(slots + j * 32, inverted(&acc[4 * j]));
      next[j] = kLooks ? seen[1] : uint4{};
      if (kLooks && two && empty(next[j])) next[j] = ptx::load_16(slots + kStride + j * 32);
    }
    uint32_t going = 0;
#pragma unroll
    for (int j = 0; j < kFours; ++j) {
      if (!there(found[j])) continue;
      take(slots + j * 32, found[j], &acc[4 * j]);
      if (!two) {
        done |= 1u << j;
      } else if (!empty(next[j])) {
        take(slots + kStride + j * 32, next[j], &acc[4 * j]);
        done |= 1u << j;
      } else {
        going |= 1u << j;
      }
    }
#pragma unroll
    for (int j = 0; j < kFours; ++j) {
      if (going >> j & 1) {
        found[j] = ptx::atomic_exchange_16(slots + kStride + j * 32, inverted(&acc[4 * j]));
      }
    }
#pragma unroll
    for (int j = 0; j < kFours; ++j) {
      if (!(going >> j & 1) || !there(found[j])) continue;
      take(slots + kStride + j * 32, found[j], &acc[4 * j]);
      done |= 1u << j;
    }
    return done;
  }
};

// With many tokens each warp writes its pair's sum to the workspace, takes a ticket when it is
// written, and the warp that finds all others arrived adds all pairs in K order, whatever the order
// of arrival. True for that warp: acc is then the sum of all.
template <int kCount>
__device__ bool add_pairs(const GemmParams& p, int tile, int warp, int lane, float (&acc)[kCount]) {
  constexpr int kVectors = kCount / 4, kMostPairs = kMaxSegments / 2;
  const int pairs = p.work.parts(), own = blockIdx.y;
  const auto address = [&](int pair) {
    const int64_t slot = (static_cast<int64_t>(tile) * pairs + pair) * kConsumerWarps + warp;
    return reinterpret_cast<float4*>(p.partials) + slot * kVectors * 32 + lane;
  };
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const float* sum = &acc[4 * v];
    __stcg(address(own) + v * 32, make_float4(sum[0], sum[1], sum[2], sum[3]));
  }
  // The warp barrier and the atomic's release order all lanes' sums before the ticket; its acquire,
  // and the shuffle, order the others' sums before the loads below.
  int* ticket = p.tickets + tile * kConsumerWarps + warp;
  int arrived = 0;
  __syncwarp();
  if (lane == 0) arrived = ptx::atomic_add_acq_rel(ticket, 1);
  arrived = __shfl_sync(~0u, arrived, 0);
  if (arrived < pairs - 1) return false;
  // As many loads at a time as registers hold: every round costs a trip to L2.
  constexpr int kTogether = kVectors / ceil_div(kVectors, 8);
  static_assert(kVectors % kTogether == 0);
#pragma unroll
  for (int first = 0; first < kVectors; first += kTogether) {
    float4 other[kMostPairs - 1][kTogether];
#pragma unroll
    for (int o = 0; o < kMostPairs - 1; ++o) {
      if (o >= pairs - 1) continue;
      const float4* from = address(o < own ? o : o + 1) + first * 32;
#pragma unroll
      for (int i = 0; i < kTogether; ++i) other[o][i] = __ldcg(from + i * 32);
    }
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      float* sum = &acc[4 * (first + i)];
      const float4 mine = make_float4(sum[0], sum[1], sum[2], sum[3]);
#pragma unroll
      for (int pair = 0; pair < kMostPairs; ++pair) {
        if (pair >= pairs) continue;
        const float4& before = other[pair < kMostPairs - 1 ? pair : 0][i];
        const float4& after = other[pair > 0 ? pair - 1 : 0][i];
        const float4 next = pair == own ? mine : pair < own ? before : after;
        sum[0] = pair == 0 ? next.x : sum[0] + next.x;
        sum[1] = pair == 0 ? next.y : sum[1] + next.y;
        sum[2] = pair == 0 ? next.z : sum[2] + next.z;
        sum[3] = pair == 0 ? next.w : sum[3] + next.w;
      }
    }
  }
  if (lane == 0) *ticket = 0;
  return true;
}

}  // namespace hotproof::kernel

#endif  // HOTPROOF_KERNEL_STORE_CUH_
