// CUPTI and the driver as tables of function pointers, found at run time: the tracer links neither.
// Loaded once in InitializeInjection; read-only afterwards, on any thread.
#pragma once

#include <cuda.h>
#include <cupti.h>

#include <string>
#include <vector>

#include "cupti_tracer/core/config.h"

namespace hotproof::tracer {

// X(member, symbol): every CUPTI function that a trace cannot do without.
#define HOTPROOF_CUPTI_REQUIRED(X)                  \
  X(Subscribe, cuptiSubscribe)                      \
  X(Unsubscribe, cuptiUnsubscribe)                  \
  X(EnableCallback, cuptiEnableCallback)            \
  X(GetVersion, cuptiGetVersion)                    \
  X(GetGraphNodeId, cuptiGetGraphNodeId)            \
  X(GetGraphExecId, cuptiGetGraphExecId)

// What timing needs; without one of them launches are still counted.
#define HOTPROOF_CUPTI_TIMING(X)                                    \
  X(ActivityRegisterCallbacks, cuptiActivityRegisterCallbacks)      \
  X(ActivityEnable, cuptiActivityEnable)                            \
  X(ActivityDisable, cuptiActivityDisable)                          \
  X(ActivityFlushAll, cuptiActivityFlushAll)                        \
  X(ActivityGetNextRecord, cuptiActivityGetNextRecord)              \
  X(ActivityGetNumDroppedRecords, cuptiActivityGetNumDroppedRecords)

// Without these a trace is poorer, not wrong: no clock pairs, launches on an unknown stream.
#define HOTPROOF_CUPTI_USEFUL(X)        \
  X(GetTimestamp, cuptiGetTimestamp)    \
  X(GetStreamIdEx, cuptiGetStreamIdEx)

#define HOTPROOF_CUPTI_OPTIONAL(X)                  \
  X(SubscribeV2, cuptiSubscribe_v2)                 \
  X(GetGraphId, cuptiGetGraphId)                    \
  X(GetDeviceId, cuptiGetDeviceId)                  \
  X(GetContextId, cuptiGetContextId)                \
  X(GetResultString, cuptiGetResultString)          \
  X(EnableAllSyncRecords, cuptiActivityEnableAllSyncRecords)

// Driver entry points, all optional: evidence is poorer without them, counts are not.
#define HOTPROOF_DRIVER(X)                                  \
  X(DriverGetVersion, cuDriverGetVersion)                   \
  X(DeviceGetCount, cuDeviceGetCount)                       \
  X(DeviceGet, cuDeviceGet)                                 \
  X(DeviceGetName, cuDeviceGetName)                         \
  X(DeviceGetUuid, cuDeviceGetUuid_v2)                      \
  X(DeviceGetAttribute, cuDeviceGetAttribute)               \
  X(DeviceTotalMem, cuDeviceTotalMem_v2)                    \
  X(FuncGetParamInfo, cuFuncGetParamInfo)                   \
  X(KernelGetParamInfo, cuKernelGetParamInfo)               \
  X(FuncGetName, cuFuncGetName)                             \
  X(KernelGetName, cuKernelGetName)                         \
  X(FuncGetModule, cuFuncGetModule)                         \
  X(KernelGetFunction, cuKernelGetFunction)                 \
  X(PointerGetAttribute, cuPointerGetAttribute)             \
  X(TensorMapEncodeTiled, cuTensorMapEncodeTiled)           \
  X(StreamGetCtx, cuStreamGetCtx)                           \
  X(GraphKernelNodeGetParams, cuGraphKernelNodeGetParams_v2) \
  X(GraphKernelNodeGetAttribute, cuGraphKernelNodeGetAttribute) \
  X(GraphGetNodes, cuGraphGetNodes)                         \
  X(GraphGetEdges, cuGraphGetEdges_v2)                      \
  X(GraphNodeGetType, cuGraphNodeGetType)                   \
  X(GraphChildGraphNodeGetGraph, cuGraphChildGraphNodeGetGraph)

#define HOTPROOF_POINTER(member, symbol) decltype(&::symbol) member = nullptr;

struct Cupti {
  HOTPROOF_CUPTI_REQUIRED(HOTPROOF_POINTER)
  HOTPROOF_CUPTI_TIMING(HOTPROOF_POINTER)
  HOTPROOF_CUPTI_USEFUL(HOTPROOF_POINTER)
  HOTPROOF_CUPTI_OPTIONAL(HOTPROOF_POINTER)

  std::string path;          // of the library in use, "" when none was found
  uint32_t version = 0;      // CUPTI_API_VERSION's encoding
  std::string load_error;    // of the last library tried
  std::vector<std::string> missing_required;
  std::vector<std::string> missing_timing;
  std::vector<std::string> missing_useful;

  // Tries, in this order: HOTPROOF_CUPTI; a copy that is already loaded; the sonames .13 and .12;
  // CUDA_HOME; /usr/local/cuda. HOTPROOF_CUPTI set but unusable is not replaced by another copy.
  static Cupti Load(const Config& config);
  bool CanCount() const { return !path.empty() && missing_required.empty(); }
  bool CanTime() const { return CanCount() && missing_timing.empty(); }
  const char* ResultName(CUptiResult result) const;
};

struct Driver {
  HOTPROOF_DRIVER(HOTPROOF_POINTER)
  static Driver Load();
};

#undef HOTPROOF_POINTER

}  // namespace hotproof::tracer
