#include "cupti_tracer/core/callbacks.h"


#include "cupti_tracer/core/guard.h"
#include "cupti_tracer/core/launch_description.h"
#include "cupti_tracer/core/session.h"
#include "cupti_tracer/core/tensor_map_calls.h"

namespace hotproof::tracer {
namespace {

constexpr CallbackId Drv(CUpti_CallbackId id) { return {CUPTI_CB_DOMAIN_DRIVER_API, id}; }
constexpr CallbackId Res(CUpti_CallbackId id) { return {CUPTI_CB_DOMAIN_RESOURCE, id}; }

constexpr CallbackId kCallbacks[] = {
    Drv(CUPTI_DRIVER_TRACE_CBID_cuLaunch),
    Drv(CUPTI_DRIVER_TRACE_CBID_cuLaunchGrid),
    Drv(CUPTI_DRIVER_TRACE_CBID_cuLaunchGridAsync),
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

// CUPTI_API_VERSION from which updates of an exec are reported node by node.
constexpr uint32_t kGraphUpdatesReported = 130000;

// The launching or node-adding call that this thread is in.
struct CurrentCall {
  CUpti_CallbackId id = 0;
  CUpti_CallbackData data = {};  // a copy: CUPTI's own lives only during its callback
  bool active = false;
  bool captured = false;  // a node was created in it: no launch
};
thread_local CurrentCall current_call;
// Our own driver calls come back as callbacks of the same thread.
thread_local bool inside = false;

template <typename Params>
const Params& ParamsOf(const CUpti_CallbackData& data) {
  return *static_cast<const Params*>(data.functionParams);
}

bool Succeeded(const CUpti_CallbackData& data) {
  return data.functionReturnValue != nullptr &&
         *static_cast<const CUresult*>(data.functionReturnValue) == CUDA_SUCCESS;
}

void OnKernelLaunchExit(Session& session, CUpti_CallbackId id, const CUpti_CallbackData& data) {
  const bool captured = current_call.captured;
  current_call.active = current_call.captured = false;
  if (captured) return;
  session.OnContext();
  Collection& collection = session.collection();
  if (!Succeeded(data)) return collection.file.counters().CountRefused();
  const uint32_t launches = LaunchesOfCall(id, data.functionParams);
  for (uint32_t i = 0; i < launches; ++i) {
    const LaunchDescription description = DescribeLaunch(id, data, i);
    const uint32_t site = collection.sites.Resolve(description);
    collection.file.counters().CountSite(site);
    if (session.timing()) {
      const uint32_t stream = collection.streams.Find(data.context, data.contextUid,
                                                      description.stream,
                                                      description.per_thread_stream);
      collection.launches.Publish(data.correlationId, trace::Target::Site(site), stream);
    }
  }
}

void OnGraphLaunchExit(Session& session, CUpti_CallbackId id, const CUpti_CallbackData& data) {
  const bool captured = current_call.captured;
  current_call.active = current_call.captured = false;
  if (captured) return;  // into a capturing stream: it made a child graph node
  session.OnContext();
  Collection& collection = session.collection();
  if (!Succeeded(data)) return collection.file.counters().CountRefused();
  const auto& params = ParamsOf<cuGraphLaunch_params>(data);
  const GraphRegistry::Replay replay = collection.graphs.OnLaunch(params.hGraph);
  TraceFile& file = collection.file;
  if (replay.first || file.replay_snapshot_armed.load(std::memory_order_relaxed)) {
    std::lock_guard lock(file.mutex());
    const bool after_capture = file.replay_snapshot_armed.exchange(false);
    if (replay.first || after_capture) {
      file.SnapshotLocked(
          after_capture ? SnapshotReason::kReplayAfterCapture : SnapshotReason::kFirstReplay,
          collection.records.ExtendLocked(data.correlationId), replay.graph_id, "");
    }
  }
  file.counters().CountGraph(replay.graph_id);
  if (session.timing()) {
    const uint32_t stream =
        collection.streams.Find(data.context, data.contextUid, params.hStream,
                                id == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz);
    collection.launches.Publish(data.correlationId, trace::Target::Graph(replay.graph_id), stream);
  }
}

void OnNodeCreated(Session& session, const CUpti_GraphData& graph) {
  if (!current_call.active) return;  // inside an instantiation: clones are reported as such
  LaunchDescription description;
  if (IsKernelLaunch(current_call.id)) {
    current_call.captured = true;
    description = DescribeLaunch(current_call.id, current_call.data, 0);
    description.captured = true;
  } else if (!DescribeKernelNode(current_call.id, current_call.data.functionParams, description)) {
    return;
  }
  session.OnContext();  // library kernels make graphs before any context
  Collection& collection = session.collection();
  const uint32_t site = collection.sites.Resolve(description);
  collection.graphs.OnNodeSite(graph.node, site);
  if (description.device_updatable) collection.graphs.OnNodeDeviceUpdatable(graph.node);
}

void OnModuleLoadExit(Session& session, CUpti_CallbackId id, const CUpti_CallbackData& data) {
  if (!Succeeded(data)) return;
  CUmodule* module = nullptr;
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuModuleLoad:
      module = ParamsOf<cuModuleLoad_params>(data).module;
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData:
      module = ParamsOf<cuModuleLoadData_params>(data).module;
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuModuleLoadDataEx:
      module = ParamsOf<cuModuleLoadDataEx_params>(data).module;
      break;
    default:
      module = ParamsOf<cuModuleLoadFatBinary_params>(data).module;
      break;
  }
  if (module != nullptr) session.collection().sites.OnModuleHandle(*module);
}

// Parameters of a node of a graph, or of an exec by its source graph's node.
void OnSetParamsExit(Session& session, CUpti_CallbackId id, const CUpti_CallbackData& data) {
  LaunchDescription description;
  if (!Succeeded(data)) return;
  if (!DescribeKernelNode(id, data.functionParams, description)) {
    // A child graph's or conditional body's parameters: which kernels are in it now is not followed.
    if (id == CUPTI_DRIVER_TRACE_CBID_cuGraphExecNodeSetParams) {
      const auto& p = ParamsOf<cuGraphExecNodeSetParams_params>(data);
      if (p.nodeParams != nullptr && (p.nodeParams->type == CU_GRAPH_NODE_TYPE_GRAPH ||
                                      p.nodeParams->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)) {
        session.collection().graphs.OnExecUpdatedUnseen(p.hGraphExec);
      }
    }
    return;
  }
  session.OnContext();
  Collection& collection = session.collection();
  const uint32_t site = collection.sites.Resolve(description);
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecKernelNodeSetParams:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecKernelNodeSetParams_v2: {
      const auto& p = ParamsOf<cuGraphExecKernelNodeSetParams_v2_params>(data);
      collection.graphs.OnExecNodeSite(p.hGraphExec, p.hNode, site);
      break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecNodeSetParams: {
      const auto& p = ParamsOf<cuGraphExecNodeSetParams_params>(data);
      collection.graphs.OnExecNodeSite(p.hGraphExec, p.hNode, site);
      break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuGraphNodeSetParams:
      collection.graphs.OnNodeSite(ParamsOf<cuGraphNodeSetParams_params>(data).hNode, site);
      break;
    default:
      collection.graphs.OnNodeSite(ParamsOf<cuGraphKernelNodeSetParams_v2_params>(data).hNode, site);
      break;
  }
}

void OnInstantiateExit(Session& session, CUpti_CallbackId id, const CUpti_CallbackData& data) {
  session.collection().graphs.OnInstantiateLeft();
  if (!Succeeded(data)) return;
  CUgraphExec* exec = nullptr;
  uint64_t flags = 0;
  if (id == CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags) {
    const auto& p = ParamsOf<cuGraphInstantiateWithFlags_params>(data);
    exec = p.phGraphExec;
    flags = p.flags;
  } else if (id == CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams ||
             id == CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams_ptsz) {
    const auto& p = ParamsOf<cuGraphInstantiateWithParams_params>(data);
    exec = p.phGraphExec;
    flags = p.instantiateParams == nullptr ? 0 : p.instantiateParams->flags;
  }
  if (exec != nullptr && (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0) {
    session.OnContext();
    session.collection().graphs.OnExecDeviceLaunchable(*exec);
  }
}

void OnDriverEnter(Session& session, CUpti_CallbackId id, const CUpti_CallbackData& data) {
  session.collection().sites.OnCallEntered();
  if (IsKernelLaunch(id) || IsGraphLaunch(id) || IsKernelNodeCall(id)) {
    current_call = {id, data, true, false};
    return;
  }
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiate:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiate_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams_ptsz:
      session.collection().graphs.OnInstantiateEntered();
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuTensorMapReplaceAddress:
      OnTensorMapReplaceEntered(session.collection().sites, data.functionParams);
      break;
    default:
      break;
  }
}

void OnDriverExit(Session& session, CUpti_CallbackId id, const CUpti_CallbackData& data) {
  if (IsKernelLaunch(id)) return OnKernelLaunchExit(session, id, data);
  if (IsGraphLaunch(id)) return OnGraphLaunchExit(session, id, data);
  if (IsKernelNodeCall(id)) {
    current_call.active = current_call.captured = false;
    return;
  }
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture:
    case CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture_ptsz: {
      // A capture that was invalidated has ended, too; a stream that was not capturing has not.
      const CUresult result = *static_cast<const CUresult*>(data.functionReturnValue);
      if (result != CUDA_SUCCESS && result != CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) break;
      Collection& collection = session.collection();
      std::lock_guard lock(collection.file.mutex());
      collection.file.SnapshotLocked(SnapshotReason::kEndCapture,
                                     collection.records.ExtendLocked(data.correlationId), 0, "");
      collection.file.replay_snapshot_armed.store(true);
      break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiate:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiate_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams_ptsz:
      OnInstantiateExit(session, id, data);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuGraphNodeSetEnabled: {
      const auto& p = ParamsOf<cuGraphNodeSetEnabled_params>(data);
      if (Succeeded(data)) {
        session.collection().graphs.OnExecNodeEnabled(p.hGraphExec, p.hNode, p.isEnabled != 0);
      }
      break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuGraphKernelNodeSetParams:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphKernelNodeSetParams_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphNodeSetParams:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecKernelNodeSetParams:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecKernelNodeSetParams_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecNodeSetParams:
      OnSetParamsExit(session, id, data);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecUpdate:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecUpdate_v2:
      if (Succeeded(data) && session.cupti().version < kGraphUpdatesReported) {
        session.collection().graphs.OnExecUpdatedUnseen(
            ParamsOf<cuGraphExecUpdate_v2_params>(data).hGraphExec);
      }
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecChildGraphNodeSetParams:
      if (Succeeded(data)) {
        session.collection().graphs.OnExecUpdatedUnseen(
            ParamsOf<cuGraphExecChildGraphNodeSetParams_params>(data).hGraphExec);
      }
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuTensorMapEncodeTiled:
    case CUPTI_DRIVER_TRACE_CBID_cuTensorMapEncodeIm2col:
    case CUPTI_DRIVER_TRACE_CBID_cuTensorMapEncodeIm2colWide:
    case CUPTI_DRIVER_TRACE_CBID_cuTensorMapReplaceAddress:
      if (Succeeded(data)) {
        OnTensorMapCall(session.collection().sites, id, data.functionParams);
      }
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuModuleLoad:
    case CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData:
    case CUPTI_DRIVER_TRACE_CBID_cuModuleLoadDataEx:
    case CUPTI_DRIVER_TRACE_CBID_cuModuleLoadFatBinary:
      OnModuleLoadExit(session, id, data);
      break;
    default:
      break;
  }
}

void OnResource(Session& session, CUpti_CallbackId id, const CUpti_ResourceData* resource) {
  if (resource == nullptr) return;  // seen with CU_INIT_FINISHED
  const auto* graph = static_cast<const CUpti_GraphData*>(resource->resourceDescriptor);
  const auto* module = static_cast<const CUpti_ModuleResourceData*>(resource->resourceDescriptor);
  switch (id) {
    case CUPTI_CBID_RESOURCE_CONTEXT_CREATED:
      session.OnContext();
      break;
    case CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING:
    case CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING:
      session.collection().streams.ForgetHandles();
      break;
    case CUPTI_CBID_RESOURCE_MODULE_LOADED:
      session.collection().sites.OnModuleLoaded(resource->context, module->moduleId, module->pCubin,
                                           module->cubinSize);
      break;
    case CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING:
      session.collection().sites.OnModuleUnloaded(resource->context, module->moduleId);
      break;
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CREATE_STARTING:
      // A graph launched into a capture becomes a node: its own nodes are reported as clones.
      if (current_call.active && IsGraphLaunch(current_call.id)) current_call.captured = true;
      session.collection().graphs.OnNodeStarting(graph->node, graph->nodeType);
      break;
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED:
      OnNodeCreated(session, *graph);
      break;
    case CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING:
      session.collection().graphs.OnNodeDestroyed(graph->node);
      break;
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED:
      session.collection().graphs.OnNodeCloned(graph->originalNode, graph->node);
      break;
    case CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED:
      session.collection().graphs.OnExecCreated(graph->graphExec, graph->graph);
      break;
    case CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING:
      session.collection().graphs.OnExecDestroyed(graph->graphExec);
      break;
    case CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED:
      session.collection().graphs.OnExecNodeUpdated(graph->graphExec, graph->originalNode, graph->node);
      break;
    default:
      break;
  }
}

void Dispatch(Session& session, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
    OnResource(session, id, static_cast<const CUpti_ResourceData*>(data));
  } else if (domain == CUPTI_CB_DOMAIN_DRIVER_API && data != nullptr) {
    const auto& call = *static_cast<const CUpti_CallbackData*>(data);
    if (call.callbackSite == CUPTI_API_ENTER) {
      OnDriverEnter(session, id, call);
    } else {
      OnDriverExit(session, id, call);
    }
  } else if (domain == CUPTI_CB_DOMAIN_STATE && data != nullptr) {
    const auto& state = *static_cast<const CUpti_StateData*>(data);
    const char* message = state.notification.message;
    const char* text =
        message != nullptr ? message : session.cupti().ResultName(state.notification.result);
    if (id == CUPTI_CBID_STATE_FATAL_ERROR) {
      session.OnCollectionEnded(text);
    } else {
      session.AddProblem(ProblemKind::kCuptiError, text);
    }
  }
}

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

void CUPTIAPI OnCallback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  Session* session = Session::Get();
  if (session == nullptr) return;  // a forked child
  if (domain != CUPTI_CB_DOMAIN_DRIVER_API) {
    Guarded([&] { Dispatch(*session, domain, id, data); });
  } else if (!inside) {
    inside = true;
    Guarded([&] { Dispatch(*session, domain, id, data); });
    inside = false;
  }
}

void CUPTIAPI OnBufferRequested(uint8_t** buffer, size_t* size, size_t* max_records) {
  *max_records = 0;
  *buffer = nullptr;
  *size = 0;
  if (Session* session = Session::Get()) {
    const BufferPool::Buffer given = session->pool().Request();
    *buffer = given.data;
    *size = given.size;
  }
}

void CUPTIAPI OnBufferCompleted(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid_size) {
  Session* session = Session::Get();
  if (session == nullptr || buffer == nullptr) return;
  Guarded([&] { session->collection().records.OnBufferCompleted(buffer, valid_size); });
}

}  // namespace hotproof::tracer
