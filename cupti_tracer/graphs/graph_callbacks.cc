#include "cupti_tracer/graphs/graph_callbacks.h"

#include "cupti_tracer/core/callback_data.h"
#include "cupti_tracer/core/launch_description.h"
#include "cupti_tracer/core/session.h"

namespace hotproof::tracer {
namespace {

// CUPTI_API_VERSION from which updates of an exec are reported node by node.
constexpr uint32_t kGraphUpdatesReported = 130000;

bool IsInstantiation(CUpti_CallbackId id) {
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiate:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiate_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams_ptsz:
      return true;
    default:
      return false;
  }
}

void OnNodeCreated(Session& session, const CUpti_GraphData& graph) {
  CurrentCall& call = callback_thread.call;
  if (!call.active) return;  // inside an instantiation: clones are reported as such
  LaunchDescription description;
  if (IsKernelLaunch(call.id)) {
    call.captured = true;
    description = DescribeLaunch(call.id, call.params, call.symbol_name, 0);
    description.captured = true;
  } else if (!DescribeKernelNode(call.id, call.params, description)) {
    return;
  }
  session.OnContext();  // library kernels make graphs before any context
  Collection& collection = session.collection();
  const uint32_t site = collection.sites.Resolve(description);
  collection.graphs.OnNodeSite(graph.node, site);
  collection.graphs.OnNodeAttributes(graph.node, description);
  const RangeIds ranges = collection.ranges.Current();
  if (ranges.any()) collection.graphs.OnNodeRanges(graph.node, ranges);
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
  CUgraphExec exec = nullptr;
  CUgraphNode node = nullptr;
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecKernelNodeSetParams:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecKernelNodeSetParams_v2: {
      const auto& p = ParamsOf<cuGraphExecKernelNodeSetParams_v2_params>(data);
      exec = p.hGraphExec;
      node = p.hNode;
      break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecNodeSetParams: {
      const auto& p = ParamsOf<cuGraphExecNodeSetParams_params>(data);
      exec = p.hGraphExec;
      node = p.hNode;
      break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuGraphNodeSetParams:
      node = ParamsOf<cuGraphNodeSetParams_params>(data).hNode;
      break;
    default:
      node = ParamsOf<cuGraphKernelNodeSetParams_v2_params>(data).hNode;
      break;
  }
  static_cast<KernelAttributes&>(description) = exec == nullptr
                                                    ? collection.graphs.AttributesOf(node)
                                                    : collection.graphs.AttributesOf(exec, node);
  const uint32_t site = collection.sites.Resolve(description);
  if (exec == nullptr) {
    collection.graphs.OnNodeSite(node, site);
  } else {
    collection.graphs.OnExecNodeSite(exec, node, site);
  }
}

// A node of a graph has other attributes now: another site, of which the driver knows the rest.
void OnAttributesExit(Session& session, CUgraphNode node) {
  session.OnContext();
  Collection& collection = session.collection();
  LaunchDescription description;
  uint32_t site = 0;  // not guessed, where the driver does not tell
  if (DescribeKernelNode(session.driver(), node, description)) {
    description.programmatic = collection.graphs.AttributesOf(node).programmatic;
    site = collection.sites.Resolve(description);
    collection.graphs.OnNodeAttributes(node, description);
  }
  collection.graphs.OnNodeSite(node, site);
}

void OnInstantiateExit(Session& session, CUpti_CallbackId id, const CUpti_CallbackData& data) {
  session.collection().graphs.OnInstantiateLeft();
  if (!Succeeded(data)) return;
  CUgraphExec* exec = nullptr;
  CUgraph graph = nullptr;
  uint64_t flags = 0;
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags: {
      const auto& p = ParamsOf<cuGraphInstantiateWithFlags_params>(data);
      exec = p.phGraphExec;
      graph = p.hGraph;
      flags = p.flags;
      break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithParams_ptsz: {
      const auto& p = ParamsOf<cuGraphInstantiateWithParams_params>(data);
      exec = p.phGraphExec;
      graph = p.hGraph;
      flags = p.instantiateParams == nullptr ? 0 : p.instantiateParams->flags;
      break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiate: {
      const auto& p = ParamsOf<cuGraphInstantiate_params>(data);
      exec = p.phGraphExec;
      graph = p.hGraph;
      break;
    }
    default: {
      const auto& p = ParamsOf<cuGraphInstantiate_v2_params>(data);
      exec = p.phGraphExec;
      graph = p.hGraph;
      break;
    }
  }
  // Counting alone needs no edges.
  if (exec != nullptr && *exec != nullptr && session.timing()) {
    session.collection().graphs.OnExecEdges(*exec, CollectEdges(session.driver(), graph));
  }
  if (exec != nullptr && (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0) {
    session.OnContext();
    session.collection().graphs.OnExecDeviceLaunchable(*exec);
  }
}

}  // namespace

void OnGraphCallEntered(Session& session, CUpti_CallbackId id) {
  if (IsInstantiation(id)) session.collection().graphs.OnInstantiateEntered();
}

void OnGraphCallExit(Session& session, CUpti_CallbackId id, const CUpti_CallbackData& data) {
  if (IsInstantiation(id)) return OnInstantiateExit(session, id, data);
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
    case CUPTI_DRIVER_TRACE_CBID_cuGraphKernelNodeSetAttribute:
      if (Succeeded(data)) {
        OnAttributesExit(session, ParamsOf<cuGraphKernelNodeSetAttribute_params>(data).hNode);
      }
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuGraphKernelNodeCopyAttributes:
      if (Succeeded(data)) {
        OnAttributesExit(session, ParamsOf<cuGraphKernelNodeCopyAttributes_params>(data).dst);
      }
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
    default:
      break;
  }
}

void OnGraphResource(Session& session, CUpti_CallbackId id, const CUpti_GraphData& graph) {
  GraphRegistry& graphs = session.collection().graphs;
  switch (id) {
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CREATE_STARTING:
      graphs.OnNodeStarting(graph.node, graph.nodeType);
      break;
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED:
      OnNodeCreated(session, graph);
      break;
    case CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING:
      graphs.OnNodeDestroyed(graph.node);
      break;
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED:
      graphs.OnNodeCloned(graph.originalNode, graph.node);
      break;
    case CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED:
      graphs.OnExecCreated(graph.graphExec, graph.graph);
      break;
    case CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING:
      graphs.OnExecDestroyed(graph.graphExec);
      break;
    case CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED:
      graphs.OnExecNodeUpdated(graph.graphExec, graph.originalNode, graph.node);
      break;
    default:
      break;
  }
}

}  // namespace hotproof::tracer
