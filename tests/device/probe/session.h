// What every scenario needs: a device, its primary context, the probe's module, a counter in device
// memory. Used on the thread that made it; threads of their own call Use().
#pragma once

#include <cstdint>

#include "tests/device/probe/driver.h"
#include "tests/device/probe/kernels.h"

namespace probe {

class Session {
 public:
  Session() {
    CHECK(CU(cuInit)(0));
    CHECK(CU(cuDeviceGet)(&device, 0));
    CHECK(CU(cuDevicePrimaryCtxRetain)(&context, device));
    Use();
    CHECK(CU(cuModuleLoadData)(&module, kPtx));
    CHECK(CU(cuMemAlloc)(&counter, 256));
    CHECK(CU(cuMemsetD8)(counter, 0, 256));
    CHECK(CU(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
  }
  void Use() { CHECK(CU(cuCtxSetCurrent)(context)); }

  CUfunction Kernel(const char* name) {
    CUfunction function;
    CHECK(CU(cuModuleGetFunction)(&function, module, name));
    return function;
  }

  // probe_count, one block of 32 threads.
  void Count(CUstream on, unsigned grid = 1) {
    void* arguments[] = {&counter};
    CHECK(
        CU(cuLaunchKernel)(Kernel("probe_count"), grid, 1, 1, 32, 1, 1, 0, on, arguments, nullptr));
  }
  void Empty(CUstream on, unsigned grid = 1) {
    CHECK(CU(cuLaunchKernel)(Kernel("probe_empty"), grid, 1, 1, 32, 1, 1, 0, on, nullptr, nullptr));
  }
  void Sync() { CHECK(CU(cuCtxSynchronize)()); }

  void Begin(CUstream on) { CHECK(CU(cuStreamBeginCapture)(on, CU_STREAM_CAPTURE_MODE_RELAXED)); }
  CUgraph EndCapture(CUstream on) {
    CUgraph graph;
    CHECK(CU(cuStreamEndCapture)(on, &graph));
    return graph;
  }
  CUgraphExec Instantiate(CUgraph graph) {
    CUgraphExec exec;
    CHECK(CU(cuGraphInstantiate)(&exec, graph, 0));
    return exec;
  }
  void Launch(CUgraphExec exec, CUstream on) { CHECK(CU(cuGraphLaunch)(exec, on)); }

  CUDA_KERNEL_NODE_PARAMS CountNode(unsigned grid = 1) {
    node_arguments_[0] = &counter;
    CUDA_KERNEL_NODE_PARAMS p = {};
    p.func = Kernel("probe_count");
    p.gridDimX = grid;
    p.gridDimY = p.gridDimZ = 1;
    p.blockDimX = 32;
    p.blockDimY = p.blockDimZ = 1;
    p.kernelParams = node_arguments_;
    return p;
  }

  // What the device counted since the start: the truth that launches are held against.
  uint64_t Counted() {
    Sync();
    uint64_t value = 0;
    CHECK(CU(cuMemcpyDtoH)(&value, counter, sizeof value));
    return value;
  }

  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUstream stream;
  CUdeviceptr counter;

 private:
  void* node_arguments_[1];
};

}  // namespace probe
