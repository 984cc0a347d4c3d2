// Executable graphs once they exist: updates, nodes switched off and on, launches, destruction.
#include <algorithm>
#include <cstring>
#include <map>

#include "tests/fake_cuda/driver/driver.h"

namespace fake_cuda {
namespace {

CUgraphNode FindClone(CUgraph exec, CUgraphNode original) {
  for (CUgraphNode node : exec->nodes)
    if (node->original == original) return node;
  return nullptr;
}

void ReportSetParams(CUgraph exec, CUgraphNode node) {
  CUpti_GraphData data = {};
  data.originalGraph = exec->source;
  data.node = node;
  data.originalNode = node->original;
  data.graphExec = reinterpret_cast<CUgraphExec>(exec);
  ReportGraph(CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS, data);
}

CUresult SetParams(CUgraph exec, CUgraphNode original, const CUgraphNode_st& content) {
  CUgraphNode node = FindClone(exec, original);
  if (node == nullptr || node->type != CU_GRAPH_NODE_TYPE_KERNEL) return CUDA_ERROR_INVALID_VALUE;
  node->kernel = content.kernel;
  node->arguments = content.arguments;
  ReportSetParams(exec, node);
  return CUDA_SUCCESS;
}

// The update that the model knows: the same nodes of the same types, in the same order of creation.
CUresult Update(CUgraph exec, CUgraph by) {
  std::vector<CUgraphNode> nodes;
  for (CUgraphNode node : exec->nodes)
    if (node->original != nullptr) nodes.push_back(node);
  std::sort(nodes.begin(), nodes.end(), [](auto a, auto b) { return a->index < b->index; });
  if (nodes.size() != by->nodes.size()) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  for (size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i]->type != by->nodes[i]->type) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  for (size_t i = nodes.size(); i-- > 0;) {
    if (nodes[i]->type != CU_GRAPH_NODE_TYPE_KERNEL) continue;
    CUpti_GraphData data = {};
    data.node = by->nodes[i];
    data.originalNode = nodes[i];
    data.graphExec = reinterpret_cast<CUgraphExec>(exec);
    ReportGraph(CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED, data);
    nodes[i]->kernel = by->nodes[i]->kernel;
    nodes[i]->arguments = by->nodes[i]->arguments;
    ReportSetParams(exec, nodes[i]);
  }
  return CUDA_SUCCESS;
}

void RunMemset(const CUDA_MEMSET_NODE_PARAMS& m) {
  for (size_t row = 0; row < m.height; ++row) {
    char* at = reinterpret_cast<char*>(m.dst) + row * m.pitch;
    for (size_t i = 0; i < m.width; ++i) memcpy(at + i * m.elementSize, &m.value, m.elementSize);
  }
}

// Runs one node; false if it leaves no record.
bool RunNode(CUgraphNode node, Work& work, uint64_t& duration_ns) {
  duration_ns = 1000;
  switch (node->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      const KernelInfo& info = *node->kernel.func->info;
      duration_ns = RunKernel(info, node->arguments.data());
      work.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
      work.name = info.name;
      const unsigned grid[] = {node->kernel.gridDimX, node->kernel.gridDimY, node->kernel.gridDimZ};
      const unsigned block[] = {node->kernel.blockDimX, node->kernel.blockDimY,
                                node->kernel.blockDimZ};
      memcpy(work.grid, grid, sizeof grid);
      memcpy(work.block, block, sizeof block);
      memcpy(work.cluster, node->cluster, sizeof work.cluster);
      work.dynamic_shared_bytes = node->kernel.sharedMemBytes;
      work.registers = 16;
      work.grid_id = node->index + 1;
      return true;
    }
    case CU_GRAPH_NODE_TYPE_MEMSET:
      RunMemset(node->memset);
      work.kind = CUPTI_ACTIVITY_KIND_MEMSET;
      work.bytes = node->memset.width * node->memset.elementSize * node->memset.height;
      work.value = node->memset.value;
      return true;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      memmove(reinterpret_cast<void*>(node->memcpy.dstDevice),
              reinterpret_cast<void*>(node->memcpy.srcDevice), node->memcpy.WidthInBytes);
      work.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
      work.bytes = node->memcpy.WidthInBytes;
      work.copy_kind = 8;
      work.source_kind = work.destination_kind = 3;
      return true;
    case CU_GRAPH_NODE_TYPE_HOST:
      node->host.fn(node->host.userData);
      return false;
    default:
      return false;
  }
}

CUresult Launch(CUgraph exec, CUstream stream) {
  if (stream->capture != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  std::map<CUgraphNode, uint64_t> end_ns;
  uint64_t last = 0;
  CUstream_st branch_stream;
  std::map<uint32_t, uint64_t> busy;
  for (CUgraphNode node : exec->nodes) {
    uint64_t after = stream->busy_until_ns.load();
    for (CUgraphNode dependency : node->dependencies) after = std::max(after, end_ns[dependency]);
    end_ns[node] = after;
    if (!node->enabled || node == exec->root) continue;
    Work work = {};
    uint64_t duration = 0;
    if (!RunNode(node, work, duration)) continue;
    const uint32_t branch = exec->branch[node];
    work.device_id = static_cast<uint32_t>(stream->context->device);
    work.context_id = stream->context->id;
    work.stream_id = branch == 0 ? stream->id : exec->branch_stream_ids[branch - 1];
    work.channel_id = stream->channel + branch;
    work.correlation_id = CurrentCorrelationId();
    work.graph_id = exec->id;
    work.graph_node_id = uint64_t{exec->id} << 32 | node->index;
    work.flags = 1;
    if (node->conditional_body) {
      work.conditional_body = true;
      work.correlation_id = 0;
      work.stream_id = exec->body_stream_id;
    }
    branch_stream.busy_until_ns = busy[branch];
    busy[branch] = Enqueue(&branch_stream, work, duration, after);
    end_ns[node] = work.end_ns;
    last = std::max(last, work.end_ns);
    if (const Tracer* tracer = GetTracer()) tracer->work(work);
  }
  uint64_t now_busy = stream->busy_until_ns.load();
  while (now_busy < last && !stream->busy_until_ns.compare_exchange_weak(now_busy, last)) {
  }
  return CUDA_SUCCESS;
}

void DestroyExec(CUgraph exec) {
  CUpti_GraphData data = {};
  data.graphExec = reinterpret_cast<CUgraphExec>(exec);
  ReportGraph(CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING, data);
  data = {};
  data.graph = exec;
  ReportGraph(CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING, data);
  DestroyGraph(exec->hidden);
  for (CUgraphNode node : exec->nodes) {
    ReportNode(CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING, exec, node);
    DeleteNodeObject(node);
  }
  delete exec;
}

}  // namespace

}  // namespace fake_cuda

using namespace fake_cuda;

namespace {
CUgraph Graph(CUgraphExec exec) { return reinterpret_cast<CUgraph>(exec); }
}  // namespace

FAKE_EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph,
                                                 unsigned long long flags) {
  FAKE_CALL(cuGraphInstantiateWithFlags, exec, graph, flags);
  *exec = reinterpret_cast<CUgraphExec>(InstantiateGraph(graph));
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuGraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph,
                                                  CUDA_GRAPH_INSTANTIATE_PARAMS* instantiate) {
  FAKE_CALL(cuGraphInstantiateWithParams, exec, graph, instantiate);
  *exec = reinterpret_cast<CUgraphExec>(InstantiateGraph(graph));
  instantiate->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuGraphUpload(CUgraphExec exec, CUstream stream) {
  FAKE_CALL(cuGraphUpload, exec, stream);
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  FAKE_CALL(cuGraphLaunch, exec, stream);
  const CUresult result = call.Return(Launch(Graph(exec), ResolveStream(stream)));
  CountLaunchCall();
  return result;
}

FAKE_EXPORT CUresult cuGraphLaunch_ptsz(CUgraphExec exec, CUstream stream) {
  FAKE_CALL(cuGraphLaunch_ptsz, exec, stream);
  const CUresult result = call.Return(Launch(Graph(exec), ResolveStream(stream, true)));
  CountLaunchCall();
  return result;
}

FAKE_EXPORT CUresult cuGraphExecDestroy(CUgraphExec exec) {
  FAKE_CALL(cuGraphExecDestroy, exec);
  DestroyExec(Graph(exec));
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph,
                                          CUgraphExecUpdateResultInfo* info) {
  FAKE_CALL(cuGraphExecUpdate_v2, exec, graph, info);
  const CUresult result = Update(Graph(exec), graph);
  info->result = result == CUDA_SUCCESS ? CU_GRAPH_EXEC_UPDATE_SUCCESS
                                        : CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
  return call.Return(result);
}

FAKE_EXPORT CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                                       const CUDA_KERNEL_NODE_PARAMS* kernel) {
  FAKE_CALL(cuGraphExecKernelNodeSetParams_v2, exec, node, kernel);
  CUgraphNode_st content;
  const CUresult result = FillKernel(content, *kernel);
  return call.Return(result != CUDA_SUCCESS ? result : SetParams(Graph(exec), node, content));
}

FAKE_EXPORT CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                              CUgraphNodeParams* node_params) {
  FAKE_CALL(cuGraphExecNodeSetParams, exec, node, node_params);
  if (node_params->type != CU_GRAPH_NODE_TYPE_KERNEL) return call.Return(CUDA_ERROR_NOT_SUPPORTED);
  CUgraphNode_st content;
  const CUresult result = FillKernelFromNodeParams(content, *node_params);
  return call.Return(result != CUDA_SUCCESS ? result : SetParams(Graph(exec), node, content));
}

FAKE_EXPORT CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned enabled) {
  FAKE_CALL(cuGraphNodeSetEnabled, exec, node, enabled);
  CUgraphNode clone = FindClone(Graph(exec), node);
  if (clone == nullptr) return call.Return(CUDA_ERROR_INVALID_VALUE);
  clone->enabled = enabled != 0;
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode node, unsigned* enabled) {
  FAKE_CALL(cuGraphNodeGetEnabled, exec, node, enabled);
  CUgraphNode clone = FindClone(Graph(exec), node);
  if (clone == nullptr) return call.Return(CUDA_ERROR_INVALID_VALUE);
  *enabled = clone->enabled;
  return call.Return(CUDA_SUCCESS);
}
