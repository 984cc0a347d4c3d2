// Quantisation of 128 activations to e4m3 with one scale: device pieces that the fused GEMM and the
// stand-alone kernel share, so that both give the same bits.
#ifndef HOTPROOF_KERNEL_QUANTIZE_CUH_
#define HOTPROOF_KERNEL_QUANTIZE_CUH_

#include <cuda_bf16.h>

#include <cstdint>

#include "kernel/ptx.cuh"

namespace hotproof::kernel {

__device__ inline float bf16_low(uint32_t pair) { return __uint_as_float(pair << 16); }
__device__ inline float bf16_high(uint32_t pair) { return __uint_as_float(pair & 0xffff0000u); }

// Largest magnitude of 8 bf16 (NaN are skipped; they stay NaN when quantised).
__device__ inline float amax_8(const uint4& x) {
  const uint32_t words[4] = {x.x, x.y, x.z, x.w};
  float amax = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    amax = fmaxf(amax, fmaxf(fabsf(bf16_low(words[i])), fabsf(bf16_high(words[i]))));
  }
  return amax;
}

__device__ inline float group_scale(float amax, bool power_of_two) {
  const float scale = __fdiv_rn(fmaxf(amax, 1e-10f), 448.0f);
  if (!power_of_two) return scale;
  const uint32_t bits = __float_as_uint(scale);
  return __uint_as_float((bits & 0x7fffffu) ? (bits & 0xff800000u) + 0x800000u : bits);
}

// 8 bf16 times `inverse` -> 8 e4m3 in order.
__device__ inline uint2 quantise_8(const uint4& x, float inverse) {
  const auto four = [&](uint32_t a, uint32_t b) {
    const uint32_t low = ptx::e4m3x2(bf16_low(a) * inverse, bf16_high(a) * inverse);
    const uint32_t high = ptx::e4m3x2(bf16_low(b) * inverse, bf16_high(b) * inverse);
    return low | (high << 16);
  };
  return make_uint2(four(x.x, x.y), four(x.z, x.w));
}

}  // namespace hotproof::kernel

#endif  // HOTPROOF_KERNEL_QUANTIZE_CUH_
