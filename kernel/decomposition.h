// Which CTA computes which part of the GEMM. Pure arithmetic: the kernel, the launcher and the CPU
// tests all include this file; nothing here depends on M, which is what makes results
// batch-invariant.
//
// N is cut into tiles of 128 weight rows, K into blocks of 128. A unit is one (tile, K block): 16
// KB of weights. Units are numbered tile by tile, along K inside a tile. CTA c computes the
// half-open range [begin(c), begin(c + 1)) of that order. A tile that several CTAs share has one
// segment per CTA; its segments are summed in K order, whoever finishes last.
#ifndef HOTPROOF_KERNEL_DECOMPOSITION_H_
#define HOTPROOF_KERNEL_DECOMPOSITION_H_

#include <cstdint>

#ifdef __CUDACC__
#define HOTPROOF_HOST_DEVICE __host__ __device__
#else
#define HOTPROOF_HOST_DEVICE
#endif

namespace hotproof::kernel {

inline constexpr int kTileN = 128;   // weight rows in a tile, and in a block of B's scales
inline constexpr int kBlockK = 128;  // K elements in a unit, and in a group of A's scales
inline constexpr int kMaxSplit = 8;  // CTAs that share every tile alike

HOTPROOF_HOST_DEVICE constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }

// The part of one tile that one CTA computes: K blocks [k_begin, k_end).
struct Segment {
  int tile;
  int k_begin;
  int k_end;
};

struct Decomposition {
  int tiles;     // ceil(N / 128)
  int k_blocks;  // ceil(K / 128)
  int ctas;      // 1 <= ctas <= units()

  HOTPROOF_HOST_DEVICE constexpr int units() const { return tiles * k_blocks; }

  // floor(c * units / ctas) without a 64-bit product. Valid for 0 <= c <= ctas.
  HOTPROOF_HOST_DEVICE constexpr int begin(int c) const {
    const int quotient = units() / ctas;
    const int remainder = units() % ctas;
    return c * quotient + c * remainder / ctas;
  }

  // The CTA whose range holds `unit`: the largest c with begin(c) <= unit.
  HOTPROOF_HOST_DEVICE constexpr int owner(int unit) const {
    return static_cast<int>((static_cast<int64_t>(unit + 1) * ctas - 1) / units());
  }

  HOTPROOF_HOST_DEVICE constexpr int first_cta(int tile) const { return owner(tile * k_blocks); }
  HOTPROOF_HOST_DEVICE constexpr int last_cta(int tile) const {
    return owner((tile + 1) * k_blocks - 1);
  }
  HOTPROOF_HOST_DEVICE constexpr int segments(int tile) const {
    return last_cta(tile) - first_cta(tile) + 1;
  }

  // The segment of CTA c that starts at `unit` of its range.
  HOTPROOF_HOST_DEVICE constexpr Segment segment_at(int c, int unit) const {
    const int tile = unit / k_blocks;
    const int tile_end = (tile + 1) * k_blocks;
    const int end = begin(c + 1) < tile_end ? begin(c + 1) : tile_end;
    return {tile, unit - tile * k_blocks, end - tile * k_blocks};
  }

  // Number of CTAs per tile when every tile is cut at the same places by its own CTAs (1: no tile
  // is shared, or a CTA owns several whole tiles); 0 when ranges straddle tile boundaries.
  HOTPROOF_HOST_DEVICE constexpr int aligned_split() const {
    if (ctas % tiles == 0) return ctas / tiles;
    return tiles % ctas == 0 ? 1 : 0;
  }
};

// Partial sums of shared tiles go to the workspace. A CTA has at most two of them: the tile it
// enters in the middle (slot 0) and the tile it leaves unfinished after having started it (slot 1).
HOTPROOF_HOST_DEVICE constexpr int partial_slot(int cta, int segment_k_begin) {
  return 2 * cta + (segment_k_begin == 0 ? 1 : 0);
}

// The number of CTAs for a GEMM on a GPU with `sm_count` multiprocessors. Prefers counts at which
// every tile is cut at the same places: either whole tiles per CTA or an equal number of CTAs per
// tile, if that occupies most multiprocessors. Otherwise one CTA per multiprocessor and ranges that
// straddle tiles.
constexpr Decomposition decompose(int n, int k, int sm_count) {
  Decomposition d{ceil_div(n, kTileN), ceil_div(k, kBlockK), 1};
  const int most = sm_count;
  const int least = sm_count - sm_count / 6;  // 110 of 132
  for (int whole = 1; whole <= 64; ++whole) {
    const int ctas = d.tiles / whole;
    if (d.tiles % whole == 0 && ctas >= least && ctas <= most) {
      d.ctas = ctas;
      return d;
    }
  }
  for (int split = kMaxSplit; split >= 2; --split) {
    const int ctas = d.tiles * split;
    if (split <= d.k_blocks && ctas >= least && ctas <= most) {
      d.ctas = ctas;
      return d;
    }
  }
  d.ctas = sm_count < d.units() ? sm_count : d.units();
  return d;
}

}  // namespace hotproof::kernel

#endif  // HOTPROOF_KERNEL_DECOMPOSITION_H_
