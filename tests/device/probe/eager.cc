// Launches without graphs: every launch call, streams, threads, attributes, contexts, modules.
#include <cstring>
#include <thread>
#include <vector>

#include "tests/device/probe/scenarios.h"
#include "tests/device/probe/session.h"

namespace probe {
namespace {

void Finish(const char* name, Session& s) {
  printf("{\"scenario\": \"%s\", \"counted\": %llu}\n", name,
         static_cast<unsigned long long>(s.Counted()));
}

void LaunchEx(Session& s, const char* kernel, CUstream on, CUlaunchAttribute* attributes,
              unsigned count) {
  void* arguments[] = {&s.counter};
  CUlaunchConfig config = {};
  config.gridDimX = 2;
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 32;
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = on;
  config.attrs = attributes;
  config.numAttrs = count;
  CHECK(CU(cuLaunchKernelEx)(&config, s.Kernel(kernel), arguments, nullptr));
}

void Eager() {
  Session s;
  Note("cuLaunchKernel, null stream");
  s.Count(nullptr);
  Note("cuLaunchKernel, stream");
  s.Count(s.stream, 3);
  Note("cuLaunchKernel_ptsz, per-thread stream");
  void* arguments[] = {&s.counter};
  auto* ptsz = reinterpret_cast<decltype(&cuLaunchKernel)>(Symbol("cuLaunchKernel_ptsz"));
  CHECK(ptsz(s.Kernel("probe_count"), 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr));
  Note("extra: one packed buffer");
  struct {
    CUdeviceptr p;
    uint32_t n;
    float f;
  } packed = {s.counter, 100, 1.5f};
  size_t size = sizeof packed;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   CU_LAUNCH_PARAM_END};
  CHECK(CU(cuLaunchKernel)(s.Kernel("probe_add"), 1, 1, 1, 1, 1, 1, 0, s.stream, nullptr, extra));
  Note("a 128-byte structure by value");
  alignas(64) uint32_t block[32] = {1000};
  void* block_arguments[] = {block, &s.counter};
  CHECK(CU(cuLaunchKernel)(s.Kernel("probe_block"), 1, 1, 1, 1, 1, 1, 0, s.stream, block_arguments,
                           nullptr));
  Note("cooperative");
  CHECK(CU(cuLaunchCooperativeKernel)(s.Kernel("probe_count"), 1, 1, 1, 32, 1, 1, 0, s.stream,
                                      arguments));
  Note("cuLaunchKernelEx, no attribute");
  LaunchEx(s, "probe_count", s.stream, nullptr, 0);
  Note("cuLaunchKernelEx, cluster 2 and priority");
  CUlaunchAttribute attributes[2] = {};
  attributes[0].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attributes[0].value.clusterDim = {2, 1, 1};
  attributes[1].id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
  attributes[1].value.priority = -1;
  LaunchEx(s, "probe_count", s.stream, attributes, 2);
  Note("a launch that fails: block of 4096");
  const CUresult failed = CU(cuLaunchKernel)(s.Kernel("probe_count"), 1, 1, 1, 4096, 1, 1, 0,
                                             s.stream, arguments, nullptr);
  fprintf(stderr, "failing launch: CUresult %d\n", static_cast<int>(failed));
  Note("cuLaunch, old style");
  CUfunction function = s.Kernel("probe_empty");
  auto* old_shape =
      reinterpret_cast<CUresult (*)(CUfunction, int, int, int)>(Symbol("cuFuncSetBlockShape"));
  auto* old_launch = reinterpret_cast<CUresult (*)(CUfunction)>(Symbol("cuLaunch"));
  if (old_shape(function, 32, 1, 1) == CUDA_SUCCESS) old_launch(function);
  Note("stream with priority");
  CUstream priority;
  CHECK(CU(cuStreamCreateWithPriority)(&priority, CU_STREAM_NON_BLOCKING, -5));
  s.Count(priority);
  Note("memcpy, memset");
  CHECK(CU(cuMemsetD32Async)(s.counter + 64, 7, 8, s.stream));
  CHECK(CU(cuMemcpyDtoDAsync)(s.counter + 128, s.counter + 64, 32, s.stream));
  Note("events");
  CUevent event;
  CHECK(CU(cuEventCreate)(&event, 0));
  CHECK(CU(cuEventRecord)(event, s.stream));
  CHECK(CU(cuStreamWaitEvent)(priority, event, 0));
  s.Sync();
  CHECK(CU(cuEventDestroy)(event));
  Note("stream destroy");
  CHECK(CU(cuStreamDestroy)(priority));
  Finish("eager", s);
}

void Pdl() {
  Session s;
  CUlaunchAttribute attribute = {};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attribute.value.programmaticStreamSerializationAllowed = 1;
  for (int i = 0; i < 50; ++i) LaunchEx(s, "probe_pdl", s.stream, &attribute, 1);
  s.Begin(s.stream);
  for (int i = 0; i < 5; ++i) LaunchEx(s, "probe_pdl", s.stream, &attribute, 1);
  CUgraphExec exec = s.Instantiate(s.EndCapture(s.stream));
  for (int i = 0; i < 10; ++i) s.Launch(exec, s.stream);
  Finish("pdl", s);
}

void Operations() {
  Session s;
  char host[4096] = {};
  CUdeviceptr memory;
  CHECK(CU(cuMemAlloc)(&memory, 2 * sizeof host));
  Note("copies");
  CHECK(CU(cuMemcpyHtoD)(memory, host, sizeof host));
  CHECK(CU(cuMemcpyHtoDAsync)(memory, host, 100, s.stream));
  CHECK(CU(cuMemcpyDtoDAsync)(memory + sizeof host, memory, sizeof host, s.stream));
  CHECK(CU(cuMemcpyDtoHAsync)(host, memory, 8, s.stream));
  CHECK(CU(cuMemcpyDtoH)(host, memory, 4));
  CHECK(CU(cuMemsetD8)(memory, 5, 1000));
  CHECK(CU(cuMemsetD32Async)(memory, 7, 250, s.stream));
  Note("events");
  CUstream side;
  CHECK(CU(cuStreamCreate)(&side, CU_STREAM_NON_BLOCKING));
  CUevent events[2];
  for (CUevent& event : events) CHECK(CU(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING));
  for (int i = 0; i < 3; ++i) {
    s.Count(s.stream);
    CHECK(CU(cuEventRecord)(events[i % 2], s.stream));
    CHECK(CU(cuStreamWaitEvent)(side, events[i % 2], 0));
    s.Count(side, 2);
  }
  Note("waits and queries");
  CHECK(CU(cuEventSynchronize)(events[0]));
  CHECK(CU(cuStreamSynchronize)(side));
  CHECK(CU(cuEventQuery)(events[0]));
  CHECK(CU(cuStreamQuery)(side));
  s.Sync();
  for (CUevent event : events) CHECK(CU(cuEventDestroy)(event));
  Finish("operations", s);
}

void FourStreams() {
  Session s;
  std::vector<CUstream> streams(4);
  for (CUstream& stream : streams) CHECK(CU(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
  for (int i = 0; i < 25; ++i)
    for (CUstream stream : streams) s.Count(stream);
  Finish("streams4", s);
}

void FourThreads() {
  Session s;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&s] {
      s.Use();
      CUstream stream;
      CHECK(CU(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
      for (int i = 0; i < 25; ++i) s.Count(stream);
      CHECK(CU(cuStreamSynchronize)(stream));
    });
  for (std::thread& thread : threads) thread.join();
  Finish("threads4", s);
}

void Modules() {
  Session s;
  Note("second module: same kernel name, another kernel");
  CUmodule second;
  CHECK(CU(cuModuleLoadData)(&second, kSecondPtx));
  CUfunction twin;
  CHECK(CU(cuModuleGetFunction)(&twin, second, "probe_empty"));
  CHECK(CU(cuLaunchKernel)(twin, 1, 1, 1, 32, 1, 1, 0, s.stream, nullptr, nullptr));
  s.Empty(s.stream);
  s.Sync();
  Note("unload");
  CHECK(CU(cuModuleUnload)(second));
  Note("load again");
  CHECK(CU(cuModuleLoadData)(&second, kSecondPtx));
  CHECK(CU(cuModuleGetFunction)(&twin, second, "probe_other"));
  CHECK(CU(cuLaunchKernel)(twin, 1, 1, 1, 32, 1, 1, 0, s.stream, nullptr, nullptr));
  Note("library: eager loading by cuLibraryLoadData");
  CUlibrary library;
  CHECK(CU(cuLibraryLoadData)(&library, kSecondPtx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  CUkernel kernel;
  CHECK(CU(cuLibraryGetKernel)(&kernel, library, "probe_other"));
  Note("launch a CUkernel as it is");
  CHECK(CU(cuLaunchKernel)(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 32, 1, 1, 0, s.stream,
                           nullptr, nullptr));
  Note("launch its CUfunction");
  CUfunction function;
  CHECK(CU(cuKernelGetFunction)(&function, kernel));
  CHECK(CU(cuLaunchKernel)(function, 1, 1, 1, 32, 1, 1, 0, s.stream, nullptr, nullptr));
  s.Begin(s.stream);
  CHECK(CU(cuLaunchKernel)(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 32, 1, 1, 0, s.stream,
                           nullptr, nullptr));
  CUgraphExec exec = s.Instantiate(s.EndCapture(s.stream));
  s.Launch(exec, s.stream);
  s.Sync();
  CHECK(CU(cuGraphExecDestroy)(exec));
  Note("library unload");
  CHECK(CU(cuLibraryUnload)(library));
  Finish("modules", s);
}

void Contexts() {
  Session s;
  s.Count(s.stream);
  s.Sync();
  Note("second context");
  CUcontext second;
  CHECK(CU(cuCtxCreate)(&second, nullptr, 0, s.device));
  CUmodule module;
  CHECK(CU(cuModuleLoadData)(&module, kSecondPtx));
  CUfunction function;
  CHECK(CU(cuModuleGetFunction)(&function, module, "probe_other"));
  CUstream stream;
  CHECK(CU(cuStreamCreate)(&stream, CU_STREAM_DEFAULT));
  CHECK(CU(cuLaunchKernel)(function, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr));
  CHECK(CU(cuLaunchKernel)(function, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr));
  s.Sync();
  Note("destroy the second context");
  CHECK(CU(cuCtxDestroy)(second));
  s.Use();
  s.Count(s.stream);
  Finish("contexts", s);
  Note("release the primary context");
  CHECK(CU(cuDevicePrimaryCtxRelease)(s.device));
}

}  // namespace

const Scenario kEagerScenarios[] = {{"eager", Eager},          {"pdl", Pdl},
                                    {"streams4", FourStreams}, {"threads4", FourThreads},
                                    {"modules", Modules},      {"contexts", Contexts},
                                    {"operations", Operations},
                                    {nullptr, nullptr}};

}  // namespace probe
