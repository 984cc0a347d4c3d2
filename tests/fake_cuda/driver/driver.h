// The stand-in driver's common parts: the state of the process, the wrapper that every API call
// goes through, and what its files offer each other. Any thread; see each function.
#pragma once

#include <cuda.h>
#include <cupti.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/fake_cuda/driver/objects.h"
#include "tests/fake_cuda/interface.h"

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

namespace fake_cuda {

// --- state.cc
// -------------------------------------------------------------------------------------------

// Whether cuInit has succeeded in this process (a fork's child starts anew but cannot).
bool Initialised();
CUresult Initialise();  // cuInit's work: the injection, then CU_INIT_FINISHED

const Tracer* GetTracer();
void SetTracer(const Tracer* tracer);

CUcontext CurrentContext();
void SetCurrentContext(CUcontext context);

uint64_t NowNs();
void SleepUntilNs(uint64_t ns);

// --- call.cc
// --------------------------------------------------------------------------------------------

// One driver API call: reports its entry when made, its exit in Return. Calls inside a call (a
// client's own calls in a callback) carry the outer call's correlation id.
class Call {
 public:
  Call(CUpti_CallbackId id, const char* name, const void* params, const char* symbol = nullptr);
  CUresult Return(CUresult result);
  uint32_t correlation_id() const { return data_.correlationId; }
  // False before cuInit: the call must fail with CUDA_ERROR_NOT_INITIALIZED and reports nothing.
  bool allowed() const { return allowed_; }

 private:
  void Report(CUpti_ApiCallbackSite site);
  CUpti_CallbackId id_;
  CUpti_CallbackData data_ = {};
  uint64_t correlation_data_ = 0;
  CUresult result_ = CUDA_SUCCESS;
  bool allowed_, reported_ = false;
};

uint32_t CurrentCorrelationId();
void CountLaunchCall();  // for the fault kill_at_launch; called after the exit callback

// Resource callbacks. `context` is null for graphs, as the real driver leaves it.
void ReportResource(CUpti_CallbackId id, CUcontext context, CUstream stream, void* descriptor);
void ReportGraph(CUpti_CallbackId id, CUpti_GraphData data, CUcontext context = nullptr);

// --- module.cc
// ------------------------------------------------------------------------------------------

const char* FunctionName(CUfunction function_or_kernel);
// The function itself, or the kernel's function in the current context (loading its library's
// module).
CUfunction ResolveFunction(CUfunction function_or_kernel);
// Into `to`, KernelInfo::parameter_bytes of them.
void GatherArguments(const KernelInfo& info, void** kernel_params, void** extra, uint8_t* to);
void UnloadAllModules(CUcontext context);
void ReportModule(CUpti_CallbackId id, CUmodule module);

// --- stream.cc
// ------------------------------------------------------------------------------------------

uint32_t NewStreamId();
CUstream ResolveStream(CUstream stream, bool per_thread = false);
void DestroyAllStreams(CUcontext context);
// CUPTI's record of a wait or a query that ended with `result`. Null `event`, `stream`: none.
void ReportSynchronization(CUpti_ActivitySynchronizationType type, uint64_t start_ns,
                           CUcontext context, CUstream stream, CUevent event, CUresult result);
uint64_t ContextBusyUntilNs(CUcontext context);

// --- memory.cc
// ------------------------------------------------------------------------------------------

// --- gpu.cc: the model of the device
// --------------------------------------------------------------------

// How a kernel runs: its effect on memory happens at once, its times are the model's.
uint64_t RunKernel(const KernelInfo& info, const uint8_t* arguments);  // duration, ns
// Starts after `after_ns` and after what the stream already has; returns the end.
uint64_t Enqueue(CUstream stream, Work& work, uint64_t duration_ns, uint64_t after_ns = 0);

// --- graph.cc
// -------------------------------------------------------------------------------------------

CUgraph NewGraph();  // reports GRAPH_CREATED
// Reports CREATE_STARTING, dependencies, CREATED. `fill` sets what the type needs before the first
// report.
CUgraphNode AddNode(CUgraph graph, CUgraphNodeType type,
                    const std::vector<CUgraphNode>& dependencies, const CUgraphNode_st& content);
void DestroyGraph(CUgraph graph);
CUresult FillKernel(CUgraphNode_st& node, const CUDA_KERNEL_NODE_PARAMS& params);
CUresult FillKernelFromNodeParams(CUgraphNode_st& node, const CUgraphNodeParams& params);
CUgraphNode NewNodeObject();
void DeleteNodeObject(CUgraphNode node);
void CaptureNode(CUstream stream, CUgraphNodeType type, const CUgraphNode_st& content);

// --- graph_exec.cc
// --------------------------------------------------------------------------------------

CUgraph CloneGraph(CUgraph original);
CUgraph InstantiateGraph(CUgraph source);
void ReportNode(CUpti_CallbackId id, CUgraph graph, CUgraphNode node,
                CUgraphNode dependency = nullptr);

}  // namespace fake_cuda

// FAKE_CALL(cuMemAlloc_v2, p, n): starts the call's report with its parameter structure.
#define FAKE_CALL(name, ...)                                            \
  name##_params params = {__VA_ARGS__};                                 \
  fake_cuda::Call call(CUPTI_DRIVER_TRACE_CBID_##name, #name, &params); \
  if (!call.allowed()) return CUDA_ERROR_NOT_INITIALIZED
#define FAKE_CALL_WITHOUT_PARAMS(name)                                  \
  fake_cuda::Call call(CUPTI_DRIVER_TRACE_CBID_##name, #name, nullptr); \
  if (!call.allowed()) return CUDA_ERROR_NOT_INITIALIZED
