// The GEMM for more than 64 tokens, and for more than 32 where K has one
// segment. Multiplying and reading tokens weigh as much as reading weights
// here, so this differs from sm90_fp8_gemm.cuh:
//   - not swapped: tokens are wgmma's 64 rows, weight rows its N, so that a CTA
//   keeps all its rows
//     (264 of N = 34816) in registers at a time and reads every token once;
//   - K's segments are added in registers: no tile is shared.
// Where K is cut, and the order of sums, are the same: so are the bits.
//   warps 0-3, 4-7   with 128 tokens half of them each; with 64 half of the
//   tile's rows each warp 8           one thread feeds weights by TMA warps
//   9-11       tokens by TMA and their scales
#ifndef HOTPROOF_KERNEL_MANY_TOKENS_CUH_
#define HOTPROOF_KERNEL_MANY_TOKENS_CUH_

#include <cuda_bf16.h>

#include <cstdint>

#include "kernel/gemm_params.cuh"
#include "kernel/load.cuh"
#include "kernel/ptx.cuh"

namespace hotproof::kernel {

inline constexpr int kConsumerRegisters = 232, kLoaderRegisters = 40;

// D of 16 tokens x 8 kN / 8 weight rows that a warp holds. Four lanes hold 8
// neighbours of a row: they exchange four such pieces so that each stores 16
// bytes.
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

// A consumer warp's life. Its warpgroup multiplies 64 tokens by kPieces times
// kN weight rows.
template <int kMTile, int kN, int kPieces, bool kFolds>
__device__ void consume_many(const GemmParams& p, const Rings& rings, const CtaWork& cta, int warp,
                             int lane) {
  static_assert(kN / 8 <= kScaleRows / kGroup + 1, "a piece meets at most two rows of B's scales");
  constexpr bool kSplitsTokens = kMTile == 128;
  // Two sums at a time: more than registers hold with wide pieces, and slower
  // with two pieces.
  constexpr bool kOverlaps = kN <= 64 && kPieces == 1;
  const int warpgroup = warp / 4;
  const int first_m = (kSplitsTokens ? 64 * warpgroup : 0) + 16 * (warp % 4);
  const int blocks = p.ring.stage_blocks, stride = blocks * kAtomBytes;
  const int piece_groups =
      kPieces == 2 || !kSplitsTokens ? ceil_div(p.work.tile_groups, 2) : p.work.tile_groups;
  const int first_piece = kSplitsTokens ? 0 : warpgroup;
  const int first_row = first_scale_row(p, cta);
  const ptx::Descriptor weights(rings.weights(0) + first_piece * piece_groups * stride, stride);
  const ptx::Descriptor tokens(rings.tokens(0) + (kSplitsTokens ? warpgroup * 64 * kBlockK : 0),
                               kAtomBytes);
  Cursor w_at, t_at;
  ptx::mbarrier_wait(rings.table_full(), 0);
  for (int tile = cta.first_tile; tile < cta.end_tile; ++tile) {
    uint32_t b_scales[kPieces][2];  // where the scales of a piece's two rows of them are
    int second[kPieces];            // from which group of the piece on the second one
                                    // counts
#pragma unroll
    for (int b = 0; b < kPieces; ++b) {
      const int group = tile * p.work.tile_groups + (first_piece + b) * piece_groups;
      second[b] = kScaleRows / kGroup - group % (kScaleRows / kGroup);
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int row = min(group / (kScaleRows / kGroup) + r - first_row, p.work.scale_rows() - 1);
        b_scales[b][r] = rings.table() + row * p.layout.table_stride * 4;
      }
    }
    float acc[kPieces][kN / 2] = {};               // the segment's sum so far
    float sum[kFolds ? kPieces : 1][kN / 2] = {};  // of the segments before it
    int segment = 0, next_cut = p.cuts[1];
    const auto fold = [&] {
#pragma unroll
      for (int b = 0; b < kPieces && kFolds; ++b) {
#pragma unroll
        for (int j = 0; j < kN / 2; ++j) {
          sum[b][j] = segment == 0 ? acc[b][j] : sum[b][j] + acc[b][j];
          acc[b][j] = 0;
        }
      }
    };
    for (int first_k = 0; first_k < cta.k_end; first_k += blocks) {
      if (kFolds && first_k == next_cut) {
        fold();
        next_cut = p.cuts[++segment + 1];
      }
      ptx::mbarrier_wait(rings.full(w_at.stage), w_at.phase);
      ptx::mbarrier_wait(rings.token_full(t_at.stage), t_at.phase);
      const ptx::Descriptor w = weights.plus(w_at.stage * p.layout.weight_stage);
      const ptx::Descriptor t = tokens.plus(t_at.stage * p.layout.token_stage);
      const auto issue = [&](float(&part)[kN / 2], int i, int b) {
        ptx::keep_in_order(part);
        ptx::wgmma_fence();
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          ptx::wgmma_m64k32<kN>(part, t.plus(i * kMTile * kBlockK).at(32 * k),
                                w.plus(b * piece_groups * stride + i * kAtomBytes).at(32 * k), k);
        }
        ptx::wgmma_commit();
      };
      const auto add = [&](float(&part)[kN / 2], int i, int b, auto wait) {
        const uint32_t a = rings.scales(t_at.stage) + (i * kMTile + first_m + lane / 4) * 4;
        const float a_scale[2] = {ptx::load_shared(a), ptx::load_shared(a + 32)};
        float scale[2][2];  // of row r of B's scales, token lane / 4 + 8h: [r][h]
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          const float b_scale = ptx::load_shared(b_scales[b][r] + (first_k + i) * 4);
          scale[r][0] = a_scale[0] * b_scale;
          scale[r][1] = a_scale[1] * b_scale;
        }
        wait();
        ptx::keep_in_order(part);
#pragma unroll
        for (int j = 0; j < kN / 8; ++j) {
          const bool later = j >= second[b];
          const float low = later ? scale[1][0] : scale[0][0];
          const float high = later ? scale[1][1] : scale[0][1];
          acc[b][4 * j] = fmaf(part[4 * j], low, acc[b][4 * j]);
          acc[b][4 * j + 1] = fmaf(part[4 * j + 1], low, acc[b][4 * j + 1]);
          acc[b][4 * j + 2] = fmaf(part[4 * j + 2], high, acc[b][4 * j + 2]);
          acc[b][4 * j + 3] = fmaf(part[4 * j + 3], high, acc[b][4 * j + 3]);
        }
      };
      const auto all_done = [] { ptx::wgmma_wait<0>(); };
      const int count = min(blocks, cta.k_end - first_k);
      if (kOverlaps && count == 2) {
        // The tensor cores work on one sum while the last is added.
        constexpr int kSums = 2 * kPieces;
        float part[2][kN / 2];
        issue(part[0], 0, 0);
#pragma unroll
        for (int u = 0; u < kSums; ++u) {
          if (u + 1 < kSums) {
            issue(part[(u + 1) % 2], (u + 1) / kPieces, (u + 1) % kPieces);
            add(part[u % 2], u / kPieces, u % kPieces, [] { ptx::wgmma_wait<1>(); });
          } else {
            add(part[u % 2], u / kPieces, u % kPieces, all_done);
          }
        }
      } else {
#pragma unroll 1
        for (int i = 0; i < count; ++i) {
#pragma unroll
          for (int b = 0; b < kPieces; ++b) {
            float part[kN / 2];
            issue(part, i, b);
            add(part, i, b, all_done);
          }
        }
      }
      __syncwarp();
      if (lane == 0) {
        ptx::mbarrier_arrive(rings.empty(w_at.stage));
        ptx::mbarrier_arrive(rings.token_empty(t_at.stage));
      }
      w_at.next(rings.stages);
      t_at.next(rings.token_stages);
    }
    if (kFolds) fold();
#pragma unroll
    for (int b = 0; b < kPieces; ++b) {
      const int piece = (first_piece + b) * piece_groups;
      store_rows<kN>(p, first_m, tile * p.work.tile_groups + piece,
                     min(piece_groups, p.work.tile_groups - piece), lane,
                     kFolds ? sum[kFolds ? b : 0] : acc[b]);
    }
  }
}

template <int kMTile>
__global__ void __launch_bounds__(kBlockThreads, 1)
    sm90_fp8_gemm_1x128_128x128_many(const __grid_constant__ GemmParams p) {
  extern __shared__ __align__(1024) uint8_t smem[];
  const Rings rings{ptx::smem_address(smem), p.layout, p.ring.stages, p.ring.token_stages};
  constexpr Mutation kNone = Mutation::kNone;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (warp == kConsumerWarps) {
    if (lane == 0) {
      load_first_weights<kNone>(p, rings);
      ptx::launch_dependents();
    }
    if (lane < rings.stages) {
      if (lane > 0) ptx::mbarrier_init(rings.full(lane), 1);
      ptx::mbarrier_init(rings.empty(lane), kConsumerWarps);
    }
  } else if (warp == kConsumerWarps + 1) {
    if (lane == 0) ptx::prefetch_tensor_map(&p.a_map);
    if (lane < rings.token_stages) {
      ptx::mbarrier_init(rings.token_full(lane), token_arrivals(false));
      ptx::mbarrier_init(rings.token_empty(lane), kConsumerWarps);
    }
    if (lane == 0) ptx::mbarrier_init(rings.table_full(), 32 * kTokenWarps);
  }
  ptx::fence_mbarrier_init();
  ptx::fence_proxy_async();
  __syncwarp();
  ptx::named_barrier_sync(0, kBlockThreads);
  const CtaWork cta(p);

  if (warp < kConsumerWarps) {
    ptx::more_registers<kConsumerRegisters>();
    const int groups = p.work.tile_groups;
    if (p.work.segments > 1) {
      if constexpr (kMTile == 128) {  // with 64 such tiles are shared
        if (groups <= 5) {
          consume_many<kMTile, 40, 1, true>(p, rings, cta, warp, lane);
        } else {
          consume_many<kMTile, 64, 1, true>(p, rings, cta, warp, lane);
        }
      }
    } else if (groups <= 16) {
      consume_many<kMTile, 64, kMTile / 64, false>(p, rings, cta, warp, lane);
    } else {
      consume_many<kMTile, 136, kMTile / 64, false>(p, rings, cta, warp, lane);
    }
  } else {
    ptx::fewer_registers<kLoaderRegisters>();
    if (warp == kConsumerWarps) {
      if (lane == 0) {
        feed_weights<kNone>(p, rings, cta);
        if (p.launch_counter != nullptr && blockIdx.x == 0) atomicAdd(p.launch_counter, 1);
      }
    } else {
      if (p.flags & kWaitBeforeWeights) ptx::grid_dependency_wait();
      load_b_scales<kNone>(p, rings, cta, threadIdx.x - 32 * (kConsumerWarps + 1));
      ptx::mbarrier_arrive_after_cp_async(rings.table_full());
      wait_for_previous_kernel(p);
      feed_tokens<kMTile>(p, rings, cta, warp - kConsumerWarps - 1, lane);
    }
  }
}

}  // namespace hotproof::kernel

#endif  // HOTPROOF_KERNEL_MANY_TOKENS_CUH_
