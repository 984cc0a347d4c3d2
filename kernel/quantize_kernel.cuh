// The stand-alone quantiser.
#ifndef HOTPROOF_KERNEL_QUANTIZE_KERNEL_CUH_
#define HOTPROOF_KERNEL_QUANTIZE_KERNEL_CUH_

#include "kernel/quantize.cuh"

namespace hotproof::kernel {

// x bf16 [m][ldx] -> q e4m3 [m][ldq] and scales. A half-warp takes one group of
// 128, 8 elements a lane. Grid-stride over groups. Dependent kernels may start
// at once: they wait before they read q.
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

#endif  // HOTPROOF_KERNEL_QUANTIZE_KERNEL_CUH_
