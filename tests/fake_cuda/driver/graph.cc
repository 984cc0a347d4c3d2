// Graphs by hand: nodes, dependencies, child graphs, conditional nodes. The order of callbacks is
// the transcripts': CREATE_STARTING, one DEPENDENCY_CREATED a dependency, what the node brings (a
// child's clone), CREATED. The node's type is told in CREATE_STARTING alone.
#include <algorithm>
#include <cstring>
#include <mutex>

#include "tests/fake_cuda/driver/driver.h"

namespace fake_cuda {
namespace {

std::atomic<uint32_t> g_next_graph_id{1};
std::mutex g_free_mutex;
std::vector<CUgraphNode>& FreeNodes() {
  static auto& nodes = *new std::vector<CUgraphNode>;
  return nodes;
}

}  // namespace

// Node pointers come back at once, last freed first, as the real driver's do.
CUgraphNode NewNodeObject() {
  std::lock_guard<std::mutex> lock(g_free_mutex);
  if (FreeNodes().empty()) return new CUgraphNode_st;
  CUgraphNode node = FreeNodes().back();
  FreeNodes().pop_back();
  return node;
}

void DeleteNodeObject(CUgraphNode node) {
  *node = CUgraphNode_st();
  std::lock_guard<std::mutex> lock(g_free_mutex);
  FreeNodes().push_back(node);
}

CUgraph NewGraph() {
  auto* graph = new CUgraph_st;
  graph->id = g_next_graph_id.fetch_add(1);
  CUpti_GraphData data = {};
  data.graph = graph;
  ReportGraph(CUPTI_CBID_RESOURCE_GRAPH_CREATED, data);
  return graph;
}

CUgraphNode AddNode(CUgraph graph, CUgraphNodeType type,
                    const std::vector<CUgraphNode>& dependencies, const CUgraphNode_st& content) {
  CUgraphNode node = NewNodeObject();
  *node = content;
  node->graph = graph;
  node->index = graph->next_index++;
  node->type = type;
  node->dependencies = dependencies;
  graph->nodes.push_back(node);
  CUpti_GraphData data = {};
  data.graph = graph;
  data.node = node;
  data.nodeType = type;
  ReportGraph(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATE_STARTING, data);
  data.nodeType = CU_GRAPH_NODE_TYPE_KERNEL;
  for (CUgraphNode dependency : dependencies) {
    data.dependency = dependency;
    ReportGraph(CUPTI_CBID_RESOURCE_GRAPHNODE_DEPENDENCY_CREATED, data);
  }
  data.dependency = nullptr;
  if (type == CU_GRAPH_NODE_TYPE_GRAPH) node->child = CloneGraph(content.child);
  if (type == CU_GRAPH_NODE_TYPE_CONDITIONAL) node->child = NewGraph();
  ReportGraph(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, data);
  return node;
}

void DestroyGraph(CUgraph graph) {
  CUpti_GraphData data = {};
  data.graph = graph;
  ReportGraph(CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING, data);
  for (CUgraphNode node : graph->nodes) {
    data.node = node;
    ReportGraph(CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING, data);
    if (node->child != nullptr) DestroyGraph(node->child);
    DeleteNodeObject(node);
  }
  delete[] graph->body_out;
  delete graph;
}

CUresult FillKernel(CUgraphNode_st& node, const CUDA_KERNEL_NODE_PARAMS& params) {
  if (uint64_t{params.blockDimX} * params.blockDimY * params.blockDimZ > 1024)
    return CUDA_ERROR_INVALID_VALUE;
  CUfunction handle =
      params.func != nullptr ? params.func : reinterpret_cast<CUfunction>(params.kern);
  CUfunction function = ResolveFunction(handle);
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  node.kernel = params;
  node.kernel.func = function;
  node.kernel.kernelParams = node.kernel.extra = nullptr;
  std::vector<uint8_t> arguments(function->info->parameter_bytes);  // the given ones may be the node's
  GatherArguments(*function->info, params.kernelParams, params.extra, arguments.data());
  node.arguments = std::move(arguments);
  return CUDA_SUCCESS;
}

}  // namespace fake_cuda

using namespace fake_cuda;

namespace {

std::vector<CUgraphNode> List(const CUgraphNode* dependencies, size_t count) {
  return dependencies == nullptr ? std::vector<CUgraphNode>()
                                 : std::vector<CUgraphNode>(dependencies, dependencies + count);
}

CUDA_KERNEL_NODE_PARAMS Converted(const CUDA_KERNEL_NODE_PARAMS_v3& v3) {
  CUDA_KERNEL_NODE_PARAMS params = {};
  params.func = v3.func;
  params.gridDimX = v3.gridDimX;
  params.gridDimY = v3.gridDimY;
  params.gridDimZ = v3.gridDimZ;
  params.blockDimX = v3.blockDimX;
  params.blockDimY = v3.blockDimY;
  params.blockDimZ = v3.blockDimZ;
  params.sharedMemBytes = v3.sharedMemBytes;
  params.kernelParams = v3.kernelParams;
  params.extra = v3.extra;
  params.kern = v3.kern;
  return params;
}

}  // namespace

CUresult fake_cuda::FillKernelFromNodeParams(CUgraphNode_st& node,
                                             const CUgraphNodeParams& params) {
  return FillKernel(node, Converted(params.kernel));
}

FAKE_EXPORT CUresult cuGraphCreate(CUgraph* graph, unsigned flags) {
  FAKE_CALL(cuGraphCreate, graph, flags);
  *graph = NewGraph();
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuGraphDestroy(CUgraph graph) {
  FAKE_CALL(cuGraphDestroy, graph);
  DestroyGraph(graph);
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuGraphAddKernelNode_v2(CUgraphNode* node, CUgraph graph,
                                             const CUgraphNode* dependencies, size_t count,
                                             const CUDA_KERNEL_NODE_PARAMS* kernel) {
  FAKE_CALL(cuGraphAddKernelNode_v2, node, graph, dependencies, count, kernel);
  CUgraphNode_st content;
  const CUresult result = FillKernel(content, *kernel);
  if (result != CUDA_SUCCESS) return call.Return(result);
  *node = AddNode(graph, CU_GRAPH_NODE_TYPE_KERNEL, List(dependencies, count), content);
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuGraphAddNode_v2(CUgraphNode* node, CUgraph graph,
                                       const CUgraphNode* dependencies,
                                       const CUgraphEdgeData* edges, size_t count,
                                       CUgraphNodeParams* node_params) {
  FAKE_CALL(cuGraphAddNode_v2, node, graph, dependencies, edges, count, node_params);
  CUgraphNode_st content;
  switch (node_params->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      const CUresult result = FillKernelFromNodeParams(content, *node_params);
      if (result != CUDA_SUCCESS) return call.Return(result);
      break;
    }
    case CU_GRAPH_NODE_TYPE_EMPTY:
      break;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      content.conditional_value = static_cast<unsigned>(node_params->conditional.handle);
      break;
    default:
      return call.Return(CUDA_ERROR_NOT_SUPPORTED);
  }
  *node = AddNode(graph, node_params->type, List(dependencies, count), content);
  if (node_params->type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
    if (graph->body_out == nullptr) graph->body_out = new CUgraph[1];
    graph->body_out[0] = (*node)->child;
    node_params->conditional.phGraph_out = graph->body_out;
  }
  return call.Return(CUDA_SUCCESS);
}

// The handle holds the default value: no kernel here can set another one.
FAKE_EXPORT CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle* handle, CUgraph graph,
                                                    CUcontext context, unsigned value,
                                                    unsigned flags) {
  FAKE_CALL(cuGraphConditionalHandleCreate, handle, graph, context, value, flags);
  *handle = value;
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph,
                                         const CUgraphNode* dependencies, size_t count) {
  FAKE_CALL(cuGraphAddEmptyNode, node, graph, dependencies, count);
  *node = AddNode(graph, CU_GRAPH_NODE_TYPE_EMPTY, List(dependencies, count), {});
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuGraphAddHostNode(CUgraphNode* node, CUgraph graph,
                                        const CUgraphNode* dependencies, size_t count,
                                        const CUDA_HOST_NODE_PARAMS* host) {
  FAKE_CALL(cuGraphAddHostNode, node, graph, dependencies, count, host);
  CUgraphNode_st content;
  content.host = *host;
  *node = AddNode(graph, CU_GRAPH_NODE_TYPE_HOST, List(dependencies, count), content);
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph,
                                          const CUgraphNode* dependencies, size_t count,
                                          const CUDA_MEMSET_NODE_PARAMS* memset_params,
                                          CUcontext context) {
  FAKE_CALL(cuGraphAddMemsetNode, node, graph, dependencies, count, memset_params, context);
  CUgraphNode_st content;
  content.memset = *memset_params;
  *node = AddNode(graph, CU_GRAPH_NODE_TYPE_MEMSET, List(dependencies, count), content);
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph,
                                          const CUgraphNode* dependencies, size_t count,
                                          const CUDA_MEMCPY3D* copy, CUcontext context) {
  FAKE_CALL(cuGraphAddMemcpyNode, node, graph, dependencies, count, copy, context);
  CUgraphNode_st content;
  content.memcpy = *copy;
  *node = AddNode(graph, CU_GRAPH_NODE_TYPE_MEMCPY, List(dependencies, count), content);
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph,
                                              const CUgraphNode* dependencies, size_t count,
                                              CUgraph child) {
  FAKE_CALL(cuGraphAddChildGraphNode, node, graph, dependencies, count, child);
  CUgraphNode_st content;
  content.child = child;
  *node = AddNode(graph, CU_GRAPH_NODE_TYPE_GRAPH, List(dependencies, count), content);
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuGraphDestroyNode(CUgraphNode node) {
  FAKE_CALL(cuGraphDestroyNode, node);
  CUpti_GraphData data = {};
  data.graph = node->graph;
  data.node = node;
  ReportGraph(CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING, data);
  for (CUgraphNode dependency : node->dependencies) {
    data.dependency = dependency;
    ReportGraph(CUPTI_CBID_RESOURCE_GRAPHNODE_DEPENDENCY_DESTROY_STARTING, data);
  }
  std::erase(node->graph->nodes, node);
  for (CUgraphNode other : node->graph->nodes) std::erase(other->dependencies, node);
  DeleteNodeObject(node);
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node,
                                                   const CUDA_KERNEL_NODE_PARAMS* kernel) {
  FAKE_CALL(cuGraphKernelNodeSetParams_v2, node, kernel);
  return call.Return(FillKernel(*node, *kernel));
}

FAKE_EXPORT CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
  FAKE_CALL(cuGraphNodeGetType, node, type);
  *type = node->type;
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  FAKE_CALL(cuGraphGetNodes, graph, nodes, count);
  if (nodes != nullptr)
    std::copy_n(graph->nodes.begin(), std::min(*count, graph->nodes.size()), nodes);
  *count = graph->nodes.size();
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode* from, CUgraphNode* to,
                                        CUgraphEdgeData* data, size_t* count) {
  FAKE_CALL(cuGraphGetEdges_v2, graph, from, to, data, count);
  size_t edges = 0;
  for (CUgraphNode node : graph->nodes) {
    for (CUgraphNode dependency : node->dependencies) {
      if (from != nullptr && edges < *count) {
        from[edges] = dependency;
        to[edges] = node;
        // A captured programmatic launch depends on the kernel before it in that way.
        data[edges] = {};
        if (node->programmatic && dependency->type == CU_GRAPH_NODE_TYPE_KERNEL) {
          data[edges].from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
          data[edges].type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
        }
      }
      ++edges;
    }
  }
  *count = edges;
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* graph) {
  FAKE_CALL(cuGraphChildGraphNodeGetGraph, node, graph);
  if (node->type != CU_GRAPH_NODE_TYPE_GRAPH) return call.Return(CUDA_ERROR_INVALID_VALUE);
  *graph = node->child;
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuGraphClone(CUgraph* clone, CUgraph original) {
  FAKE_CALL(cuGraphClone, clone, original);
  *clone = CloneGraph(original);
  CUpti_GraphData data = {};
  data.graph = *clone;
  data.originalGraph = original;
  ReportGraph(CUPTI_CBID_RESOURCE_GRAPH_CLONED, data);
  return call.Return(CUDA_SUCCESS);
}
