#include "cupti_tracer/core/launch_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace hotproof::tracer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<uint32_t> ListIds(LaunchTable& table) {
  std::vector<uint32_t> ids;
  table.ListNew([&](const LaunchTable::Launch& launch) { ids.push_back(launch.correlation_id); });
  return ids;
}

TEST(LaunchTableTest, FindsWhatWasPublished) {
  LaunchTable table;
  table.Publish(7, trace::Target::Graph(3), 2);
  const LaunchTable::Launch launch = table.Find(7);
  EXPECT_EQ(launch.target, trace::Target::Graph(3));
  EXPECT_EQ(launch.stream, 2u);
  EXPECT_FALSE(table.Find(8).target.is_known());
  EXPECT_FALSE(table.Find(7 + LaunchTable::kSlots).target.is_known());
}

TEST(LaunchTableTest, ListsEachLaunchOnceInOrder) {
  LaunchTable table;
  table.Publish(5, trace::Target::Site(1), 1);
  table.Publish(3, trace::Target::Site(1), 1);
  EXPECT_THAT(ListIds(table), ElementsAre(3, 5));
  EXPECT_THAT(ListIds(table), IsEmpty());
  table.Publish(6, trace::Target::Site(1), 1);
  EXPECT_THAT(ListIds(table), ElementsAre(6));
}

TEST(LaunchTableTest, ListsWhenTheCallWasMade) {
  LaunchTable table;
  table.Publish(5, trace::Target::Site(1), 1, 1000, 30);
  table.Publish(6, trace::Target::Site(1), 1);
  table.PublishSeveral(7, {{7, trace::Target::Site(2), 1, 1200, 40}});
  std::vector<std::pair<uint64_t, uint32_t>> times;
  table.ListNew([&](const LaunchTable::Launch& launch) {
    times.push_back({launch.enter_ns, launch.call_ns});
  });
  EXPECT_THAT(times, ElementsAre(std::pair(1000, 30), std::pair(0, 0), std::pair(1200, 40)));
}

TEST(LaunchTableTest, ListsALaunchWhoseCallReturnedLate) {
  LaunchTable table;
  table.Publish(10, trace::Target::Site(1), 1);
  EXPECT_THAT(ListIds(table), ElementsAre(10));
  table.Publish(4, trace::Target::Site(1), 1);
  EXPECT_THAT(ListIds(table), ElementsAre(4));
}

TEST(LaunchTableTest, OneCallMayLaunchOnSeveralStreams) {
  LaunchTable table;
  table.Publish(4, trace::Target::Site(1), 1);
  table.PublishSeveral(5, {{5, trace::Target::Site(2), 1}, {5, trace::Target::Site(3), 2}});
  EXPECT_EQ(table.Find(5, 1).target, trace::Target::Site(2));
  EXPECT_EQ(table.Find(5, 2).target, trace::Target::Site(3));
  EXPECT_FALSE(table.Find(5, 3).target.is_known());
  EXPECT_THAT(ListIds(table), ElementsAre(4, 5, 5));
  EXPECT_THAT(ListIds(table), IsEmpty());
}

TEST(LaunchTableTest, FirstIdMayBeLarge) {
  LaunchTable table;
  table.Publish(5'000'000, trace::Target::Site(1), 1);
  EXPECT_THAT(ListIds(table), ElementsAre(5'000'000));
  EXPECT_EQ(table.dropped_possible(), 0u);
}

TEST(LaunchTableTest, SurvivesTheWrapOfIds) {
  LaunchTable table;
  table.Publish(0xfffffffe, trace::Target::Site(1), 1);
  EXPECT_THAT(ListIds(table), ElementsAre(0xfffffffe));
  table.Publish(0xffffffff, trace::Target::Site(1), 1);
  table.Publish(1, trace::Target::Site(2), 1);
  EXPECT_THAT(ListIds(table), ElementsAre(0xffffffff, 1));
}

TEST(LaunchTableTest, SaysWhenIdsWentByUnlisted) {
  LaunchTable table;
  table.Publish(1, trace::Target::Site(1), 1);
  ListIds(table);
  table.Publish(LaunchTable::kSlots + 100, trace::Target::Site(1), 1);
  EXPECT_THAT(ListIds(table), ElementsAre(LaunchTable::kSlots + 100));
  EXPECT_GT(table.dropped_possible(), 0u);
}

TEST(LaunchTableTest, ListsEachLaunchOnceWhileThreadsPublish) {
  constexpr uint32_t kThreads = 4, kEach = 50'000;
  LaunchTable table;
  std::atomic<uint32_t> next{1};
  std::atomic<uint32_t> running{kThreads};
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (uint32_t i = 0; i < kEach; ++i) {
        table.Publish(next.fetch_add(1), trace::Target::Site(1), 1);
      }
      --running;
    });
  }
  std::vector<uint32_t> seen(kThreads * kEach + 1);
  const auto list = [&] {
    table.ListNew([&](const LaunchTable::Launch& launch) { ++seen[launch.correlation_id]; });
  };
  while (running > 0) list();
  for (std::thread& thread : threads) thread.join();
  list();
  for (uint32_t id = 1; id < seen.size(); ++id) ASSERT_EQ(seen[id], 1u) << "id " << id;
}

// Two threads whose calls return out of order, against a lister that never rests: an id that is published
// just as the lister passes it is listed by one of the two.
TEST(LaunchTableTest, ListsEachLaunchOnceWhenCallsReturnLate) {
  constexpr uint32_t kIds = 1'000'000;
  LaunchTable table;
  std::atomic<uint32_t> running{2};
  std::atomic<uint32_t> ahead{0};
  std::vector<uint32_t> seen(kIds + 1);
  std::thread early([&] {
    for (uint32_t id = 2; id <= kIds; id += 2) {
      table.Publish(id, trace::Target::Site(1), 1);
      ahead.store(id, std::memory_order_release);
    }
    --running;
  });
  std::thread late([&] {
    for (uint32_t id = 1; id <= kIds; id += 2) {
      while (ahead.load(std::memory_order_acquire) <= id) {
      }
      table.Publish(id, trace::Target::Site(1), 1);
    }
    --running;
  });
  const auto list = [&] {
    table.ListNew([&](const LaunchTable::Launch& launch) { ++seen[launch.correlation_id]; });
  };
  while (running > 0) list();
  early.join();
  late.join();
  list();
  for (uint32_t id = 1; id < seen.size(); ++id) ASSERT_EQ(seen[id], 1u) << "id " << id;
}

TEST(CorrelationExtenderTest, GoesOnAfterTheWrapAndBackBeforeIt) {
  CorrelationExtender extender;
  uint64_t last = 0;
  for (uint64_t id = 1; id < (1ull << 33); id += 1u << 30) {
    last = extender.Extend(static_cast<uint32_t>(id));
    EXPECT_EQ(last, id);
  }
  EXPECT_EQ(extender.Extend(static_cast<uint32_t>(last - 5)), last - 5);
}

}  // namespace
}  // namespace hotproof::tracer
