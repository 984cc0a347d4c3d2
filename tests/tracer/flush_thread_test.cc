// The tracer's thread: what it calls, in which order, and what its end waits for.
#include "cupti_tracer/core/flush_thread.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "cupti_tracer/core/guard.h"
#include "cupti_tracer/core/trace_file.h"

namespace hotproof::tracer {
namespace {

uint64_t In(unsigned ms) { return MonotonicNs() + uint64_t{ms} * 1000000; }
constexpr unsigned kLong = 60000;

// As in the tracer the object is never destroyed: its thread may still be on its way out.
FlushThread& Make(unsigned period_ms, FlushThread::Work work) {
  static std::vector<std::unique_ptr<FlushThread>>& all =
      *new std::vector<std::unique_ptr<FlushThread>>;
  return *all.emplace_back(std::make_unique<FlushThread>(period_ms, std::move(work)));
}

TEST(FlushThread, BeginsFlushesAndFlushesALastTime) {
  auto calls = std::make_shared<std::string>();
  auto third = std::make_shared<std::promise<void>>();
  FlushThread& thread = Make(1, {.begin = [=] { *calls += "b"; },
                                 .flush =
                                     [=](bool last) {
                                       *calls += last ? "L" : "f";
                                       if (*calls == "bfff") third->set_value();
                                     }});
  ASSERT_TRUE(thread.Start());
  third->get_future().wait();
  EXPECT_EQ(thread.Stop(In(kLong)), FlushThread::LastFlush::kDone);
  EXPECT_EQ(calls->substr(0, 4), "bfff");
  EXPECT_EQ(calls->find('L'), calls->size() - 1) << *calls;
}

TEST(FlushThread, APeriodDoesNotDelayTheEnd) {
  auto calls = std::make_shared<std::string>();
  FlushThread& thread = Make(
      3600 * 1000,
      {.begin = [=] { *calls += "b"; }, .flush = [=](bool last) { *calls += last ? "L" : "f"; }});
  ASSERT_TRUE(thread.Start());
  EXPECT_EQ(thread.Stop(In(kLong)), FlushThread::LastFlush::kDone);
  EXPECT_EQ(*calls, "bL");
}

TEST(FlushThread, WithoutAThreadThereIsNothingToWaitFor) {
  FlushThread& thread = Make(1, {.begin = [] { FAIL(); }, .flush = [](bool) { FAIL(); }});
  EXPECT_EQ(thread.Stop(MonotonicNs()), FlushThread::LastFlush::kDone);
}

// The GPU is still working: the process ends without it.
TEST(FlushThread, AFlushThatDoesNotReturnIsNotWaitedForBeyondTheDeadline) {
  std::promise<void> may_return;
  const std::shared_future<void> returns = may_return.get_future().share();
  FlushThread& thread = Make(1, {.begin = [] {}, .flush = [returns](bool) { returns.wait(); }});
  ASSERT_TRUE(thread.Start());
  EXPECT_EQ(thread.Stop(In(20)), FlushThread::LastFlush::kNotInTime);
  may_return.set_value();
  EXPECT_EQ(thread.Stop(In(kLong)), FlushThread::LastFlush::kDone);
}

TEST(FlushThread, WhatIsThrownIsCountedAndTheThreadGoesOn) {
  const uint64_t before = LostWork().load();
  FlushThread& thread = Make(
      1, {.begin = [] { throw std::bad_alloc(); }, .flush = [](bool) { throw std::bad_alloc(); }});
  ASSERT_TRUE(thread.Start());
  EXPECT_EQ(thread.Stop(In(kLong)), FlushThread::LastFlush::kDone);
  EXPECT_GE(LostWork().load(), before + 2);
}

TEST(LockBy, AHeldLockIsTriedUntilTheDeadline) {
  std::mutex mutex;
  EXPECT_TRUE(LockBy(mutex, 0).owns_lock()) << "a free one is had at once";
  const std::lock_guard held(mutex);
  std::async(std::launch::async, [&] { EXPECT_FALSE(LockBy(mutex, In(5)).owns_lock()); }).wait();
}

}  // namespace
}  // namespace hotproof::tracer
