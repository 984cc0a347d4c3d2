// A small CUDA program to trace: it launches known kernels a known number of times, so a trace of
// it can be checked. Driver API only, libcuda is opened at run time: it is built and started on any
// machine. Usage: live_program [FORWARDS]
//   4 eager launches of live_gemm_like, a captured graph of 256 of them and one live_norm_like,
//   replayed FORWARDS (default 20) times. Prints what it asked for, one line. Exit code 3: no CUDA
//   here.
#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace {

constexpr int kEagerLaunches = 4;
constexpr int kLaunchesPerForward = 256;

// Both kernels add one to a word of their own; the sum says that they ran. (PTX: the driver
// compiles it.)
constexpr char kPtx[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry live_gemm_like(.param .u64 counter) {
  .reg .b64 %rd<2>; .reg .b32 %r<2>;
  ld.param.u64 %rd1, [counter];
  red.global.add.u32 [%rd1], 1;
  ret;
}
.visible .entry live_norm_like(.param .u64 counter) {
  .reg .b64 %rd<2>; .reg .b32 %r<2>;
  ld.param.u64 %rd1, [counter];
  red.global.add.u32 [%rd1+4], 1;
  ret;
}
)";

// The driver's functions by their exported names (cuda.h maps the short ones to versions of its
// own).
struct Driver {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);

  template <typename Function>
  Function* Find(const char* name) const {
    auto* function = reinterpret_cast<Function*>(library ? dlsym(library, name) : nullptr);
    if (function == nullptr) {
      std::fprintf(stderr, "live_program: no CUDA driver here (%s)\n", name);
      std::exit(3);
    }
    return function;
  }
};

void Check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "live_program: %s says %d\n", what, static_cast<int>(result));
  std::exit(result == CUDA_ERROR_NO_DEVICE ? 3 : 1);
}

}  // namespace

#define HOTPROOF_TEXT(name) #name
#define HOTPROOF_NAME(name) HOTPROOF_TEXT(name)
// CALL(cuInit, 0): looks up and calls a driver function, and stops the program when it fails.
#define CALL(function, ...) \
  Check(driver.Find<decltype(function)>(HOTPROOF_NAME(function))(__VA_ARGS__), #function)

int main(int argc, char** argv) {
  const int forwards = argc > 1 ? std::atoi(argv[1]) : 20;
  const Driver driver;
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUfunction gemm, norm;
  CUdeviceptr counters;
  CUstream stream;
  CALL(cuInit, 0);
  CALL(cuDeviceGet, &device, 0);
  CALL(cuDevicePrimaryCtxRetain, &context, device);
  CALL(cuCtxSetCurrent, context);
  CALL(cuModuleLoadData, &module, kPtx);
  CALL(cuModuleGetFunction, &gemm, module, "live_gemm_like");
  CALL(cuModuleGetFunction, &norm, module, "live_norm_like");
  CALL(cuMemAlloc, &counters, 8);
  CALL(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  CALL(cuMemsetD32Async, counters, 0, 2, stream);

  void* arguments[] = {&counters};
  const auto launch = [&](CUfunction kernel) {
    CALL(cuLaunchKernel, kernel, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr);
  };
  for (int i = 0; i < kEagerLaunches; ++i) launch(gemm);

  CUgraph graph;
  CUgraphExec exec;
  CALL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  for (int i = 0; i < kLaunchesPerForward; ++i) launch(gemm);
  launch(norm);
  CALL(cuStreamEndCapture, stream, &graph);
  CALL(cuGraphInstantiateWithFlags, &exec, graph, 0);
  for (int i = 0; i < forwards; ++i) CALL(cuGraphLaunch, exec, stream);

  unsigned ran[2] = {};
  CALL(cuMemcpyDtoHAsync, ran, counters, sizeof(ran), stream);
  CALL(cuStreamSynchronize, stream);
  const unsigned gemms = static_cast<unsigned>(kEagerLaunches + forwards * kLaunchesPerForward);
  std::printf(
      "asked for %u live_gemm_like and %d live_norm_like, counted on the device: %u and %u\n",
      gemms, forwards, ran[0], ran[1]);
  return ran[0] == gemms && ran[1] == static_cast<unsigned>(forwards) ? 0 : 1;
}
