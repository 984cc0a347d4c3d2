#include "kernel/numerics.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace hotproof::kernel {

float e4m3_to_float(uint8_t bits) {
  const int exponent = (bits >> 3) & 15;
  const int mantissa = bits & 7;
  float magnitude;
  if (exponent == 15 && mantissa == 7) {
    magnitude = std::numeric_limits<float>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(mantissa), -9);
  } else {
    magnitude = std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
  }
  return (bits & 0x80) ? -magnitude : magnitude;
}

uint8_t float_to_e4m3(float value) {
  if (std::isnan(value)) return 0x7f;
  const uint8_t sign = std::signbit(value) ? 0x80 : 0;
  const float magnitude = std::fabs(value);
  if (magnitude >= kE4m3Max) return sign | 0x7e;
  // The spacing of e4m3 numbers around `magnitude`; below 2^-6 they are evenly spaced by 2^-9.
  int exponent = magnitude > 0 ? std::ilogb(magnitude) : -6;
  if (exponent < -6) exponent = -6;
  const float steps = std::nearbyint(std::ldexp(magnitude, 3 - exponent));  // 0..16, ties to even
  // Adding the steps to the exponent field carries into the next binade by itself.
  const int code = ((exponent + 6) << 3) + static_cast<int>(steps);
  return sign | static_cast<uint8_t>(code > 0x7e ? 0x7e : code);
}

float bf16_to_float(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

uint16_t float_to_bf16(float value) {
  uint32_t wide;
  std::memcpy(&wide, &value, sizeof(wide));
  if (std::isnan(value)) return static_cast<uint16_t>((wide >> 16) | 0x40);
  wide += 0x7fff + ((wide >> 16) & 1);
  return static_cast<uint16_t>(wide >> 16);
}

uint16_t double_to_bf16(double value) {
  // Round to odd in float first: the second rounding is then the only one that counts.
  float narrow = static_cast<float>(value);
  if (std::isfinite(value) && std::isfinite(narrow) && static_cast<double>(narrow) != value) {
    if (std::fabs(static_cast<double>(narrow)) > std::fabs(value)) {
      narrow = std::nextafterf(narrow, 0.0f);
    }
    uint32_t bits;
    std::memcpy(&bits, &narrow, sizeof(bits));
    bits |= 1;
    std::memcpy(&narrow, &bits, sizeof(narrow));
  }
  return float_to_bf16(narrow);
}

float quantisation_scale(float amax, bool power_of_two) {
  const float scale = std::fmax(amax, kMinAmax) / kE4m3Max;
  if (!power_of_two) return scale;
  uint32_t bits;
  std::memcpy(&bits, &scale, sizeof(bits));
  if (bits & 0x7fffff) bits = (bits & 0xff800000u) + 0x800000u;
  float rounded;
  std::memcpy(&rounded, &bits, sizeof(rounded));
  return rounded;
}

}  // namespace hotproof::kernel
