// Which CTA computes which part of the GEMM. Pure arithmetic: the kernel, the launcher and the CPU
// tests all include this file.
//
// N is cut into groups of 8 weight rows, K into blocks of 128. A tile is some neighbouring groups,
// all of K. K is cut into `segments` parts, whose sums are added two by two and the pairs in K
// order: (s0 + s1) + (s2 + s3) + ... Where K is cut depends on N, K and the GPU, never on M: that
// makes results batch-invariant. Who computes a segment may depend on M, it changes no bit:
//   no segments  as few tiles of at most 128 rows (264 with many tokens) a CTA as share N evenly
//   to 64 tokens where K has segments, tiles of 128 rows, so that few CTAs fetch the same tokens.
//                Each pair of a tile's segments is a CTA's, the last one adds ('shared')
//   more tokens  where K is short and exchanging sums would cost more, small tiles: a CTA computes
//                all segments of one for half of the tokens
// More than 32 tokens are for another kernel ('many').
#ifndef HOTPROOF_KERNEL_DECOMPOSITION_H_
#define HOTPROOF_KERNEL_DECOMPOSITION_H_

#include <cstdint>

#ifdef __CUDACC__
#define HOTPROOF_HOST_DEVICE __host__ __device__
#else
#define HOTPROOF_HOST_DEVICE
#endif

namespace hotproof::kernel {

inline constexpr int kGroup = 8;        // weight rows: what N is cut into
inline constexpr int kScaleRows = 128;  // weight rows that share a scale
inline constexpr int kBlockK = 128;     // K elements that share a scale
inline constexpr int kCutBlocks = 2;    // K is cut at multiples of this many blocks
inline constexpr int kMaxSegments = 6;
inline constexpr int kMinSegmentBlocks = 2;
inline constexpr int kFullTileGroups = 16;    // 128 rows: two consumer warpgroups x one wgmma;
inline constexpr int kMostFewTokens = 32;     // more are for the kernel of many_tokens.cuh,
inline constexpr int kManyTileGroups = 34;    // whose tiles have up to 272 rows;
inline constexpr int kNearlyFullGroups = 14;  // of 112 and more it makes 128
inline constexpr int kMostSharedTokens = 64;  // where K has less than kLongBlocks
inline constexpr int kLongBlocks = 64;
inline constexpr int kTokenTile = 64;        // when tokens are cut in two, a CTA's,
inline constexpr int kTokenTileGroups = 10;  // and its rows: up to 80
inline constexpr int kWgmmaGroups = 8;       // 64 rows

HOTPROOF_HOST_DEVICE constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }
HOTPROOF_HOST_DEVICE constexpr int smaller(int a, int b) { return a < b ? a : b; }

struct Decomposition {
  int groups;         // ceil(N / 8)
  int k_blocks;       // ceil(K / 128)
  int segments;       // parts of K: 1, or even and at most kMaxSegments
  int tile_groups;    // groups in a tile; the last tile may have fewer
  int tiles;          // ceil(groups / tile_groups)
  int tiles_per_cta;  // 1 when shared
  bool shared;        // a CTA computes a pair of segments of one tile, else all of its tiles
  bool many;          // for the kernel of many_tokens.cuh
  int token_tiles;    // 1, or 2: a CTA has kTokenTile of the tokens

  // Segment s is K blocks [cut(s), cut(s + 1)).
  HOTPROOF_HOST_DEVICE constexpr int cut(int s) const {
    return s >= segments ? k_blocks : s * ceil_div(k_blocks, kCutBlocks) / segments * kCutBlocks;
  }
  // The grid is columns x parts x token_tiles. CTA (c, part, t) computes tiles [first_tile(c),
  // end_tile(c)), of each segments [first_segment(part), end_segment(part)), for tokens from
  // t * kTokenTile on.
  HOTPROOF_HOST_DEVICE constexpr int columns() const {
    return shared ? tiles : ceil_div(tiles, tiles_per_cta);
  }
  HOTPROOF_HOST_DEVICE constexpr int parts() const { return shared ? segments / 2 : 1; }
  HOTPROOF_HOST_DEVICE constexpr int ctas() const { return columns() * parts() * token_tiles; }
  HOTPROOF_HOST_DEVICE constexpr int first_tile(int c) const { return c * tiles_per_cta; }
  HOTPROOF_HOST_DEVICE constexpr int end_tile(int c) const {
    return smaller((c + 1) * tiles_per_cta, tiles);
  }
  HOTPROOF_HOST_DEVICE constexpr int first_segment(int part) const { return 2 * part; }
  HOTPROOF_HOST_DEVICE constexpr int end_segment(int part) const {
    return shared ? 2 * part + 2 : segments;
  }

  // The longest range of K blocks of a CTA.
  HOTPROOF_HOST_DEVICE constexpr int longest_k() const {
    int longest = 0;
    for (int part = 0; part < parts(); ++part) {
      const int length = cut(end_segment(part)) - cut(first_segment(part));
      if (length > longest) longest = length;
    }
    return longest;
  }
  // Whether stages of `blocks` K blocks begin at every cut.
  HOTPROOF_HOST_DEVICE constexpr bool cuts_fit(int blocks) const {
    for (int s = 0; s < segments; ++s) {
      if (cut(s) % blocks != 0) return false;
    }
    return true;
  }
  // Most rows of B's scales (blocks of 128 weight rows) that a CTA touches.
  HOTPROOF_HOST_DEVICE constexpr int scale_rows() const {
    return smaller(ceil_div(tiles_per_cta * tile_groups * kGroup + kScaleRows - kGroup, kScaleRows),
                   ceil_div(groups * kGroup, kScaleRows));
  }
};

// How a tile's groups are divided among the two consumer warpgroups.
HOTPROOF_HOST_DEVICE constexpr int groups_of_warpgroup(int tile_groups, int warpgroup) {
  const int first = tile_groups <= kWgmmaGroups ? tile_groups : ceil_div(tile_groups, 2);
  return warpgroup == 0 ? first : tile_groups - first;
}

// Consumer warps that read a stage.
constexpr int consumer_warps(const Decomposition& work) {
  const bool one = work.many ? work.token_tiles > 1 : groups_of_warpgroup(work.tile_groups, 1) == 0;
  return one ? 4 : 8;
}

// Twice as many parts of K as CTAs can work on each 128 rows at a time. No M here.
constexpr int segments_for(int groups, int k_blocks, int sm_count) {
  int share = smaller(sm_count / ceil_div(groups, kFullTileGroups), kMaxSegments / 2);
  while (share >= 2 && k_blocks / (2 * share) < kMinSegmentBlocks) --share;
  return share >= 2 ? 2 * share : 1;
}

// As few tiles of at most `most` groups a CTA as share the groups evenly: how many groups one has.
constexpr int even_tile_groups(int groups, int most, int sm_count) {
  const int even = ceil_div(groups, sm_count);
  return ceil_div(even, ceil_div(even, most));
}

// Sets the tiles: `tile_groups` groups each, the CTAs' share as even as can be.
constexpr void set_tiles(Decomposition* d, int tile_groups, bool shared, int sm_count) {
  d->tile_groups = tile_groups;
  d->tiles = ceil_div(d->groups, tile_groups);
  d->shared = shared && d->segments > 1;
  d->tiles_per_cta = d->shared ? 1 : ceil_div(d->tiles, sm_count);
}

// Tiles for CTAs that take half of the tokens each, where those are small.
constexpr bool cut_tokens(Decomposition* d, int m, int sm_count) {
  const int tile_groups = sm_count < 2 ? d->groups : ceil_div(d->groups, sm_count / 2);
  if (m <= kTokenTile || d->segments == 1 || tile_groups > kTokenTileGroups) return false;
  set_tiles(d, tile_groups, false, sm_count);
  d->token_tiles = 2;
  return true;
}

constexpr Decomposition decompose(int m, int n, int k, int sm_count) {
  Decomposition d{ceil_div(n, kGroup), ceil_div(k, kBlockK), 1, 1, 1, 1, false, false, 1};
  d.segments = segments_for(d.groups, d.k_blocks, sm_count);
  d.many = m > kMostFewTokens;
  const bool cheap_to_share = m <= kMostSharedTokens || d.k_blocks >= kLongBlocks;
  if (d.segments > 1 && cheap_to_share) {
    set_tiles(&d, smaller(kFullTileGroups, d.groups), true, sm_count);
  } else if (!cut_tokens(&d, m, sm_count)) {
    const int groups =
        even_tile_groups(d.groups, d.many ? kManyTileGroups : kFullTileGroups, sm_count);
    const bool nearly_full = groups >= kNearlyFullGroups && groups < kFullTileGroups;
    set_tiles(&d, d.many && nearly_full ? kFullTileGroups : groups, false, sm_count);
  }
  return d;
}

}  // namespace hotproof::kernel

#endif  // HOTPROOF_KERNEL_DECOMPOSITION_H_
