// The kernels of many_tokens.cuh, in a file of their own because compiling
// takes long.
#include "kernel/many_tokens.cuh"

namespace hotproof::kernel {

KernelFunction many_tokens_kernel(int m_tile) {
  return m_tile == 64 ? sm90_fp8_gemm_1x128_128x128_many<64>
                      : sm90_fp8_gemm_1x128_128x128_many<128>;
}

}  // namespace hotproof::kernel
