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
const int kMs[] = {1, 8, 16, 17, 32, 33, 64, 65, 128};

struct Named {
  int m, n, k, sms;
  Decomposition d;
};

std::vector<Named> all() {
  std::vector<Named> out;
  for (const auto& nk : kNk) {
    for (int sms : {1, 16, 114, 132, 144}) {
      for (int m : kMs) {
        out.push_back({m, nk[0], nk[1], sms, decompose(m, nk[0], nk[1], sms)});
      }
    }
    for (int groups : {1, 3, 8, 11, 16}) {
      for (bool shared : {false, true}) {
        Decomposition d = decompose(8, nk[0], nk[1], 132);
        set_tiles(&d, groups, shared, 132);
        out.push_back({8, nk[0], nk[1], 132, d});
      }
    }
  }
  return out;
}

std::string text(const Named& c) {
  return "M " + std::to_string(c.m) + ", N " + std::to_string(c.n) + ", K " + std::to_string(c.k) +
         ", " + std::to_string(c.sms) + " multiprocessors, tiles of " +
         std::to_string(c.d.tile_groups) + " groups";
}

TEST(Decomposition, EveryKBlockOfEveryGroupExactlyOnce) {
  for (const Named& c : all()) {
    SCOPED_TRACE(text(c));
    const Decomposition& d = c.d;
    ASSERT_EQ(d.groups, ceil_div(c.n, 8));
    ASSERT_GE(d.tiles * d.tile_groups, d.groups);
    ASSERT_LT((d.tiles - 1) * d.tile_groups, d.groups) << "an empty tile";
    std::vector<int> seen(d.tiles, 0);
    std::vector<int> next_k(d.tiles, 0);
    for (int part = 0; part < d.parts(); ++part) {
      for (int c = 0; c < d.columns(); ++c) {
        ASSERT_LT(d.first_tile(c), d.end_tile(c)) << "a CTA without work";
        ASSERT_LE(d.end_tile(c), d.tiles);
        const int k_begin = d.cut(d.first_segment(part)), k_end = d.cut(d.end_segment(part));
        for (int tile = d.first_tile(c); tile < d.end_tile(c); ++tile) {
          ASSERT_EQ(k_begin, next_k[tile]) << "CTAs of a tile come in K order, without gap";
          next_k[tile] = k_end;
          seen[tile] += k_end - k_begin;
        }
      }
    }
    for (int tile = 0; tile < d.tiles; ++tile) ASSERT_EQ(seen[tile], d.k_blocks);
  }
}

TEST(Decomposition, SegmentsAreNearEqualAndBeginWhereStagesMay) {
  for (const Named& c : all()) {
    SCOPED_TRACE(text(c));
    const Decomposition& d = c.d;
    ASSERT_EQ(d.cut(0), 0);
    ASSERT_EQ(d.cut(d.segments), d.k_blocks);
    int shortest = d.k_blocks, longest = 0;
    for (int s = 0; s < d.segments; ++s) {
      EXPECT_EQ(d.cut(s) % kCutBlocks, 0);
      shortest = std::min(shortest, d.cut(s + 1) - d.cut(s));
      longest = std::max(longest, d.cut(s + 1) - d.cut(s));
    }
    EXPECT_GE(shortest, 1);
    EXPECT_LE(longest - shortest, 2 * kCutBlocks - 1);
    int longest_range = 0;
    for (int part = 0; part < d.parts(); ++part) {
      longest_range =
          std::max(longest_range, d.cut(d.end_segment(part)) - d.cut(d.first_segment(part)));
    }
    EXPECT_EQ(d.longest_k(), longest_range);
  }
}

// What makes results independent of M: where K is cut, hence in which order it is summed.
TEST(Decomposition, CutsDoNotDependOnM) {
  for (const auto& nk : kNk) {
    for (int sms : {1, 16, 114, 132, 144}) {
      const Decomposition one = decompose(1, nk[0], nk[1], sms);
      for (int m : kMs) {
        const Decomposition d = decompose(m, nk[0], nk[1], sms);
        ASSERT_EQ(d.segments, one.segments);
        for (int s = 0; s <= d.segments; ++s) EXPECT_EQ(d.cut(s), one.cut(s));
      }
    }
  }
}

TEST(Decomposition, TilesFitTheConsumers) {
  for (const Named& c : all()) {
    SCOPED_TRACE(text(c));
    if (c.d.many) {
      const bool cut = c.d.token_tiles > 1;
      const int most = c.d.shared         ? kFullTileGroups
                       : cut              ? kTokenTileGroups
                       : c.d.segments > 1 ? kWgmmaGroups
                                          : kManyTileGroups;
      if (cut) {
        EXPECT_EQ(c.d.token_tiles, 2);
        EXPECT_GT(c.m, kTokenTile) << "the second tile has tokens";
        EXPECT_LE(c.m, 2 * kTokenTile) << "every token has a CTA";
        EXPECT_GT(c.d.segments, 1);
        EXPECT_EQ(c.d.parts(), 1);
      }
      EXPECT_LE(c.d.tile_groups, most);
      EXPECT_FALSE(c.d.tile_groups > 13 && c.d.tile_groups < 16) << "two rows of B's scales";
      const bool may_share = c.m <= kMostSharedTokens || c.d.k_blocks >= kLongBlocks;
      EXPECT_EQ(c.d.shared, c.d.segments > 1 && may_share);
      if (c.d.shared && c.d.tiles > 1) {
        EXPECT_EQ(c.d.tile_groups, kFullTileGroups) << "one row of B's scales";
      }
      continue;
    }
    EXPECT_EQ(c.d.token_tiles, 1);
    const int first = groups_of_warpgroup(c.d.tile_groups, 0);
    const int second = groups_of_warpgroup(c.d.tile_groups, 1);
    EXPECT_EQ(first + second, c.d.tile_groups);
    EXPECT_LE(first, kWgmmaGroups);
    EXPECT_LE(second, first);
    EXPECT_GE(second, 0);
  }
}

TEST(Decomposition, ScaleRowsCoverACtasTiles) {
  for (const Named& c : all()) {
    SCOPED_TRACE(text(c));
    const Decomposition& d = c.d;
    for (int c = 0; c < d.columns(); ++c) {
      const int first = d.first_tile(c) * d.tile_groups / 16;
      const int last_group = std::min(d.end_tile(c) * d.tile_groups, d.groups) - 1;
      EXPECT_LE(last_group / 16 - first + 1, d.scale_rows());
    }
  }
}

// With few tokens no CTA has more than a group's worth of rows more than an even share, plus what
// tiles of equal size cost.
TEST(Decomposition, FewTokensAreSpreadEvenly) {
  for (const Named& c : all()) {
    const Decomposition d = decompose(c.m, c.n, c.k, c.sms);
    if (c.m > kMostFewTokens || d.shared) continue;
    EXPECT_LE(d.ctas(), c.sms);
    const int even = ceil_div(d.groups, c.sms);
    EXPECT_LE(d.tiles_per_cta * d.tile_groups, even + even / 8 + 1) << text(c);
  }
}

TEST(Decomposition, TheWorkloadOn132Multiprocessors) {
  struct Want {
    int m, n, k, rows, ctas, segments;
    bool shared;
  };
  for (const Want& w : {Want{8, 34816, 5120, 88, 132, 1, false},
                        {8, 5120, 17408, 128, 120, 6, true},
                        {8, 5120, 6144, 128, 120, 6, true},
                        {8, 16384, 5120, 128, 128, 1, false},
                        {8, 14336, 5120, 112, 128, 1, false},
                        {64, 34816, 5120, 264, 132, 1, false},
                        {64, 5120, 17408, 128, 120, 6, true},
                        {64, 5120, 6144, 128, 120, 6, true},
                        {64, 16384, 5120, 128, 128, 1, false},
                        {64, 14336, 5120, 128, 112, 1, false},
                        {128, 34816, 5120, 264, 132, 1, false},
                        {128, 5120, 17408, 128, 120, 6, true},
                        {65, 5120, 6144, 80, 128, 6, false},
                        {128, 5120, 6144, 80, 128, 6, false},
                        {128, 16384, 5120, 128, 128, 1, false},
                        {128, 14336, 5120, 128, 112, 1, false}}) {
    const Decomposition d = decompose(w.m, w.n, w.k, 132);
    SCOPED_TRACE(std::to_string(w.m) + " " + std::to_string(w.n) + " " + std::to_string(w.k));
    EXPECT_EQ(d.tile_groups * kGroup, w.rows);
    EXPECT_EQ(d.ctas(), w.ctas);
    EXPECT_EQ(d.segments, w.segments);
    EXPECT_EQ(d.shared, w.shared);
  }
}

static_assert(decompose(8, 5120, 6144, 132).cut(3) == 24);  // all of it can run at compile time

}  // namespace
}  // namespace hotproof::kernel
