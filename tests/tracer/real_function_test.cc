// Two majors of one library in a process: each caller means the one that it was linked with.
#include "cupti_tracer/interpose/real_function.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace hotproof::tracer {
namespace {

const void* LoadAsker(const char* path, int flags) {
  void* const library = dlopen(path, RTLD_NOW | flags);
  EXPECT_NE(library, nullptr) << dlerror();
  return library == nullptr ? nullptr : dlsym(library, "hotproof_test_ask");
}

int Ask(RealFunction& real, const void* caller) {
  void* const function = real.For(caller, nullptr);
  return function == nullptr ? 0 : reinterpret_cast<int (*)()>(function)();
}

TEST(RealFunctionTest, EachCallerReachesItsOwnVersion) {
  const void* const first = LoadAsker(ASKER_1, RTLD_GLOBAL);
  const void* const second = LoadAsker(ASKER_2, RTLD_LOCAL);
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  static constinit RealFunction real("hotproof_test_answer", "libhotproof_test_answer");
  for (int round = 0; round < 3; ++round) {  // found, then remembered, in turns
    EXPECT_EQ(Ask(real, first), 1);
    EXPECT_EQ(Ask(real, second), 2);
  }
  // Code compiled at run time is in no object: what is global.
  EXPECT_NE(Ask(real, reinterpret_cast<const void*>(16)), 0);
  static constinit RealFunction other("hotproof_test_nowhere", "libhotproof_test_answer");
  EXPECT_EQ(other.For(first, nullptr), nullptr);
}

}  // namespace
}  // namespace hotproof::tracer
