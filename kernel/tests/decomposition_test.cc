#include "kernel/decomposition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace hotproof::kernel {
namespace {

// The workload's five shapes, small ones, and ones that divide badly.
const int kNk[][2] = {{34816, 5120}, {5120, 17408}, {5120, 6144},  {16384, 5120}, {14336, 5120},
                      {128, 128},    {8, 16},       {136, 144},    {1000, 1040},  {384, 100000},
                      {100000, 384}, {4304, 1152},  {131072, 8192}};

std::vector<Decomposition> all() {
  std::vector<Decomposition> out;
  for (const auto& nk : kNk) {
    for (int sms : {1, 16, 114, 132, 144}) out.push_back(decompose(nk[0], nk[1], sms));
    Decomposition d = decompose(nk[0], nk[1], 132);
    for (int ctas : {1, 2, 3, 131, 132, 133, 264}) {
      d.ctas = std::min(ctas, d.units());
      out.push_back(d);
    }
  }
  return out;
}

TEST(Decomposition, EveryKBlockOfEveryTileExactlyOnce) {
  for (const Decomposition& d : all()) {
    std::vector<int> seen(d.units(), 0);
    for (int c = 0; c < d.ctas; ++c) {
      for (int unit = d.begin(c); unit < d.begin(c + 1);) {
        const Segment s = d.segment_at(c, unit);
        ASSERT_LT(s.k_begin, s.k_end);
        ASSERT_LE(s.k_end, d.k_blocks);
        for (int kb = s.k_begin; kb < s.k_end; ++kb) ++seen[s.tile * d.k_blocks + kb];
        unit += s.k_end - s.k_begin;
      }
    }
    EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](int n) { return n == 1; }))
        << d.tiles << " tiles, " << d.k_blocks << " K blocks, " << d.ctas << " CTAs";
  }
}

TEST(Decomposition, RangesAreNearEqualAndNotEmpty) {
  for (const Decomposition& d : all()) {
    int shortest = d.units(), longest = 0;
    for (int c = 0; c < d.ctas; ++c) {
      const int length = d.begin(c + 1) - d.begin(c);
      shortest = std::min(shortest, length);
      longest = std::max(longest, length);
    }
    EXPECT_GE(shortest, 1);
    EXPECT_LE(longest - shortest, 1);
    EXPECT_EQ(d.begin(0), 0);
    EXPECT_EQ(d.begin(d.ctas), d.units());
  }
}

TEST(Decomposition, OwnerIsTheCtaWhoseRangeHoldsTheUnit) {
  for (const Decomposition& d : all()) {
    for (int c = 0; c < d.ctas; ++c) {
      EXPECT_EQ(d.owner(d.begin(c)), c);
      EXPECT_EQ(d.owner(d.begin(c + 1) - 1), c);
    }
  }
}

// The order in which a tile's parts are added: segments by CTA number are segments by K, without
// gap.
TEST(Decomposition, SegmentsOfATileAreConsecutiveInK) {
  for (const Decomposition& d : all()) {
    for (int tile = 0; tile < d.tiles; ++tile) {
      int next = 0;
      for (int c = d.first_cta(tile); c <= d.last_cta(tile); ++c) {
        const Segment s = d.segment_at(c, std::max(d.begin(c), tile * d.k_blocks));
        EXPECT_EQ(s.tile, tile);
        EXPECT_EQ(s.k_begin, next);
        next = s.k_end;
      }
      EXPECT_EQ(next, d.k_blocks);
    }
  }
}

// What the kernel assumes when it looks for another CTA's partial sum: the first segment of a
// shared tile lies in slot 1 of its CTA, all others in slot 0; no slot is used twice.
TEST(Decomposition, PartialSlotsAreDistinct) {
  for (const Decomposition& d : all()) {
    std::vector<int> used(2 * d.ctas, 0);
    for (int tile = 0; tile < d.tiles; ++tile) {
      if (d.segments(tile) == 1) continue;
      for (int c = d.first_cta(tile); c <= d.last_cta(tile); ++c) {
        const Segment s = d.segment_at(c, std::max(d.begin(c), tile * d.k_blocks));
        const int slot = partial_slot(c, s.k_begin);
        EXPECT_EQ(slot, partial_slot(c, c == d.first_cta(tile) ? 0 : 1));
        ++used[slot];
      }
    }
    EXPECT_LE(*std::max_element(used.begin(), used.end()), 1);
  }
}

TEST(Decomposition, AlignedSplitsCutEveryTileAtTheSamePlaces) {
  for (const Decomposition& d : all()) {
    const int split = d.aligned_split();
    if (split == 0) continue;
    for (int tile = 0; tile < d.tiles; ++tile) {
      EXPECT_EQ(d.segments(tile), split);
      for (int c = d.first_cta(tile), r = 0; c <= d.last_cta(tile); ++c, ++r) {
        const Segment here = d.segment_at(c, std::max(d.begin(c), tile * d.k_blocks));
        const Segment there = d.segment_at(d.first_cta(0) + r, std::max(d.begin(r), 0));
        EXPECT_EQ(here.k_begin, there.k_begin);
      }
    }
  }
}

TEST(Decomposition, TheWorkloadOn132Multiprocessors) {
  const auto ctas_and_split = [](int n, int k) {
    const Decomposition d = decompose(n, k, 132);
    return std::pair<int, int>(d.ctas, d.aligned_split());
  };
  EXPECT_EQ(ctas_and_split(34816, 5120), std::pair(132, 0));
  EXPECT_EQ(ctas_and_split(5120, 17408), std::pair(120, 3));
  EXPECT_EQ(ctas_and_split(5120, 6144), std::pair(120, 3));
  EXPECT_EQ(ctas_and_split(16384, 5120), std::pair(128, 1));
  EXPECT_EQ(ctas_and_split(14336, 5120), std::pair(112, 1));
}

// decompose() takes no M: that alone makes the cuts independent of it. What is left to check at
// compile time is that it can run there.
static_assert(decompose(5120, 6144, 132).begin(120) == 40 * 48);

}  // namespace
}  // namespace hotproof::kernel
