// The program's operator new and delete, which this test is linked with.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cli/heap/heap.h"

namespace hotproof::cli {
namespace {

struct Object {
  unsigned char* bytes;
  size_t size;
};

// Filled with a byte of its own, to see that no other object lies in it.
Object Make(size_t size, unsigned char mark) {
  auto* const bytes = static_cast<unsigned char*>(::operator new(size));
  std::memset(bytes, mark, size);
  return {bytes, size};
}

bool IsWhole(const Object& object, unsigned char mark) {
  for (size_t i = 0; i < object.size; ++i) {
    if (object.bytes[i] != mark) return false;
  }
  return true;
}

TEST(SmallObjectsTest, ObjectsOfAllSizesAreAlignedAndApart) {
  std::vector<Object> objects;
  for (int round = 0; round < 3; ++round) {
    for (size_t size = 0; size <= 2100; ++size)
      objects.push_back(Make(size, static_cast<unsigned char>(objects.size())));
  }
  for (size_t i = 0; i < objects.size(); ++i) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(objects[i].bytes) % 16, 0u) << objects[i].size;
    EXPECT_TRUE(IsWhole(objects[i], static_cast<unsigned char>(i))) << objects[i].size;
  }
  for (size_t i = 0; i < objects.size(); ++i) {  // with and without their size
    if (i % 2 == 0) {
      ::operator delete(objects[i].bytes);
    } else {
      ::operator delete(objects[i].bytes, objects[i].size);
    }
  }
}

TEST(SmallObjectsTest, WhatIsFreedIsTakenAgain) {
  constexpr size_t kCount = 100'000;
  const auto make_and_free = [] {
    std::vector<std::unique_ptr<std::string>> strings;
    for (size_t i = 0; i < kCount; ++i)
      strings.push_back(std::make_unique<std::string>(1 + i % 900, 'x'));
  };
  make_and_free();
  const size_t taken = SmallObjectBytes();
  EXPECT_GT(taken, kCount * 400);
  for (int round = 0; round < 3; ++round) make_and_free();
  EXPECT_EQ(SmallObjectBytes(), taken);
}

TEST(SmallObjectsTest, ThreadsThatEndLeaveTheirsToOthers) {
  const auto make_and_free = [] {
    std::vector<std::string> strings;
    for (size_t i = 0; i < 5'000; ++i) strings.emplace_back(20 + i % 1000, 'x');
  };
  const auto in_threads = [&](int count) {
    for (int i = 0; i < count; ++i) std::thread(make_and_free).join();
  };
  in_threads(3);
  const size_t taken = SmallObjectBytes();
  in_threads(200);
  EXPECT_EQ(SmallObjectBytes(), taken);
}

TEST(SmallObjectsTest, AnotherThreadMayFree) {
  for (int round = 0; round < 50; ++round) {
    std::vector<std::vector<Object>> made(4);
    std::vector<std::thread> makers;
    for (auto& own : made) {
      makers.emplace_back([&own] {
        for (size_t i = 0; i < 2'000; ++i) own.push_back(Make(1 + i % 300, i % 251));
      });
    }
    for (std::thread& maker : makers) maker.join();
    std::set<const void*> places;
    std::vector<std::thread> enders;
    for (const auto& own : made) {
      for (size_t i = 0; i < own.size(); ++i) {
        EXPECT_TRUE(places.insert(own[i].bytes).second);
        EXPECT_TRUE(IsWhole(own[i], i % 251));
      }
      enders.emplace_back([&own] {
        for (const Object& object : own) ::operator delete(object.bytes);
      });
    }
    for (std::thread& ender : enders) ender.join();
  }
}

TEST(SmallObjectsTest, BeyondItsAddressesMallocIsAsked) {
  std::vector<Object> objects;
  for (size_t i = 0; i < 300'000; ++i) objects.push_back(Make(1000, i % 251));
  EXPECT_EQ(SmallObjectBytes(), size_t{256} << 20);
  objects.push_back(Make(16, 7));
  for (size_t i = 0; i + 1 < objects.size(); ++i) ASSERT_TRUE(IsWhole(objects[i], i % 251));
  for (const Object& object : objects) ::operator delete(object.bytes);
  const size_t taken = SmallObjectBytes();
  for (size_t i = 0; i < 200'000; ++i) objects[i] = Make(1000, 1);
  EXPECT_EQ(SmallObjectBytes(), taken);
}

}  // namespace
}  // namespace hotproof::cli
