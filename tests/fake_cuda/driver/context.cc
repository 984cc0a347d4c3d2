// Start, devices, contexts, and looking functions up. There is one device, or as many as
// FAKE_CUDA_DEVICES says.
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "tests/fake_cuda/driver/driver.h"

using namespace fake_cuda;

namespace fake_cuda {
namespace {

std::mutex g_mutex;
constexpr int kMaxDevices = 8;
CUcontext g_primary[kMaxDevices] = {};
std::atomic<uint32_t> g_contexts{0};

int DeviceCount() {
  const char* text = getenv("FAKE_CUDA_DEVICES");
  return text == nullptr ? 1 : std::clamp(atoi(text), 1, kMaxDevices);
}

bool IsDevice(CUdevice device) { return device >= 0 && device < DeviceCount(); }

CUcontext NewContext(bool primary, CUdevice device) {
  auto* context = new CUctx_st;
  context->device = device;
  context->id = g_contexts.fetch_add(1) + 1;
  context->primary = primary;
  context->null_stream.context = context->per_thread_stream.context = context;
  context->null_stream.id = NewStreamId();
  for (int i = 0; i < 5; ++i) NewStreamId();  // the real driver keeps these to itself
  ReportResource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, context, nullptr, nullptr);
  return context;
}

void DestroyContext(CUcontext context) {
  SleepUntilNs(ContextBusyUntilNs(context));
  ReportResource(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, context, nullptr, nullptr);
  UnloadAllModules(context);
  DestroyAllStreams(context);
  // The object stays: late questions about it must not read freed memory.
}

}  // namespace
}  // namespace fake_cuda

FAKE_EXPORT CUresult cuInit(unsigned) { return Initialise(); }

FAKE_EXPORT CUresult cuDriverGetVersion(int* version) {
  *version = 13000;
  return CUDA_SUCCESS;
}

FAKE_EXPORT CUresult cuDeviceGetCount(int* count) {
  FAKE_CALL(cuDeviceGetCount, count);
  *count = DeviceCount();
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  FAKE_CALL(cuDeviceGet, device, ordinal);
  if (!IsDevice(ordinal)) return call.Return(CUDA_ERROR_INVALID_DEVICE);
  *device = ordinal;
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuDeviceGetName(char* name, int size, CUdevice device) {
  FAKE_CALL(cuDeviceGetName, name, size, device);
  snprintf(name, static_cast<size_t>(size), "Fake GPU");
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  FAKE_CALL(cuDeviceTotalMem_v2, bytes, device);
  *bytes = size_t{1} << 30;
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  FAKE_CALL(cuDeviceGetUuid_v2, uuid, device);
  memset(uuid, 0xfa, sizeof *uuid);
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute,
                                          CUdevice device) {
  FAKE_CALL(cuDeviceGetAttribute, value, attribute, device);
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = 9;
      break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *value = 0;
      break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = 132;
      break;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
      *value = 1980000;
      break;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
      *value = 32;
      break;
    default:
      *value = 0;
  }
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  FAKE_CALL(cuDevicePrimaryCtxRetain, context, device);
  if (!IsDevice(device)) return call.Return(CUDA_ERROR_INVALID_DEVICE);
  CUcontext& primary = g_primary[device];
  bool make;
  {
    std::lock_guard<std::mutex> lock(g_mutex);
    make = primary == nullptr;
  }
  if (make) primary = NewContext(true, device);
  ++primary->retained;
  *context = primary;
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  FAKE_CALL(cuDevicePrimaryCtxRelease_v2, device);
  if (!IsDevice(device) || g_primary[device] == nullptr)
    return call.Return(CUDA_ERROR_INVALID_CONTEXT);
  CUcontext& primary = g_primary[device];
  if (--primary->retained == 0) {
    DestroyContext(primary);
    if (CurrentContext() == primary) SetCurrentContext(nullptr);
    primary = nullptr;
  }
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  FAKE_CALL(cuDevicePrimaryCtxGetState, device, flags, active);
  *flags = 0;
  *active = IsDevice(device) && g_primary[device] != nullptr;
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuCtxCreate_v4(CUcontext* context, CUctxCreateParams* create, unsigned flags,
                                    CUdevice device) {
  FAKE_CALL(cuCtxCreate_v4, context, create, flags, device);
  *context = NewContext(false, device);
  SetCurrentContext(*context);
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuCtxCreate_v2(CUcontext* context, unsigned flags, CUdevice device) {
  FAKE_CALL(cuCtxCreate_v2, context, flags, device);
  *context = NewContext(false, device);
  SetCurrentContext(*context);
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuCtxDestroy_v2(CUcontext context) {
  FAKE_CALL(cuCtxDestroy_v2, context);
  DestroyContext(context);
  // What was current before is current again; the model keeps no stack beyond the primary context.
  if (CurrentContext() == context) SetCurrentContext(g_primary[context->device]);
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuCtxSetCurrent(CUcontext context) {
  FAKE_CALL(cuCtxSetCurrent, context);
  SetCurrentContext(context);
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuCtxGetCurrent(CUcontext* context) {
  FAKE_CALL(cuCtxGetCurrent, context);
  *context = CurrentContext();
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuCtxGetDevice(CUdevice* device) {
  FAKE_CALL(cuCtxGetDevice, device);
  if (CurrentContext() == nullptr) return call.Return(CUDA_ERROR_INVALID_CONTEXT);
  *device = CurrentContext()->device;
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuCtxSynchronize() {
  FAKE_CALL_WITHOUT_PARAMS(cuCtxSynchronize);
  if (CurrentContext() == nullptr) return call.Return(CUDA_ERROR_INVALID_CONTEXT);
  const uint64_t start_ns = NowNs();
  SleepUntilNs(ContextBusyUntilNs(CurrentContext()));
  ReportSynchronization(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE, start_ns,
                        CurrentContext(), nullptr, nullptr, CUDA_SUCCESS);
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuGetErrorName(CUresult error, const char** name) {
  *name = error == CUDA_SUCCESS ? "CUDA_SUCCESS" : "CUDA_ERROR";
  return CUDA_SUCCESS;
}

FAKE_EXPORT CUresult cuGetErrorString(CUresult error, const char** text) {
  *text = error == CUDA_SUCCESS ? "no error" : "error of the stand-in driver";
  return CUDA_SUCCESS;
}

FAKE_EXPORT CUresult cuGetProcAddress_v2(const char* symbol, void** function, int, cuuint64_t flags,
                                         CUdriverProcAddressQueryResult* status) {
  Dl_info self;
  dladdr(reinterpret_cast<void*>(&cuInit), &self);
  void* library = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  const std::string name = symbol;
  *function = nullptr;
  const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  for (const char* version : {"_v4", "_v3", "_v2", ""}) {
    if (per_thread && *function == nullptr)
      *function = dlsym(library, (name + version + "_ptsz").c_str());
    if (*function == nullptr) *function = dlsym(library, (name + version).c_str());
  }
  dlclose(library);
  const bool found = *function != nullptr;
  if (status != nullptr)
    *status = found ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return found ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

// --- What the stand-in CUPTI asks
// ---------------------------------------------------------------------

namespace fake_cuda {
namespace {

CUptiResult ContextId(CUcontext context, uint32_t* id) {
  if (context == nullptr) return CUPTI_ERROR_INVALID_CONTEXT;
  *id = context->id;
  return CUPTI_SUCCESS;
}

CUptiResult DeviceId(CUcontext context, uint32_t* id) {
  if (context == nullptr) context = CurrentContext();
  if (context == nullptr) return CUPTI_ERROR_INVALID_CONTEXT;
  *id = static_cast<uint32_t>(context->device);
  return CUPTI_SUCCESS;
}

CUptiResult StreamId(CUcontext context, CUstream stream, bool per_thread, uint32_t* id) {
  CUcontext before = CurrentContext();
  if (context != nullptr) SetCurrentContext(context);
  const CUstream resolved =
      CurrentContext() == nullptr ? nullptr : ResolveStream(stream, per_thread);
  SetCurrentContext(before);
  if (resolved == nullptr) return CUPTI_ERROR_INVALID_CONTEXT;
  *id = resolved->id;
  return CUPTI_SUCCESS;
}

CUptiResult GraphId(CUgraph graph, uint32_t* id) {
  if (graph == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *id = graph->id;
  return CUPTI_SUCCESS;
}

CUptiResult GraphNodeId(CUgraphNode node, uint64_t* id) {
  if (node == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *id = uint64_t{node->graph->id} << 32 | node->index;
  return CUPTI_SUCCESS;
}

CUptiResult GraphExecId(CUgraphExec exec, uint32_t* id) {
  return GraphId(reinterpret_cast<CUgraph>(exec), id);
}

}  // namespace
}  // namespace fake_cuda

extern "C" __attribute__((visibility("default"))) const DriverInterface fake_cuda_driver = {
    SetTracer, GraphId, GraphNodeId, GraphExecId, StreamId, ContextId, DeviceId, NowNs};
