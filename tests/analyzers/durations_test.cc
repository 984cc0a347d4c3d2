// Quantiles of durations against sorted lists.
#include "analyzers/durations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace hotproof::analyzers {
namespace {

uint64_t QuantileOf(std::vector<uint64_t> values, double q) {
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<size_t>(std::ceil(q * static_cast<double>(values.size())));
  return values[std::max<size_t>(rank, 1) - 1];
}

TEST(DurationsTest, EveryBucketHoldsItsMiddleAndFollowsTheOneBefore) {
  for (const uint64_t value : {1ull, 2ull, 31ull, 32ull, 63ull, 64ull, 127ull, 128ull, 129ull,
                               4095ull, 4096ull, 1ull << 40, (1ull << 41) - 1, 1ull << 61}) {
    const DurationBucket bucket = DurationBucket::Of(value);
    ASSERT_LT(bucket.block, DurationBucket::kBlocks) << value;
    const DurationBucket middle = DurationBucket::Of(bucket.middle_ns());
    EXPECT_EQ(middle.block, bucket.block) << value;
    EXPECT_EQ(middle.in_block, bucket.in_block) << value;
    if (value < 128) {
      EXPECT_EQ(bucket.middle_ns(), value);
    }
  }
  EXPECT_EQ(DurationBucket::Of(0).middle_ns(), 1u);
  for (uint64_t value = uint64_t{1} << 55; value != 0; value += uint64_t{1} << 55) {
    EXPECT_LT(DurationBucket::Of(value).block, DurationBucket::kBlocks) << value;
    EXPECT_GE(DurationBucket::Of(value).block, 55u) << value;
  }
  EXPECT_LT(DurationBucket::Of(~uint64_t{0}).block, DurationBucket::kBlocks);
  uint64_t before = DurationBucket::Of(127).block * 64 + DurationBucket::Of(127).in_block;
  for (uint64_t value = 128; value < 100'000; ++value) {
    const DurationBucket bucket = DurationBucket::Of(value);
    const uint64_t index = bucket.block * uint64_t{DurationBucket::kPerBlock} + bucket.in_block;
    EXPECT_TRUE(index == before || index == before + 1) << value;
    before = index;
  }
}

TEST(DurationsTest, QuantilesAreWithinTheStatedError) {
  std::mt19937_64 random(7);
  for (const double spread : {0.01, 0.3, 3.0}) {
    SiteDurations sites(3), others(3);
    std::vector<uint64_t> values;
    std::lognormal_distribution<double> duration(9, spread);
    for (int i = 0; i < 20'000; ++i) {
      values.push_back(1 + static_cast<uint64_t>(duration(random)));
      (i % 3 == 0 ? sites : others).Add(1, values.back());
      sites.Add(2, 5);
    }
    sites.Merge(others);
    Durations durations;
    sites.AddTo(1, durations);
    EXPECT_EQ(durations.count(), values.size());
    for (const double q : {0.0001, 0.1, 0.5, 0.9, 0.99, 1.0}) {
      const auto exact = static_cast<double>(QuantileOf(values, q));
      EXPECT_NEAR(static_cast<double>(durations.QuantileNs(q)), exact, exact / 128) << q;
    }
  }
}

TEST(DurationsTest, ManyAtOnceGoWhereEachGoes) {
  std::mt19937_64 random(8);
  const uint64_t edges[] = {0, 1, 63, 64, 127, 128, (1 << 24) - 1, 1 << 24, (1 << 24) + 1, ~uint64_t{0}};
  for (int round = 0; round < 300; ++round) {
    SiteDurations one_by_one(4), at_once(4);
    const uint32_t count = 1 + random() % SiteDurations::kMostAtOnce;
    std::vector<uint32_t> sites;
    std::vector<uint64_t> values;
    for (uint32_t i = 0; i < count; ++i) {
      sites.push_back(random() % 4);
      values.push_back(random() >> (64 - 1 - random() % (round % 2 == 0 ? 24 : 40)));
      if (random() % 50 == 0) values.back() = edges[random() % std::size(edges)];
      one_by_one.Add(sites.back(), values.back());
    }
    at_once.Add(sites.data(), values.data(), count);
    for (uint32_t site = 0; site < 4; ++site) {
      Durations want, got;
      one_by_one.AddTo(site, want);
      at_once.AddTo(site, got);
      ASSERT_EQ(got.count(), want.count());
      for (uint64_t rank = 1; rank <= want.count(); ++rank) {
        const double q = (static_cast<double>(rank) - 0.5) / static_cast<double>(want.count());
        ASSERT_EQ(got.QuantileNs(q), want.QuantileNs(q)) << site << " rank " << rank;
      }
    }
  }
}

TEST(DurationsTest, NoDurationHasNoQuantile) {
  Durations durations;
  SiteDurations(2).AddTo(1, durations);
  EXPECT_EQ(durations.count(), 0u);
  EXPECT_EQ(durations.QuantileNs(0.5), 0u);
}

}  // namespace
}  // namespace hotproof::analyzers
