#include "kernel/numerics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace hotproof::kernel {
namespace {

TEST(E4m3, KnownValues) {
  EXPECT_EQ(e4m3_to_float(0x00), 0.0f);
  EXPECT_EQ(e4m3_to_float(0x01), 0x1p-9f);
  EXPECT_EQ(e4m3_to_float(0x08), 0x1p-6f);
  EXPECT_EQ(e4m3_to_float(0x38), 1.0f);
  EXPECT_EQ(e4m3_to_float(0x7e), 448.0f);
  EXPECT_EQ(e4m3_to_float(0xfe), -448.0f);
  EXPECT_TRUE(std::isnan(e4m3_to_float(0x7f)));
}

TEST(E4m3, RoundTripsEveryCode) {
  for (int i = 0; i < 256; ++i) {
    if ((i & 0x7f) == 0x7f) continue;
    EXPECT_EQ(float_to_e4m3(e4m3_to_float(static_cast<uint8_t>(i))), i);
  }
}

TEST(E4m3, RoundsToNearestEvenAndSaturates) {
  for (int i = 0; i < 0x7e; ++i) {
    const float low = e4m3_to_float(static_cast<uint8_t>(i));
    const float high = e4m3_to_float(static_cast<uint8_t>(i + 1));
    const float middle = (low + high) / 2;
    EXPECT_EQ(float_to_e4m3(middle), i % 2 == 0 ? i : i + 1);
    EXPECT_EQ(float_to_e4m3(std::nextafter(middle, low)), i);
    EXPECT_EQ(float_to_e4m3(std::nextafter(middle, high)), i + 1);
  }
  EXPECT_EQ(float_to_e4m3(1e9f), 0x7e);
  EXPECT_EQ(float_to_e4m3(-std::numeric_limits<float>::infinity()), 0xfe);
  EXPECT_EQ(float_to_e4m3(std::numeric_limits<float>::quiet_NaN()), 0x7f);
}

TEST(Bf16, RoundsOnceFromDouble) {
  // 1 + 2^-8 is a tie between 1 and 1 + 2^-7; a trace above it must round up, though in float it is
  // lost.
  EXPECT_EQ(double_to_bf16(1 + std::ldexp(1.0, -8)), 0x3f80);
  EXPECT_EQ(double_to_bf16(1 + std::ldexp(1.0, -8) + std::ldexp(1.0, -40)), 0x3f81);
  EXPECT_EQ(double_to_bf16(-(1 + std::ldexp(1.0, -8) - std::ldexp(1.0, -40))), 0xbf80);
  EXPECT_EQ(float_to_bf16(bf16_to_float(0x1234)), 0x1234);
  EXPECT_EQ(double_to_bf16(1e300), 0x7f80);
}

TEST(QuantisationScale, MaximumMapsTo448) {
  EXPECT_EQ(quantisation_scale(448.0f, false), 1.0f);
  EXPECT_EQ(quantisation_scale(0.0f, false), 1e-10f / 448.0f);
  EXPECT_EQ(quantisation_scale(448.0f, true), 1.0f);
  EXPECT_EQ(quantisation_scale(449.0f, true), 2.0f);
  EXPECT_EQ(quantisation_scale(300.0f, true), 1.0f);
  for (float amax : {1e-8f, 0.3f, 7.0f, 1e5f}) {
    const float scale = quantisation_scale(amax, true);
    int exponent;
    EXPECT_EQ(std::frexp(scale, &exponent), 0.5f);
    EXPECT_LE(amax / scale, 448.0f);
    EXPECT_GT(amax / scale, 224.0f);
  }
}

}  // namespace
}  // namespace hotproof::kernel
