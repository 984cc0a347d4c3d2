// E4M3 and BF16 on the CPU, and the rule by which activations are quantised. Used by the reference,
// the tests and the benchmark's checks; any thread.
#ifndef HOTPROOF_KERNEL_NUMERICS_H_
#define HOTPROOF_KERNEL_NUMERICS_H_

#include <cstdint>

namespace hotproof::kernel {

inline constexpr float kE4m3Max = 448.0f;
inline constexpr float kMinAmax =
    1e-10f;  // groups of zeros get this maximum, so scales are never 0

// e4m3fn: 1 sign, 4 exponent (bias 7), 3 mantissa bits; 0x7f and 0xff are NaN, there is no
// infinity.
float e4m3_to_float(uint8_t bits);
// Round to nearest even; beyond 448 saturates (so does infinity); NaN gives 0x7f.
uint8_t float_to_e4m3(float value);

float bf16_to_float(uint16_t bits);
// Round to nearest even; NaN stays NaN.
uint16_t float_to_bf16(float value);
uint16_t double_to_bf16(double value);  // one rounding, not two

// The scale of a group of 128 activations whose largest magnitude is `amax`: amax / 448, and with
// `power_of_two` the next power of two at or above it.
float quantisation_scale(float amax, bool power_of_two);

}  // namespace hotproof::kernel

#endif  // HOTPROOF_KERNEL_NUMERICS_H_
