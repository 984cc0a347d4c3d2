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

TEST(DurationsTest, NoDurationHasNoQuantile) {
  Durations durations;
  SiteDurations(2).AddTo(1, durations);
  EXPECT_EQ(durations.count(), 0u);
  EXPECT_EQ(durations.QuantileNs(0.5), 0u);
}

}  // namespace
}  // namespace hotproof::analyzers
