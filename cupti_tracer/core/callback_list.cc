#include "cupti_tracer/core/callbacks.h"
#include "cupti_tracer/core/launch_description.h"

namespace hotproof::tracer {
namespace {

constexpr CallbackId Drv(CUpti_CallbackId id) { return {CUPTI_CB_DOMAIN_DRIVER_API, id}; }
constexpr CallbackId Res(CUpti_CallbackId id) { return {CUPTI_CB_DOMAIN_RESOURCE, id}; }

constexpr CallbackId kCallbacks[] = {
    Drv(CUPTI_DRIVER_TRACE_CBID_cuLaunch),
    Drv(CUPTI_DRIVER_TRACE_CBID_cuLaunchGrid),
    Drv(CUPTI_DRIVER_TRACE_CBID_cuLaunchGridAsync),
    Drv(CUPTI_DRIVER_TRACE_CBID_cuFuncSetBlockShape),
    Drv(CUPTI_DRIVER_TRACE_CBID_cuFuncSetSharedSize),
    Drv(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel),
    Drv(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz),
    Drv(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx),
    Drv(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz),
    Drv(CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel),
    Drv(CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz),
    Drv(CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernelMultiDevice),
    Drv(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch),
    Drv(CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz),
    Drv(CUPTI_DRIVER_TRACE_CBID_cuGraphAddKernelNode),
    Drv(CUPTI_DRIVER_TRACE_CBID_cuGraphAddKernelNode_v2),
    Drv(CUPTI_DRIVER_TRACE_CBID_cuGraphAddNode),
    Drv(CUPTI_DRIVER_TRACE_CBID_cuGraphAddNode_v2),
    Drv(CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiate),
    Drv(CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiate_v2),
    Drv(CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags),
    Drv(CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams),
    Drv(CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams_ptsz),
    Drv(CUPTI_DRIVER_TRACE_CBID_cuGraphNodeSetEnabled),
    Drv(CUPTI_DRIVER_TRACE_CBID_cuGraphKernelNodeSetParams),
    Drv(CUPTI_DRIVER_TRACE_CBID_cuGraphKernelNodeSetParams_v2),
    Drv(CUPTI_DRIVER_TRACE_CBID_cuGraphNodeSetParams),
    Drv(CUPTI_DRIVER_TRACE_CBID_cuGraphKernelNodeSetAttribute),
    Drv(CUPTI_DRIVER_TRACE_CBID_cuGraphKernelNodeCopyAttributes),
    Drv(CUPTI_DRIVER_TRACE_CBID_cuGraphExecKernelNodeSetParams),
    Drv(CUPTI_DRIVER_TRACE_CBID_cuGraphExecKernelNodeSetParams_v2),
    Drv(CUPTI_DRIVER_TRACE_CBID_cuGraphExecNodeSetParams),
    Drv(CUPTI_DRIVER_TRACE_CBID_cuGraphExecUpdate),
    Drv(CUPTI_DRIVER_TRACE_CBID_cuGraphExecUpdate_v2),
    Drv(CUPTI_DRIVER_TRACE_CBID_cuGraphExecChildGraphNodeSetParams),
    Drv(CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture),
    Drv(CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture_ptsz),
    Drv(CUPTI_DRIVER_TRACE_CBID_cuTensorMapEncodeTiled),
    Drv(CUPTI_DRIVER_TRACE_CBID_cuTensorMapEncodeIm2col),
    Drv(CUPTI_DRIVER_TRACE_CBID_cuTensorMapEncodeIm2colWide),
    Drv(CUPTI_DRIVER_TRACE_CBID_cuTensorMapReplaceAddress),
    Drv(CUPTI_DRIVER_TRACE_CBID_cuModuleLoad),
    Drv(CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData),
    Drv(CUPTI_DRIVER_TRACE_CBID_cuModuleLoadDataEx),
    Drv(CUPTI_DRIVER_TRACE_CBID_cuModuleLoadFatBinary),
    Res(CUPTI_CBID_RESOURCE_CONTEXT_CREATED),
    Res(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING),
    Res(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING),
    Res(CUPTI_CBID_RESOURCE_MODULE_LOADED),
    Res(CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING),
    Res(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATE_STARTING),
    Res(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED),
    Res(CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING),
    Res(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED),
    Res(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED),
    Res(CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING),
    Res(CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED),
    {CUPTI_CB_DOMAIN_STATE, CUPTI_CBID_STATE_FATAL_ERROR},
    {CUPTI_CB_DOMAIN_STATE, CUPTI_CBID_STATE_ERROR},
};

}  // namespace

std::span<const CallbackId> CallbacksToEnable() { return kCallbacks; }

bool IsCallbackRequired(const CallbackId& callback) {
  if (callback.domain == CUPTI_CB_DOMAIN_RESOURCE) {
    return callback.id == CUPTI_CBID_RESOURCE_CONTEXT_CREATED ||
           callback.id == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATE_STARTING ||
           callback.id == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED ||
           callback.id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED ||
           callback.id == CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED;
  }
  return callback.domain == CUPTI_CB_DOMAIN_DRIVER_API &&
         (IsKernelLaunch(callback.id) || IsGraphLaunch(callback.id));
}

}  // namespace hotproof::tracer
