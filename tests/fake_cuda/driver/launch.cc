// Kernel launches, eager and captured.
#include <cstring>

#include "tests/fake_cuda/driver/driver.h"

namespace fake_cuda {
namespace {

struct Launch {
  CUfunction function;
  unsigned grid[3], block[3];
  unsigned shared_bytes;
  CUstream stream;
  void** kernel_params;
  void** extra;
  uint32_t cluster[3];
  uint8_t launch_type;
  bool programmatic = false;
};

CUresult Capture(CUstream stream, const Launch& launch) {
  CUDA_KERNEL_NODE_PARAMS params = {};
  params.func = launch.function;
  params.gridDimX = launch.grid[0];
  params.gridDimY = launch.grid[1];
  params.gridDimZ = launch.grid[2];
  params.blockDimX = launch.block[0];
  params.blockDimY = launch.block[1];
  params.blockDimZ = launch.block[2];
  params.sharedMemBytes = launch.shared_bytes;
  params.kernelParams = launch.kernel_params;
  params.extra = launch.extra;
  CUgraphNode_st content;
  memcpy(content.cluster, launch.cluster, sizeof content.cluster);
  content.programmatic = launch.programmatic;
  const CUresult result = FillKernel(content, params);
  if (result == CUDA_SUCCESS) CaptureNode(stream, CU_GRAPH_NODE_TYPE_KERNEL, content);
  return result;
}

CUresult Run(const Launch& launch, bool per_thread) {
  if (CurrentContext() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (uint64_t{launch.block[0]} * launch.block[1] * launch.block[2] > 1024)
    return CUDA_ERROR_INVALID_VALUE;
  CUstream stream = ResolveStream(launch.stream, per_thread);
  CUfunction function = ResolveFunction(launch.function);
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture != nullptr) return Capture(stream, launch);
  ReportModule(CUPTI_CBID_RESOURCE_MODULE_PROFILED, function->module);
  // As in a driver no memory is asked for: what malloc costs depends on who else uses it, tracers
  // too.
  const KernelInfo& info = *function->info;
  uint8_t small[4096];
  std::vector<uint8_t> large(info.parameter_bytes > sizeof small ? info.parameter_bytes : 0);
  uint8_t* const arguments = large.empty() ? small : large.data();
  GatherArguments(info, launch.kernel_params, launch.extra, arguments);
  const uint64_t duration = RunKernel(info, arguments);
  static std::atomic<int64_t> grid_id{0};
  Work work = {};
  work.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  work.device_id = static_cast<uint32_t>(stream->context->device);
  work.context_id = stream->context->id;
  work.stream_id = stream->id;
  work.channel_id = stream->channel;
  work.correlation_id = CurrentCorrelationId();
  work.name = function->info->name;
  memcpy(work.grid, launch.grid, sizeof work.grid);
  memcpy(work.block, launch.block, sizeof work.block);
  memcpy(work.cluster, launch.cluster, sizeof work.cluster);
  work.dynamic_shared_bytes = launch.shared_bytes;
  work.registers = 16;
  work.launch_type = launch.launch_type;
  work.grid_id = grid_id.fetch_add(1) + 1;
  Enqueue(stream, work, duration);
  if (const Tracer* tracer = GetTracer()) tracer->work(work);
  return CUDA_SUCCESS;
}

Launch FromConfig(const CUlaunchConfig& c, CUfunction f, void** params, void** extra) {
  Launch launch = {f,
                   {c.gridDimX, c.gridDimY, c.gridDimZ},
                   {c.blockDimX, c.blockDimY, c.blockDimZ},
                   c.sharedMemBytes,
                   c.hStream,
                   params,
                   extra,
                   {0, 0, 0},
                   0};
  for (unsigned i = 0; i < c.numAttrs; ++i) {
    if (c.attrs[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
      launch.programmatic = c.attrs[i].value.programmaticStreamSerializationAllowed != 0;
    if (c.attrs[i].id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
    const auto& dim = c.attrs[i].value.clusterDim;
    launch.cluster[0] = dim.x;
    launch.cluster[1] = dim.y;
    launch.cluster[2] = dim.z;
  }
  return launch;
}

// What cuFuncSetBlockShape left in the function, on the null stream.
Launch Legacy(CUfunction f, unsigned width, unsigned height) {
  return {f,
          {width, height, 1},
          {f->block[0], f->block[1], f->block[2]},
          0,
          nullptr,
          nullptr,
          nullptr,
          {},
          0};
}

CUresult Finish(Call& call, CUresult result) {
  const CUresult returned = call.Return(result);
  CountLaunchCall();
  return returned;
}

}  // namespace
}  // namespace fake_cuda

using namespace fake_cuda;

#define LAUNCH_CALL(name, function, ...)                                             \
  name##_params params = {__VA_ARGS__};                                              \
  Call call(CUPTI_DRIVER_TRACE_CBID_##name, #name, &params, FunctionName(function)); \
  if (!call.allowed()) return CUDA_ERROR_NOT_INITIALIZED

FAKE_EXPORT CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz,
                                    unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                    CUstream stream, void** kernel_params, void** extra) {
  LAUNCH_CALL(cuLaunchKernel, f, f, gx, gy, gz, bx, by, bz, shared, stream, kernel_params, extra);
  return Finish(
      call,
      Run({f, {gx, gy, gz}, {bx, by, bz}, shared, stream, kernel_params, extra, {}, 0}, false));
}

FAKE_EXPORT CUresult cuLaunchKernel_ptsz(CUfunction f, unsigned gx, unsigned gy, unsigned gz,
                                         unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                         CUstream stream, void** kernel_params, void** extra) {
  LAUNCH_CALL(cuLaunchKernel_ptsz, f, f, gx, gy, gz, bx, by, bz, shared, stream, kernel_params,
              extra);
  return Finish(
      call,
      Run({f, {gx, gy, gz}, {bx, by, bz}, shared, stream, kernel_params, extra, {}, 0}, true));
}

FAKE_EXPORT CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz,
                                               unsigned bx, unsigned by, unsigned bz,
                                               unsigned shared, CUstream stream,
                                               void** kernel_params) {
  LAUNCH_CALL(cuLaunchCooperativeKernel, f, f, gx, gy, gz, bx, by, bz, shared, stream,
              kernel_params);
  return Finish(
      call,
      Run({f, {gx, gy, gz}, {bx, by, bz}, shared, stream, kernel_params, nullptr, {}, 1}, false));
}

FAKE_EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction f,
                                      void** kernel_params, void** extra) {
  LAUNCH_CALL(cuLaunchKernelEx, f, config, f, kernel_params, extra);
  return Finish(call, Run(FromConfig(*config, f, kernel_params, extra), false));
}

FAKE_EXPORT CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig* config, CUfunction f,
                                           void** kernel_params, void** extra) {
  LAUNCH_CALL(cuLaunchKernelEx_ptsz, f, config, f, kernel_params, extra);
  return Finish(call, Run(FromConfig(*config, f, kernel_params, extra), true));
}

FAKE_EXPORT CUresult cuLaunch(CUfunction f) {
  LAUNCH_CALL(cuLaunch, f, f);
  return Finish(call, Run(Legacy(f, 1, 1), false));
}

FAKE_EXPORT CUresult cuLaunchGrid(CUfunction f, int width, int height) {
  LAUNCH_CALL(cuLaunchGrid, f, f, width, height);
  return Finish(call,
                Run(Legacy(f, static_cast<unsigned>(width), static_cast<unsigned>(height)), false));
}

// One launch a device, all under one correlation id; each stream in a context of its own.
FAKE_EXPORT CUresult cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS* launches,
                                                          unsigned count, unsigned flags) {
  LAUNCH_CALL(cuLaunchCooperativeKernelMultiDevice, launches[0].function, launches, count, flags);
  const CUcontext before = CurrentContext();
  CUresult result = CUDA_SUCCESS;
  for (unsigned i = 0; i < count && result == CUDA_SUCCESS; ++i) {
    const CUDA_LAUNCH_PARAMS& p = launches[i];
    if (p.hStream == nullptr) result = CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS) break;
    SetCurrentContext(p.hStream->context);
    result = Run({p.function,
                  {p.gridDimX, p.gridDimY, p.gridDimZ},
                  {p.blockDimX, p.blockDimY, p.blockDimZ},
                  p.sharedMemBytes,
                  p.hStream,
                  p.kernelParams,
                  nullptr,
                  {},
                  1},
                 false);
  }
  SetCurrentContext(before);
  return Finish(call, result);
}
