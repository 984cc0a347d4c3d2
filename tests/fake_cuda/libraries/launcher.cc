// A library as nvcc makes them: device code in a section of its own, launched through the runtime.
#include <cuda.h>

asm(".pushsection .nv_fatbin, \"a\", @progbits\n"
    ".balign 8\n"
    ".incbin \"" HOTPROOF_FATBIN
    "\"\n"
    ".popsection\n");

extern "C" CUresult fake_cudart_launch(decltype(&cuLaunchKernel) launch, CUfunction function,
                                       CUstream stream);

// 0, or the driver's error.
extern "C" __attribute__((visibility("default"))) int launch_from_library(
    decltype(&cuLaunchKernel) launch, CUfunction function, CUstream stream, int times) {
  for (int i = 0; i < times; ++i) {
    const CUresult result = fake_cudart_launch(launch, function, stream);
    if (result != CUDA_SUCCESS) return result;
  }
  return 0;
}
