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

// x bf16 [m][ldx] -> q e4m3 [m][ldq] and scales. A half-warp takes one group of 128, 8 elements a
// lane. Grid-stride over groups. Dependent kernels may start at once: they wait before they read q.
__global__ void __launch_bounds__(128)
    quantize_1x128(int m, int k, const __nv_bfloat16* x, int64_t ldx, uint8_t* q, int64_t ldq,
                   float* scale, int64_t stride_m, int64_t stride_k, bool power_of_two) {
  ptx::launch_dependents();
  ptx::grid_dependency_wait();
  const int groups_in_row = (k + 127) / 128;
  const int lane = threadIdx.x % 16;
  const int per_block = blockDim.x / 16;
  const int groups = m * groups_in_row;
  for (int first = blockIdx.x * per_block; first < groups; first += gridDim.x * per_block) {
    const int group = first + threadIdx.x / 16;
    const bool live = group < groups;
    const int row = live ? group / groups_in_row : 0;
    const int block = live ? group % groups_in_row : 0;
    const int column = block * 128 + lane * 8;
    uint4 value = make_uint4(0, 0, 0, 0);
    if (live && column < k) value = *reinterpret_cast<const uint4*>(x + row * ldx + column);
    float amax = amax_8(value);
#pragma unroll
    for (int step = 8; step > 0; step /= 2) amax = fmaxf(amax, __shfl_xor_sync(~0u, amax, step));
    const float s = group_scale(amax, power_of_two);
    if (live && column < k) {
      *reinterpret_cast<uint2*>(q + row * ldq + column) = quantise_8(value, 1.0f / s);
    }
    if (live && lane == 0) scale[row * stride_m + block * stride_k] = s;
  }
}

}  // namespace hotproof::kernel

#endif  // HOTPROOF_KERNEL_QUANTIZE_CUH_
