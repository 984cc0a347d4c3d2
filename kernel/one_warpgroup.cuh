// The loop of a CTA of many_tokens.cuh whose one warpgroup multiplies all of its tile (tokens cut
// in two). Nothing hides what stands between two stages there: the next one's barriers are tested
// and addresses advanced while the tensor cores work on this one's last block.
#ifndef HOTPROOF_KERNEL_ONE_WARPGROUP_CUH_
#define HOTPROOF_KERNEL_ONE_WARPGROUP_CUH_

#include <cstdint>

#include "kernel/gemm_params.cuh"
#include "kernel/ptx.cuh"

namespace hotproof::kernel {

// Where in a ring a warp reads next, kept up to date while the tensor cores work.
struct RingReader {
  uint32_t full;      // the stage's barrier; that of 'empty' stands `stages` barriers further
  uint32_t data = 0;  // the stage, in bytes from the ring's first
  uint32_t phase = 0;
  int stage = 0;

  // True where the ring begins again.
  __device__ bool advance(int stages, uint32_t stage_bytes) {
    ++stage;
    full += 8;
    data += stage_bytes;
    if (stage < stages) return false;
    stage = 0;
    full -= 8 * stages;
    data = 0;
    phase ^= 1;
    return true;
  }
  __device__ bool ready() const { return ptx::mbarrier_test_wait(full, phase); }
  __device__ void wait() const { ptx::mbarrier_wait(full, phase); }
};

// Where the warpgroup stands in both rings, and its multiplication of stages of up to 4 K blocks:
// kMTile tokens by kN weight rows, which meet at most two rows of B's scales.
template <int kN, int kMTile>
struct OneWarpgroup {
  const GemmParams& p;
  const Rings& rings;
  const ptx::Descriptor weights, tokens;  // of the rings' first stages
  const int lane;
  RingReader w, t;
  uint32_t a_scales;  // of this lane's tokens, in the stage
  bool ready = false;

  __device__ OneWarpgroup(const GemmParams& p, const Rings& rings, const ptx::Descriptor& weights,
                          const ptx::Descriptor& tokens, int first_m, int lane)
      : p(p),
        rings(rings),
        weights(weights),
        tokens(tokens),
        lane(lane),
        w{rings.full(0)},
        t{rings.token_full(0)},
        a_scales(rings.scales(0) + (first_m + lane / 4) * 4) {}

  // K blocks [from, to) -> acc. b_scales: where the two rows of scales are; second: from which
  // group of 8 weight rows on the second one counts.
  __device__ __forceinline__ void multiply(int from, int to, const uint32_t (&b_scales)[2],
                                           int second, float (&acc)[kN / 2]) {
    switch (p.ring.stage_blocks == 4 ? second : 0) {
      case 2:
        return stages<2>(from, to, b_scales, second, acc);
      case 4:
        return stages<4>(from, to, b_scales, second, acc);
      case 6:
        return stages<6>(from, to, b_scales, second, acc);
      case 8:
        return stages<8>(from, to, b_scales, second, acc);
      case 10:  // the tile has no more groups: one row of B's scales
      case 12:
      case 14:
      case 16:
        return stages<10>(from, to, b_scales, second, acc);
      default:
        break;
    }
    stages<0>(from, to, b_scales, second, acc);
  }

  // kSecond: second, where the compiler may know it, else 0.
  template <int kSecond>
  __device__ __forceinline__ void stages(int from, int to, const uint32_t (&b_scales)[2],
                                         int second, float (&acc)[kN / 2]) {
    const int blocks = p.ring.stage_blocks;
#pragma unroll 1
    for (int k = from; k < to; k += blocks) {
      if (!ready) {
        w.wait();
        t.wait();
      }
      const uint32_t w_full = w.full, t_full = t.full, scales = a_scales;
      const ptx::Descriptor w_first = weights.plus(w.data), t_first = tokens.plus(t.data);
      const auto start = [&](float(&part)[kN / 2], int i) {
        ptx::keep_in_order(part);
        ptx::wgmma_fence();
#pragma unroll
        for (int s = 0; s < 4; ++s) {
          ptx::wgmma_m64k32<kN>(part, t_first.at(i * kMTile * kBlockK + 32 * s),
                                w_first.at(i * kAtomBytes + 32 * s), s);
        }
        ptx::wgmma_commit();
      };
      const auto finish = [&](float(&part)[kN / 2], int i, bool last) {
        const float low_a = ptx::load_shared(scales + i * kMTile * 4);
        const float high_a = ptx::load_shared(scales + i * kMTile * 4 + 32);
        float scale[2][2];
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          const float b_scale = ptx::load_shared(b_scales[r] + (k + i) * 4);
          scale[r][0] = low_a * b_scale;
          scale[r][1] = high_a * b_scale;
        }
        if (last) {
          w.advance(rings.stages, p.layout.weight_stage);
          a_scales += p.layout.scale_stage;
          if (t.advance(rings.token_stages, p.layout.token_stage))
            a_scales -= rings.token_stages * p.layout.scale_stage;
          ready = w.ready() & t.ready();
          ptx::wgmma_wait<0>();
          __syncwarp();
          if (lane == 0) {
            ptx::mbarrier_arrive(w_full + 8 * rings.stages);
            ptx::mbarrier_arrive(t_full + 8 * rings.token_stages);
          }
        } else {
          ptx::wgmma_wait<1>();
        }
        ptx::keep_in_order(part);
#pragma unroll
        for (int j = 0; j < kN / 8; ++j) {
          const bool later = kSecond > 0 ? j >= kSecond : j >= second;
          const float low = later ? scale[1][0] : scale[0][0];
          const float high = later ? scale[1][1] : scale[0][1];
          acc[4 * j] = fmaf(part[4 * j], low, acc[4 * j]);
          acc[4 * j + 1] = fmaf(part[4 * j + 1], low, acc[4 * j + 1]);
          acc[4 * j + 2] = fmaf(part[4 * j + 2], high, acc[4 * j + 2]);
          acc[4 * j + 3] = fmaf(part[4 * j + 3], high, acc[4 * j + 3]);
        }
      };
      // Of a last stage that is not full, the rest are not this CTA's: multiplied by nothing.
      const int count = min(blocks, to - k);
      float part[2][kN / 2];
      if (count == 4) {
        start(part[0], 0);
        start(part[1], 1);
        finish(part[0], 0, false);
        start(part[0], 2);
        finish(part[1], 1, false);
        start(part[1], 3);
        finish(part[0], 2, false);
        finish(part[1], 3, true);
      } else if (kSecond == 0 && count == 2) {
        start(part[0], 0);
        start(part[1], 1);
        finish(part[0], 0, false);
        finish(part[1], 1, true);
      } else {
#pragma unroll 1
        for (int i = 0; i < count - 1; ++i) {
          start(part[0], i);
          ptx::wgmma_wait<0>();
          finish(part[0], i, false);
        }
        start(part[0], count - 1);
        finish(part[0], count - 1, true);
      }
    }
  }
};

}  // namespace hotproof::kernel

#endif  // HOTPROOF_KERNEL_ONE_WARPGROUP_CUH_
