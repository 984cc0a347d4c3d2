#include "cupti_tracer/core/buffers.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace hotproof::tracer {
namespace {

TEST(BufferPoolTest, GivesAlignedBuffersAndReusesThem) {
  BufferPool pool;
  const BufferPool::Buffer first = pool.Request();
  ASSERT_NE(first.data, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first.data) % 8, 0u);
  EXPECT_GE(first.size, BufferPool::kMinBytes);
  EXPECT_FALSE(BufferPool::IsDiscard(first.data));
  pool.Release(first.data);
  EXPECT_EQ(pool.Request().data, first.data);
}

TEST(BufferPoolTest, DryPoolGivesDiscardBuffersNeverNull) {
  BufferPool pool;
  std::vector<uint8_t*> held;
  for (size_t i = 0; i < BufferPool::kMaxBuffers; ++i) {
    held.push_back(pool.Request().data);
    EXPECT_FALSE(BufferPool::IsDiscard(held.back()));
  }
  const BufferPool::Buffer discard = pool.Request();
  ASSERT_NE(discard.data, nullptr);
  EXPECT_TRUE(BufferPool::IsDiscard(discard.data));
  EXPECT_EQ(discard.size, BufferPool::kDiscardBytes);
  pool.Release(discard.data);
  pool.Release(held.back());
  EXPECT_FALSE(BufferPool::IsDiscard(pool.Request().data));
  for (size_t i = 0; i + 1 < held.size(); ++i) pool.Release(held[i]);
}

TEST(BufferPoolTest, AReaderThatIsBehindFindsRoomForAHundredThousandLaunches) {
  BufferPool pool;
  pool.SetRate(0);
  constexpr size_t kRecordBytes = 216, kLaunches = 100'000;
  size_t room = 0;
  for (size_t i = 0; i < BufferPool::kMaxBuffers; ++i) room += pool.Request().size;
  EXPECT_GE(room, kRecordBytes * kLaunches);
}

TEST(BufferPoolTest, KnowsItsOwnBuffersWithoutTouchingOthers) {
  BufferPool pool;
  const BufferPool::Buffer mine = pool.Request();
  EXPECT_FALSE(pool.TakeBack(reinterpret_cast<const uint8_t*>(uintptr_t{0x1000})));
  EXPECT_TRUE(pool.TakeBack(mine.data));
  EXPECT_FALSE(pool.TakeBack(mine.data));  // it is with us
  pool.Release(mine.data);
}

TEST(BufferPoolTest, SizeFollowsTheRateWithinBounds) {
  BufferPool pool;
  const auto size_at = [&](double rate) {
    pool.SetRate(rate * 216);
    const BufferPool::Buffer buffer = pool.Request();
    pool.Release(buffer.data);
    return buffer.size;
  };
  EXPECT_EQ(size_at(10), BufferPool::kMinBytes);
  EXPECT_NEAR(static_cast<double>(size_at(20'000)), 20'000 * 0.1 * 216, 4096);
  EXPECT_EQ(size_at(1e7), BufferPool::kMaxBytes);
}

}  // namespace
}  // namespace hotproof::tracer
