#include "cupti_tracer/core/callbacks.h"

#include "cupti_tracer/core/callback_data.h"
#include "cupti_tracer/core/guard.h"
#include "cupti_tracer/core/launch_description.h"
#include "cupti_tracer/core/launch_params.h"
#include "cupti_tracer/core/session.h"
#include "cupti_tracer/core/tensor_map_calls.h"
#include "cupti_tracer/graphs/graph_callbacks.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace hotproof::tracer {
namespace {

// How long the call that this thread comes out of took; 0 while nothing is timed.
uint32_t CallNs(const CurrentCall& call) {
  if (call.enter_ns == 0) return 0;
  return static_cast<uint32_t>(std::min<uint64_t>(MonotonicNs() - call.enter_ns, UINT32_MAX));
}

void OnKernelLaunchExit(Session& session, CUpti_CallbackId id, const CUpti_CallbackData& data) {
  CurrentCall& call = callback_thread.call;
  if (call.EndCaptured()) return;
  session.OnContext();
  Collection& collection = session.collection();
  if (!Succeeded(data)) return collection.file.counters().CountRefused();
  const uint32_t call_ns = CallNs(call);
  const uint32_t launches = LaunchesOfCall(id, data.functionParams);
  std::vector<LaunchTable::Launch> several;
  for (uint32_t i = 0; i < launches; ++i) {
    LaunchDescription description = DescribeLaunch(id, data.functionParams, data.symbolName, i);
    if (IsLegacyLaunch(id)) collection.sites.AddFunctionState(description);
    description.ranges = collection.ranges.Current();
    const uint32_t site = collection.sites.Resolve(description);
    collection.file.counters().CountSite(site);
    if (!session.timing()) continue;
    const trace::Target target = trace::Target::Site(site);
    if (launches > 1) {
      several.push_back({data.correlationId, target,
                         collection.streams.FindAnywhere(description.stream),
                         call.enter_ns, call_ns});
      continue;
    }
    const uint32_t stream = collection.streams.Find(
        data.context, data.contextUid, description.stream, description.per_thread_stream);
    collection.launches.Publish(data.correlationId, target, stream, call.enter_ns, call_ns);
  }
  if (!several.empty()) {
    collection.launches.PublishSeveral(data.correlationId, std::move(several));
  }
}

void OnGraphLaunchExit(Session& session, CUpti_CallbackId id, const CUpti_CallbackData& data) {
  CurrentCall& call = callback_thread.call;
  call.EndCaptured();
  session.OnContext();
  Collection& collection = session.collection();
  if (!Succeeded(data)) return collection.file.counters().CountRefused();
  const uint32_t call_ns = CallNs(call);
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
    collection.launches.Publish(data.correlationId, trace::Target::Graph(replay.graph_id), stream,
                                call.enter_ns, call_ns);
  }
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

// The whole of a repeated launch: no lock, no allocation, nothing thrown. False: the long way takes it.
bool OnRepeatedLaunch(Session& session, CallbackThread& thread, CUpti_CallbackId id,
                      const CUpti_CallbackData& data) noexcept {
  if (!session.has_context()) return false;
  CurrentCall& call = thread.call;
  if (data.callbackSite == CUPTI_API_ENTER) {
    thread.OnCallEntered();
    call = {id, data.functionParams, data.symbolName, true, false, 0};
    if (session.timing()) {
      session.collection().launches.Prepare(data.correlationId);
      call.enter_ns = MonotonicNs();
    }
    return true;
  }
  if (call.captured || !Succeeded(data)) return false;
  LaunchDescription description;
  if (!DescribeUsualLaunch(id, data.functionParams, description)) return false;
  Collection& collection = session.collection();
  if (!collection.ranges.FindCurrent(description.ranges)) return false;
  const LaunchMemory* const memory = thread.launches;
  if (memory == nullptr) return false;
  const uint32_t site = collection.sites.ResolveCached(description, memory->launches,
                                                       CurrentLibraryCall::Get(thread.library_call));
  if (site == Sites::kNotCached) return false;
  if (session.timing()) {
    const uint32_t stream = collection.streams.FindCached(
        memory->streams, data.context, description.stream, description.per_thread_stream);
    if (stream == 0) return false;
    collection.file.counters().CountSite(site);
    const bool listed = collection.launches.Store(data.correlationId, trace::Target::Site(site),
                                                  stream, call.enter_ns, CallNs(call));
    if (!listed) Guarded([&] { collection.launches.AddLate(data.correlationId); });
  } else {
    collection.file.counters().CountSite(site);
  }
  call.active = false;
  return true;
}

void OnDriverEnter(Session& session, CUpti_CallbackId id, const CUpti_CallbackData& data) {
  CallbackThread& thread = callback_thread;
  thread.OnCallEntered();
  if (IsKernelLaunch(id) || IsGraphLaunch(id) || IsKernelNodeCall(id)) {
    thread.call = {id,   data.functionParams, data.symbolName,
                   true, false,               session.timing() ? MonotonicNs() : 0};
  } else if (id == CUPTI_DRIVER_TRACE_CBID_cuTensorMapReplaceAddress) {
    OnTensorMapReplaceEntered(session.collection().sites, data.functionParams);
  } else {
    OnGraphCallEntered(session, id);
  }
}

void OnDriverExit(Session& session, CUpti_CallbackId id, const CUpti_CallbackData& data) {
  if (IsKernelLaunch(id)) return OnKernelLaunchExit(session, id, data);
  if (IsGraphLaunch(id)) return OnGraphLaunchExit(session, id, data);
  if (IsKernelNodeCall(id)) {
    callback_thread.call.EndCaptured();
    return;
  }
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuTensorMapEncodeTiled:
    case CUPTI_DRIVER_TRACE_CBID_cuTensorMapEncodeIm2col:
    case CUPTI_DRIVER_TRACE_CBID_cuTensorMapEncodeIm2colWide:
    case CUPTI_DRIVER_TRACE_CBID_cuTensorMapReplaceAddress:
      if (Succeeded(data)) {
        OnTensorMapCall(session.collection().sites, id, data.functionParams);
      }
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuFuncSetBlockShape:
      if (Succeeded(data)) {
        const auto& p = ParamsOf<cuFuncSetBlockShape_params>(data);
        const uint32_t block[] = {static_cast<uint32_t>(p.x), static_cast<uint32_t>(p.y),
                                  static_cast<uint32_t>(p.z)};
        session.collection().sites.OnBlockShape(p.hfunc, block);
      }
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuFuncSetSharedSize:
      if (Succeeded(data)) {
        const auto& p = ParamsOf<cuFuncSetSharedSize_params>(data);
        session.collection().sites.OnSharedSize(p.hfunc, p.bytes);
      }
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuModuleLoad:
    case CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData:
    case CUPTI_DRIVER_TRACE_CBID_cuModuleLoadDataEx:
    case CUPTI_DRIVER_TRACE_CBID_cuModuleLoadFatBinary:
      OnModuleLoadExit(session, id, data);
      break;
    default:
      OnGraphCallExit(session, id, data);
      break;
  }
}

void OnResource(Session& session, CUpti_CallbackId id, const CUpti_ResourceData* resource) {
  if (resource == nullptr) return;  // seen with CU_INIT_FINISHED
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
    default:
      if (resource->resourceDescriptor == nullptr) break;
      OnGraphResource(session, id, *static_cast<const CUpti_GraphData*>(resource->resourceDescriptor));
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

void CUPTIAPI OnCallback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  Session* session = Session::Get();
  if (session == nullptr) return;  // a forked child
  CallbackThread& thread = ThisCallbackThread();
  if (domain != CUPTI_CB_DOMAIN_DRIVER_API) {
    const bool inside_before = std::exchange(thread.inside, true);
    Guarded([&] { Dispatch(*session, domain, id, data); });
    thread.inside = inside_before;
  } else if (!thread.inside) {
    thread.inside = true;
    const auto* call = static_cast<const CUpti_CallbackData*>(data);
    if (call == nullptr || !IsKernelLaunch(id) || !OnRepeatedLaunch(*session, thread, id, *call)) {
      Guarded([&] { Dispatch(*session, domain, id, data); });
    }
    thread.inside = false;
  }
}

void CUPTIAPI OnBufferRequested(uint8_t** buffer, size_t* size, size_t* max_records) {
  *max_records = 0;
  *buffer = nullptr;
  *size = 0;
  if (Session* session = Session::Get()) {
    Guarded([&] {
      const BufferPool::Buffer given = session->pool().Request();
      *buffer = given.data;
      *size = given.size;
    });
  }
}

void CUPTIAPI OnBufferCompleted(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid_size) {
  Session* session = Session::Get();
  if (session == nullptr || buffer == nullptr) return;
  Guarded([&] {
    if (session->pool().TakeBack(buffer)) {
      session->collection().records.OnBufferCompleted(buffer, valid_size);
    } else {
      session->OnForeignBuffer();
    }
  });
}

}  // namespace hotproof::tracer
