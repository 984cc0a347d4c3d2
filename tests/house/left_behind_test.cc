#include "cli/left_behind.h"

#include <gtest/gtest.h>

namespace hotproof::cli {
namespace {

using std::chrono::milliseconds;

// A clock of the test's own, which pauses move.
struct Waited {
  milliseconds clock{123456};
  int looks = 0;
  bool time_was_over = false;
};

// Somebody is left at the first `looks_with_some` looks; a pause takes 50 ms.
Waited Wait(int looks_with_some) {
  Waited waited;
  waited.time_was_over =
      WaitForLeftBehind([&] { return ++waited.looks <= looks_with_some; },
                        [&] { return waited.clock; }, [&] { waited.clock += milliseconds(50); });
  return waited;
}

TEST(LeftBehind, NobodyIsLeft) {
  const Waited waited = Wait(0);
  EXPECT_FALSE(waited.time_was_over);
  EXPECT_EQ(waited.looks, 1);
  EXPECT_EQ(waited.clock, milliseconds(123456));
}

TEST(LeftBehind, TheyEndMeanwhile) {
  for (const int looks : {1, 20, 200}) {
    const Waited waited = Wait(looks);
    EXPECT_FALSE(waited.time_was_over);
    EXPECT_EQ(waited.looks, looks + 1);
  }
}

TEST(LeftBehind, TenSecondsAtMost) {
  const Waited waited = Wait(1'000'000);
  EXPECT_TRUE(waited.time_was_over);
  EXPECT_EQ(waited.clock, milliseconds(123456 + 10'000));
  EXPECT_EQ(waited.looks, 201);  // and who is left then is known
}

}  // namespace
}  // namespace hotproof::cli
