#include "kernel/reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernel/numerics.h"

namespace hotproof::kernel {
namespace {

// 2 x 130 x 256, so that N and K have two scale blocks each; all values known.
struct Small {
  std::vector<uint8_t> a = std::vector<uint8_t>(2 * 256, float_to_e4m3(1.0f));
  std::vector<uint8_t> b = std::vector<uint8_t>(130 * 256, float_to_e4m3(2.0f));
  std::vector<float> a_scale = {1, 10, 100, 1000};  // [m][k block]
  std::vector<float> b_scale = {1, 2, 3, 4};        // [n block][k block]
  HostProblem problem() {
    return {2, 130, 256, a.data(), 256, a_scale.data(), 2, 1, b.data(), 256, b_scale.data(), 2, 1};
  }
};

TEST(Reference, AppliesEachScaleToItsBlock) {
  Small small;
  const Reference r = compute(small.problem());
  ASSERT_EQ(r.columns.size(), 130u);
  EXPECT_EQ(r.value[0], 256 * 1 * 1 + 256 * 10 * 2);
  EXPECT_EQ(r.value[129], 256 * 1 * 3 + 256 * 10 * 4);
  EXPECT_EQ(r.value[130 + 129], 256 * 100 * 3 + 256 * 1000 * 4);
  EXPECT_EQ(r.magnitude[0], r.value[0]);
}

TEST(Reference, MagnitudeIgnoresSigns) {
  Small small;
  for (int i = 0; i < 256; i += 2) small.a[i] = float_to_e4m3(-1.0f);
  const Reference r = compute(small.problem(), {5});
  EXPECT_EQ(r.value[0], 0);
  EXPECT_EQ(r.magnitude[0], 256 + 5120);
}

TEST(Compare, SeesOneWrongElement) {
  Small small;
  const HostProblem p = small.problem();
  const Reference r = compute(p);
  std::vector<uint16_t> d(2 * 130);
  for (size_t i = 0; i < d.size(); ++i) d[i] = double_to_bf16(r.value[i]);
  EXPECT_EQ(compare(r, p, d.data(), 130).count, 0);
  EXPECT_EQ(compare_exact(r, p, d.data(), 130).count, 0);
  d[131] += 1;
  EXPECT_EQ(compare_exact(r, p, d.data(), 130).count, 1);
  d[131] += 4;
  EXPECT_EQ(compare(r, p, d.data(), 130).count, 1);
}

TEST(WithinBound, HoldsAtTheEdges) {
  EXPECT_TRUE(within_bound(1.0 + 1.0 / 256, 1.0, 0.0));
  EXPECT_FALSE(within_bound(1.0 + 1.1 / 256, 1.0, 0.0));
  EXPECT_TRUE(within_bound(1.0 / 8192, 0.0, 1.0));
  EXPECT_FALSE(within_bound(1.1 / 8192, 0.0, 1.0));
  const double nan = std::nan(""), inf = HUGE_VAL;
  EXPECT_TRUE(within_bound(nan, nan, nan));
  EXPECT_FALSE(within_bound(1.0, nan, nan));
  EXPECT_FALSE(within_bound(nan, 1.0, 1.0));
  EXPECT_FALSE(within_bound(inf, 1e30, 1e30));
  EXPECT_FALSE(within_bound(1.0, inf, inf));
}

}  // namespace
}  // namespace hotproof::kernel
