// The GEMM for more than 32 tokens. Multiplying and reading tokens weigh as much as reading weights
// here, so this differs from sm90_fp8_gemm.cuh:
//   - not swapped: tokens are wgmma's 64 rows, weight rows its N, so that a scale of B is one value
//     and one of A two for a lane, and a CTA keeps all its rows (264 of N = 34816) in registers at
//     a time and reads every token once;
//   - a wgmma multiplies up to 136 weight rows: shared memory reads its 64 tokens once for all.
// Where K is cut, and the order of sums, are the same: so are the bits.
//   warps 0-3, 4-7   with 128 tokens half of them each; with 64 half of the tile's rows each, or,
//                    where tokens are cut in two, warps 0-3 alone
//   warp 8           one thread feeds weights by TMA
//   warps 9-11       tokens and their scales by TMA
#ifndef HOTPROOF_KERNEL_MANY_TOKENS_CUH_
#define HOTPROOF_KERNEL_MANY_TOKENS_CUH_

#include <cstdint>
#include <type_traits>

#include "kernel/gemm_params.cuh"
#include "kernel/load.cuh"
#include "kernel/one_warpgroup.cuh"
#include "kernel/ptx.cuh"
#include "kernel/store.cuh"

namespace hotproof::kernel {

inline constexpr int kConsumerRegisters = 232, kLoaderRegisters = 40;

// A CTA's segments of K.
enum class Segments { kOne, kPair, kAll };

// What of a CTA's tile is a warpgroup's: half of its tokens or rows, or all of it, the first one's.
enum class Split { kTokens, kRows, kAll };

// Token warp w of three takes every third stage: A by TMA and, where they stand together, its
// scales as well: copies by 32 lanes stand in the way of all that consumers ask of shared memory.
template <int kMTile>
__device__ void feed_many_tokens(const GemmParams& p, const Rings& rings, const CtaWork& cta, int w,
                                 int lane) {
  const int first_token = blockIdx.z * kMTile;
  const bool bulk = p.flags & kBulkScales;
  const uint32_t scale_bytes = 4 * min(kMTile, p.m - first_token);
  Cursor to;
  to.advance(rings.token_stages, w);
  StageWalk at = cta.walk(p);
  at.next(w);
  for (; !at.done(); at.next(kTokenWarps), to.advance(rings.token_stages, kTokenWarps)) {
    const uint32_t full = rings.token_full(to.stage), scales = rings.scales(to.stage);
    const int first_k = at.k, blocks = min(p.ring.stage_blocks, p.work.k_blocks - first_k);
    ptx::mbarrier_wait(rings.token_empty(to.stage), to.phase ^ 1);
    if (lane == 0) {
      ptx::mbarrier_arrive_expect_tx(full,
                                     p.layout.token_stage + (bulk ? blocks * scale_bytes : 0));
      ptx::tma_load_3d(rings.tokens(to.stage), &p.a_map, first_k * p.first.k_to_byte, first_token,
                       first_k * p.first.k_to_block, full, ptx::kEvictLast);
#pragma unroll 1
      for (int j = 0; bulk && j < blocks; ++j) {
        ptx::bulk_load(scales + j * kMTile * 4,
                       p.a_scale + (first_k + j) * p.a_scale_stride_k + first_token, scale_bytes,
                       full, ptx::kEvictLast);
      }
    }
    if (bulk) continue;
#pragma unroll 1
    for (int i = lane; i < p.ring.stage_blocks * kMTile; i += 32) {
      const int m = first_token + i % kMTile, k = first_k + i / kMTile;
      const bool inside = m < p.m && k < p.work.k_blocks;
      ptx::cp_async_4(scales + i * 4,
                      p.a_scale + (inside ? m * p.a_scale_stride_m + k * p.a_scale_stride_k : 0),
                      inside);
    }
    ptx::mbarrier_arrive_after_cp_async(full);
  }
}

// A consumer warp's life. Its warpgroup multiplies 64 tokens by kPieces times kN weight rows.
// kAligned: a piece has one row of B's scales, else up to two.
template <int kN, int kPieces, Split kSplit, Segments kSegments, bool kAligned>
__device__ void consume_many(const GemmParams& p, const Rings& rings, const CtaWork& cta, int warp,
                             int lane) {
  static_assert(kN / 8 <= kScaleRows / kGroup + 1, "a piece meets at most two rows of B's scales");
  constexpr int kMTile = kSplit == Split::kTokens ? 128 : 64;
  // Two sums at a time, one multiplied while the other is added, where registers hold them.
  constexpr bool kOverlaps = kPieces == 1 && kN <= 80;
  constexpr int kMostBlocks = most_many_blocks(kSplit == Split::kAll);
  constexpr int kScales = kAligned ? 1 : 2;
  const int warpgroup = warp / 4;
  const int first_m = (kSplit == Split::kTokens ? 64 * warpgroup : 0) + 16 * (warp % 4);
  const int blocks = p.ring.stage_blocks, stride = blocks * kAtomBytes;
  const int piece_groups =
      kPieces == 2 || kSplit == Split::kRows ? ceil_div(p.work.tile_groups, 2) : p.work.tile_groups;
  const int first_piece = kSplit == Split::kRows ? warpgroup : 0;
  const int first_row = first_scale_row(p, cta);
  const ptx::Descriptor weights(rings.weights(0) + first_piece * piece_groups * stride, stride);
  const ptx::Descriptor tokens(
      rings.tokens(0) + (kSplit == Split::kTokens ? warpgroup * 64 * kBlockK : 0), kAtomBytes);
  Cursor w_at, t_at;
  // Piece b of block i of the stage.
  const auto issue = [&](float(&part)[kN / 2], int i, int b) {
    const ptx::Descriptor t = tokens.plus(t_at.stage * p.layout.token_stage + i * kMTile * kBlockK);
    const ptx::Descriptor w = weights.plus(w_at.stage * p.layout.weight_stage +
                                           b * piece_groups * stride + i * kAtomBytes);
    ptx::keep_in_order(part);
    ptx::wgmma_fence();
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      ptx::wgmma_m64k32<kN>(part, t.at(32 * k), w.at(32 * k), k);
    }
    ptx::wgmma_commit();
  };
  float acc[kPieces][kN / 2];           // the segment's sum so far
  uint32_t b_scales[kPieces][kScales];  // where the scales of a piece's rows of them are
  int second[kPieces];                  // from which group of the piece on the second one counts
  // The same piece's part, of K block k, -> acc once `wait` has returned.
  const auto add = [&](float(&part)[kN / 2], int i, int k, int b, auto wait) {
    const uint32_t a = rings.scales(t_at.stage) + (i * kMTile + first_m + lane / 4) * 4;
    const float a_scale[2] = {ptx::load_shared(a), ptx::load_shared(a + 32)};
    float scale[kScales][2];  // of row r of B's scales, token lane / 4 + 8h: [r][h]
#pragma unroll
    for (int r = 0; r < kScales; ++r) {
      const float b_scale = ptx::load_shared(b_scales[b][r] + k * 4);
      scale[r][0] = a_scale[0] * b_scale;
      scale[r][1] = a_scale[1] * b_scale;
    }
    wait();
    ptx::keep_in_order(part);
#pragma unroll
    for (int j = 0; j < kN / 8; ++j) {
      const bool later = !kAligned && j >= second[b];
      const float low = later ? scale[kScales - 1][0] : scale[0][0];
      const float high = later ? scale[kScales - 1][1] : scale[0][1];
      acc[b][4 * j] = fmaf(part[4 * j], low, acc[b][4 * j]);
      acc[b][4 * j + 1] = fmaf(part[4 * j + 1], low, acc[b][4 * j + 1]);
      acc[b][4 * j + 2] = fmaf(part[4 * j + 2], high, acc[b][4 * j + 2]);
      acc[b][4 * j + 3] = fmaf(part[4 * j + 3], high, acc[b][4 * j + 3]);
    }
  };
  const auto release = [&] { release_stage(rings, w_at, t_at, lane); };
  const auto all_done = [] { ptx::wgmma_wait<0>(); };
  const auto one_left = [] { ptx::wgmma_wait<1>(); };
  // All pieces of block i of the stage, the one of K block k.
  const auto multiply_block = [&](int i, int k, bool last) {
#pragma unroll
    for (int b = 0; b < kPieces; ++b) {
      float part[kN / 2];
      issue(part, i, b);
      add(part, i, k, b, [&] {
        all_done();
        if (last && b == kPieces - 1) release();
      });
    }
  };
  // A stage of kCount K blocks, from k on.
  const auto multiply_stage = [&]<int kCount>(int k, std::integral_constant<int, kCount>) {
    if constexpr (kOverlaps) {
      float part[2][kN / 2];
      issue(part[0], 0, 0);
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        if (i + 1 < kCount) {
          issue(part[(i + 1) % 2], i + 1, 0);
          add(part[i % 2], i, k + i, 0, one_left);
        } else {
          add(part[i % 2], i, k + i, 0, [&] {
            all_done();
            release();
          });
        }
      }
    } else {
#pragma unroll
      for (int i = 0; i < kCount; ++i) multiply_block(i, k + i, i == kCount - 1);
    }
  };
  OneWarpgroup<kN, kMTile> alone(p, rings, weights, tokens, first_m, lane);
  // K blocks [from, to) -> acc.
  const auto multiply = [&](int from, int to) {
    if constexpr (kSplit == Split::kAll) {
      alone.multiply(from, to, b_scales[0], second[0], acc[0]);
    } else {
      for (int k = from; k < to; k += blocks) {
        wait_for_weights(rings, w_at);
        wait_for_tokens(rings, t_at);
        const int count = min(blocks, to - k);
        if (kMostBlocks == 4 && count == 4) {
          multiply_stage(k, std::integral_constant<int, 4>());
        } else if (kPieces == 1 && count == 2) {
          multiply_stage(k, std::integral_constant<int, 2>());
        } else {
#pragma unroll 1
          for (int i = 0; i < count; ++i) multiply_block(i, k + i, i == count - 1);
        }
        next_stage(rings, &w_at, &t_at);
      }
    }
  };
  ptx::mbarrier_wait(rings.table_full(), 0);
  for (int tile = cta.first_tile; tile < cta.end_tile; ++tile) {
#pragma unroll
    for (int b = 0; b < kPieces; ++b) {
      const int group = tile * p.work.tile_groups + (first_piece + b) * piece_groups;
      second[b] = kScaleRows / kGroup - group % (kScaleRows / kGroup);
#pragma unroll
      for (int r = 0; r < kScales; ++r) {
        const int row = min(group / (kScaleRows / kGroup) + r - first_row, p.work.scale_rows() - 1);
        b_scales[b][r] = rings.table() + (row * p.layout.table_stride - cta.k_begin) * 4;
      }
#pragma unroll
      for (int j = 0; j < kN / 2; ++j) acc[b][j] = 0;
    }
    if constexpr (kSegments == Segments::kOne) {
      multiply(cta.k_begin, cta.k_end);
    } else if constexpr (kSegments == Segments::kPair) {
      const int cut = p.cuts[cta.first_segment + 1];
      multiply(cta.k_begin, cut);
      float first[kN / 2];
#pragma unroll
      for (int j = 0; j < kN / 2; ++j) {
        first[j] = acc[0][j];
        acc[0][j] = 0;
      }
      multiply(cut, cta.k_end);
#pragma unroll
      for (int j = 0; j < kN / 2; ++j) acc[0][j] = first[j] + acc[0][j];
      if (!add_pairs(p, tile, warp, lane, acc[0])) continue;
    } else {
      SegmentSum<kN / 2> sum;
      for (int s = 0; s < p.work.segments; ++s) {
        multiply(p.cuts[s], p.cuts[s + 1]);
#pragma unroll
        for (int j = 0; j < kN / 2; ++j) {
          sum.add(s, j, acc[0][j]);
          acc[0][j] = 0;
        }
      }
#pragma unroll
      for (int j = 0; j < kN / 2; ++j) acc[0][j] = sum.total[j];
    }
#pragma unroll
    for (int b = 0; b < kPieces; ++b) {
      const int piece = (first_piece + b) * piece_groups;
      store_rows<kN>(p, blockIdx.z * kMTile + first_m, tile * p.work.tile_groups + piece,
                     min(piece_groups, p.work.tile_groups - piece), lane, acc[b]);
    }
  }
}

template <int kMTile>
__global__ void __launch_bounds__(kBlockThreads, 1)
    sm90_fp8_gemm_1x128_128x128_many(const __grid_constant__ GemmParams p) {
  extern __shared__ __align__(1024) uint8_t smem[];
  const Rings rings{ptx::smem_address(smem), p.layout, p.ring.stages, p.ring.token_stages};
  constexpr Mutation kNone = Mutation::kNone;
  // From one lane, so that the compiler knows it is the same in all of a warp.
  const int warp = __shfl_sync(~0u, threadIdx.x / 32, 0), lane = threadIdx.x % 32;
  if (warp <= kConsumerWarps) {
    begin<kNone>(p, rings, warp, lane, p.flags & kBulkScales ? 1 : token_arrivals(false));
  }
  const CtaWork cta(p);

  if (warp < kConsumerWarps) {
    ptx::more_registers<kConsumerRegisters>();
    const int groups = p.work.tile_groups;
    constexpr Split kSplit = kMTile == 128 ? Split::kTokens : Split::kRows;
    constexpr int kRows = kMTile;  // a warpgroup's, of a tile of 128 rows
    using S = Segments;
    if (p.work.shared) {
      consume_many<kRows, 1, kSplit, S::kPair, true>(p, rings, cta, warp, lane);
    } else if (p.work.segments > 1) {  // more than 64 tokens: fewer are shared
      if constexpr (kMTile == 128) {
        consume_many<64, 1, kSplit, S::kAll, false>(p, rings, cta, warp, lane);
      } else if (warp < kConsumerWarps / 2) {
        consume_many<8 * kTokenTileGroups, 1, Split::kAll, S::kAll, false>(p, rings, cta, warp,
                                                                           lane);
      }
    } else if (groups == kFullTileGroups) {
      consume_many<kRows, 1, kSplit, S::kOne, true>(p, rings, cta, warp, lane);
    } else if (groups < kFullTileGroups - 1) {
      consume_many<kMTile == 128 ? 112 : 64, 1, kSplit, S::kOne, false>(p, rings, cta, warp, lane);
    } else {
      consume_many<136, kMTile / 64, kSplit, S::kOne, false>(p, rings, cta, warp, lane);
    }
  } else {
    ptx::fewer_registers<kLoaderRegisters>();
    if (warp == kConsumerWarps) {
      if (lane == 0) {
        feed_weights<kNone>(p, rings, cta);
        if (p.launch_counter != nullptr && blockIdx.x + blockIdx.y + blockIdx.z == 0) {
          atomicAdd(p.launch_counter, 1);
        }
      }
    } else {
      if (p.flags & kWaitBeforeWeights) ptx::grid_dependency_wait();
      const int w = warp - kConsumerWarps - 1;
      if (w == 0 && lane == 0) ptx::prefetch_tensor_map(&p.a_map);
      load_b_scales<kNone>(p, rings, cta, w, lane);
      begin_tokens(rings, w);
      wait_for_previous_kernel(p);
      feed_many_tokens<kMTile>(p, rings, cta, w, lane);
    }
  }
}

}  // namespace hotproof::kernel

#endif  // HOTPROOF_KERNEL_MANY_TOKENS_CUH_
