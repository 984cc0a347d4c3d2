#include "analyzers/exclusive_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace hotproof::analyzers {
namespace {

constexpr uint64_t kNothingLater = UINT64_MAX;

TEST(ExclusiveTime, KernelsInSequenceKeepTheirTime) {
  ExclusiveTime time;
  EXPECT_EQ(time.Add(0, 100, 200, kNothingLater), 100u);
  EXPECT_EQ(time.Add(0, 200, 250, kNothingLater), 50u);
  EXPECT_EQ(time.Add(0, 300, 310, kNothingLater), 10u);
  EXPECT_EQ(time.busy_ns(0), 160u);
}

TEST(ExclusiveTime, OverlapBelongsToTheKernelThatStartedFirst) {
  ExclusiveTime time;
  EXPECT_EQ(time.Add(0, 100, 200, kNothingLater), 100u);
  EXPECT_EQ(time.Add(0, 150, 260, kNothingLater), 60u);  // waited until 200
  EXPECT_EQ(time.Add(0, 160, 180, kNothingLater), 0u);   // wholly inside
  EXPECT_EQ(time.busy_ns(0), 160u);
}

TEST(ExclusiveTime, DevicesDoNotShareTime) {
  ExclusiveTime time;
  EXPECT_EQ(time.Add(0, 100, 200, kNothingLater), 100u);
  EXPECT_EQ(time.Add(1, 100, 200, kNothingLater), 100u);
  EXPECT_EQ(time.total_busy_ns(), 200u);
}

TEST(ExclusiveTime, ALateRecordFillsOnlyWhatWasIdle) {
  ExclusiveTime time;
  time.Add(0, 100, 200, 150);
  time.Add(0, 300, 400, 150);
  // A later chunk brings a kernel that ran from 150 to 350.
  EXPECT_EQ(time.Add(0, 150, 350, kNothingLater), 100u);
  EXPECT_EQ(time.Add(0, 150, 350, kNothingLater), 0u);
  EXPECT_EQ(time.busy_ns(0), 300u);
}

// The parts add up to the union of the intervals, whatever the order in which chunks bring them.
TEST(ExclusiveTime, PartsAddUpToTheUnion) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::pair<uint64_t, uint64_t>> kernels;
    for (int i = 0; i < 60; ++i) {
      const uint64_t start = 1 + random() % 1000;
      kernels.emplace_back(start, start + random() % 50);
    }
    // Chunks of ten, each sorted.
    for (size_t first = 0; first < kernels.size(); first += 10) {
      std::sort(kernels.begin() + first, kernels.begin() + first + 10);
    }
    ExclusiveTime time;
    uint64_t sum = 0;
    for (size_t i = 0; i < kernels.size(); ++i) {
      uint64_t earliest = kNothingLater;
      for (size_t later = i / 10 * 10 + 10; later < kernels.size(); ++later) {
        earliest = std::min(earliest, kernels[later].first);
      }
      sum += time.Add(0, kernels[i].first, kernels[i].second, earliest);
    }
    std::vector<bool> busy(1100);
    for (const auto& [start, end] : kernels)
      std::fill(busy.begin() + start, busy.begin() + end, true);
    const auto expected = static_cast<uint64_t>(std::count(busy.begin(), busy.end(), true));
    ASSERT_EQ(sum, expected) << "round " << round;
    ASSERT_EQ(time.busy_ns(0), expected);
  }
}

}  // namespace
}  // namespace hotproof::analyzers
