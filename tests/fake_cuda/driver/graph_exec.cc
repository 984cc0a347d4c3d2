// Executable graphs: instantiation, updates, launches. An exec is a clone of its graph; a second,
// hidden clone is only announced. Child graphs and conditional bodies are cloned into graphs of
// their own and then moved into the exec: their nodes keep the pointer and change the id, and no
// callback says so.
#include <algorithm>
#include <cstring>
#include <map>

#include "tests/fake_cuda/driver/driver.h"

namespace fake_cuda {
namespace {

void ReportNode(CUpti_CallbackId id, CUgraph graph, CUgraphNode node,
                CUgraphNode dependency = nullptr) {
  CUpti_GraphData data = {};
  data.graph = graph;
  data.node = node;
  data.dependency = dependency;
  ReportGraph(id, data);
}

bool HasInnerGraph(CUgraphNode node) {
  return node->type == CU_GRAPH_NODE_TYPE_GRAPH || node->type == CU_GRAPH_NODE_TYPE_CONDITIONAL;
}

enum class CloneReport { kFull, kHidden };

CUgraph Clone(CUgraph original, CloneReport report) {
  CUgraph clone = NewGraph();
  clone->next_index = original->next_index;
  std::map<CUgraphNode, CUgraphNode> twin;
  for (CUgraphNode from : original->nodes) {
    CUgraphNode to = NewNodeObject();
    *to = *from;
    to->graph = clone;
    to->original = from;
    to->child = nullptr;
    clone->nodes.push_back(to);
    twin[from] = to;
    CUpti_GraphData data = {};
    data.graph = clone;
    data.node = to;
    data.nodeType = from->type;
    ReportGraph(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATE_STARTING, data);
    data.nodeType = CU_GRAPH_NODE_TYPE_KERNEL;
    if (HasInnerGraph(from)) to->child = Clone(from->child, report);
    // Of the hidden clone, only nodes that hold a graph are announced as created.
    if (report == CloneReport::kFull || HasInnerGraph(from))
      ReportGraph(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, data);
    if (report == CloneReport::kHidden) continue;
    data.originalGraph = original;
    data.originalNode = from;
    ReportGraph(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, data);
  }
  for (CUgraphNode node : clone->nodes) {
    for (CUgraphNode& dependency : node->dependencies) {
      dependency = twin[dependency];
      ReportNode(CUPTI_CBID_RESOURCE_GRAPHNODE_DEPENDENCY_CREATED, clone, node, dependency);
    }
  }
  return clone;
}

std::vector<CUgraphNode> LeavesOf(const std::vector<CUgraphNode>& nodes) {
  std::vector<CUgraphNode> leaves = nodes;
  for (CUgraphNode node : nodes)
    for (CUgraphNode dependency : node->dependencies) std::erase(leaves, dependency);
  return leaves;
}

void ReplaceDependency(CUgraph exec, CUgraphNode old, const std::vector<CUgraphNode>& by,
                       bool report) {
  for (CUgraphNode node : exec->nodes) {
    auto it = std::find(node->dependencies.begin(), node->dependencies.end(), old);
    if (it == node->dependencies.end()) continue;
    node->dependencies.erase(it);
    for (CUgraphNode dependency : by) {
      node->dependencies.push_back(dependency);
      if (report)
        ReportNode(CUPTI_CBID_RESOURCE_GRAPHNODE_DEPENDENCY_CREATED, exec, node, dependency);
    }
  }
}

void RemoveNode(CUgraph exec, CUgraphNode node, const std::vector<CUgraphNode>& dependents) {
  ReportNode(CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING, exec, node);
  for (CUgraphNode dependency : node->dependencies)
    ReportNode(CUPTI_CBID_RESOURCE_GRAPHNODE_DEPENDENCY_DESTROY_STARTING, exec, node, dependency);
  for (CUgraphNode dependent : dependents)
    ReportNode(CUPTI_CBID_RESOURCE_GRAPHNODE_DEPENDENCY_DESTROY_STARTING, exec, dependent, node);
  std::erase(exec->nodes, node);
  DeleteNodeObject(node);
}

std::vector<CUgraphNode> DependentsOf(CUgraph graph, CUgraphNode of) {
  std::vector<CUgraphNode> dependents;
  for (CUgraphNode node : graph->nodes)
    for (CUgraphNode dependency : node->dependencies)
      if (dependency == of) dependents.push_back(node);
  return dependents;
}

// Moves the nodes of `inner` into `exec`; `roots` is what its first nodes then depend on.
std::vector<CUgraphNode> MoveInto(CUgraph exec, CUgraph inner,
                                  const std::vector<CUgraphNode>& roots, bool report) {
  std::vector<CUgraphNode> moved = inner->nodes;
  for (CUgraphNode node : moved) {
    node->graph = exec;
    node->index = exec->next_index++;
    exec->nodes.push_back(node);
    if (!node->dependencies.empty()) continue;
    node->dependencies = roots;
    for (CUgraphNode root : roots)
      if (report) ReportNode(CUPTI_CBID_RESOURCE_GRAPHNODE_DEPENDENCY_CREATED, exec, node, root);
  }
  inner->nodes.clear();
  return moved;
}

void ReportGraphGone(CUgraph inner) {
  CUpti_GraphData data = {};
  data.graph = inner;
  ReportGraph(CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING, data);
  delete inner;
}

void Flatten(CUgraph exec) {
  std::vector<CUgraphNode> work = exec->nodes;
  for (size_t i = 0; i < work.size(); ++i) {
    CUgraphNode node = work[i];
    if (node->type == CU_GRAPH_NODE_TYPE_GRAPH) {
      CUgraph inner = node->child;
      const std::vector<CUgraphNode> dependents = DependentsOf(exec, node);
      const std::vector<CUgraphNode> moved = MoveInto(exec, inner, node->dependencies, true);
      work.insert(work.end(), moved.begin(), moved.end());  // a child may hold children
      ReplaceDependency(exec, node, LeavesOf(moved), true);
      RemoveNode(exec, node, dependents);
      ReportGraphGone(inner);
    } else if (node->type == CU_GRAPH_NODE_TYPE_EMPTY) {
      const std::vector<CUgraphNode> dependencies = node->dependencies;
      ReplaceDependency(exec, node, dependencies, false);
      RemoveNode(exec, node, {});
    }
  }
}

CUgraphNode AddInternalNode(CUgraph exec, const std::vector<CUgraphNode>& dependencies) {
  CUgraphNode node = NewNodeObject();
  *node = CUgraphNode_st();
  node->graph = exec;
  node->index = exec->next_index++;
  node->dependencies = dependencies;
  exec->nodes.push_back(node);
  // Announced with the type of a kernel node.
  ReportNode(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATE_STARTING, exec, node);
  ReportNode(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, exec, node);
  for (CUgraphNode dependency : dependencies)
    ReportNode(CUPTI_CBID_RESOURCE_GRAPHNODE_DEPENDENCY_CREATED, exec, node, dependency);
  return node;
}

void AddRoot(CUgraph exec) {
  std::vector<CUgraphNode> heads;
  for (CUgraphNode node : exec->nodes)
    if (node->dependencies.empty()) heads.push_back(node);
  exec->root = AddInternalNode(exec, {});
  for (CUgraphNode head : heads) {
    head->dependencies.push_back(exec->root);
    ReportNode(CUPTI_CBID_RESOURCE_GRAPHNODE_DEPENDENCY_CREATED, exec, head, exec->root);
  }
}

// Conditional bodies: the body's nodes move in, with a tail node after them.
void MoveBodies(CUgraph exec) {
  std::vector<std::vector<CUgraphNode>> bodies;
  const std::vector<CUgraphNode> before = exec->nodes;
  for (CUgraphNode node : before) {
    if (node->type != CU_GRAPH_NODE_TYPE_CONDITIONAL) continue;
    CUgraph inner = node->child;
    node->child = nullptr;
    std::vector<CUgraphNode> moved = MoveInto(exec, inner, {node}, false);
    for (CUgraphNode body : moved) {
      body->conditional_body = true;
      body->enabled = node->conditional_value != 0;
    }
    bodies.push_back(std::move(moved));
    ReportGraphGone(inner);
  }
  if (bodies.empty()) return;
  AddRoot(exec);
  for (const auto& body : bodies) AddInternalNode(exec, LeavesOf(body));
}

// In the order in which they run: by dependencies, then by index.
std::vector<CUgraphNode> Ordered(CUgraph graph) {
  std::vector<CUgraphNode> rest = graph->nodes, ordered;
  std::sort(rest.begin(), rest.end(), [](auto a, auto b) { return a->index < b->index; });
  while (!rest.empty()) {
    auto ready = std::find_if(rest.begin(), rest.end(), [&](CUgraphNode node) {
      return std::all_of(node->dependencies.begin(), node->dependencies.end(), [&](CUgraphNode d) {
        return std::find(ordered.begin(), ordered.end(), d) != ordered.end();
      });
    });
    if (ready == rest.end()) break;
    ordered.push_back(*ready);
    rest.erase(ready);
  }
  return ordered;
}

// A node goes on in the branch of its first dependency that nothing goes on from yet.
void AssignBranches(CUgraph exec) {
  std::map<CUgraphNode, bool> continued;
  uint32_t branches = 0;
  exec->nodes = Ordered(exec);
  for (CUgraphNode node : exec->nodes) {
    auto parent = std::find_if(node->dependencies.begin(), node->dependencies.end(),
                               [&](CUgraphNode d) { return !continued[d]; });
    const bool goes_on = parent != node->dependencies.end();
    exec->branch[node] = goes_on ? exec->branch[*parent] : branches++;
    if (goes_on) continued[*parent] = true;
  }
  for (uint32_t b = 1; b < branches; ++b) exec->branch_stream_ids.push_back(NewStreamId());
}

CUgraph Instantiate(CUgraph source) {
  CUgraph exec = Clone(source, CloneReport::kFull);
  exec->hidden = Clone(source, CloneReport::kHidden);
  exec->is_exec = true;
  exec->source = source;
  exec->context = CurrentContext();
  CUpti_GraphData data = {};
  data.graph = source;
  data.graphExec = reinterpret_cast<CUgraphExec>(exec);
  ReportGraph(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING, data, exec->context);
  Flatten(exec);
  MoveBodies(exec);
  // Seen for three and more nodes, not for two, and not with programmatic dependencies.
  const bool programmatic = std::any_of(exec->nodes.begin(), exec->nodes.end(),
                                        [](CUgraphNode node) { return node->programmatic; });
  if (exec->root == nullptr && !programmatic && exec->nodes.size() >= 3) AddRoot(exec);
  AssignBranches(exec);
  for (CUgraphNode node : exec->nodes)
    if (node->conditional_body && exec->body_stream_id == 0) exec->body_stream_id = NewStreamId();
  ReportGraph(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED, data, exec->context);
  return exec;
}

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
      duration_ns = RunKernel(info, node->arguments);
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

CUgraph CloneGraph(CUgraph original) { return Clone(original, CloneReport::kFull); }

}  // namespace fake_cuda

using namespace fake_cuda;

namespace {
CUgraph Graph(CUgraphExec exec) { return reinterpret_cast<CUgraph>(exec); }
}  // namespace

FAKE_EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph,
                                                 unsigned long long flags) {
  FAKE_CALL(cuGraphInstantiateWithFlags, exec, graph, flags);
  *exec = reinterpret_cast<CUgraphExec>(Instantiate(graph));
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuGraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph,
                                                  CUDA_GRAPH_INSTANTIATE_PARAMS* instantiate) {
  FAKE_CALL(cuGraphInstantiateWithParams, exec, graph, instantiate);
  *exec = reinterpret_cast<CUgraphExec>(Instantiate(graph));
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
