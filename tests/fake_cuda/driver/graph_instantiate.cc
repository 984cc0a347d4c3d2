// Instantiation. An exec is a clone of its graph; a second, hidden clone is only announced. Child
// graphs and conditional bodies are cloned into graphs of their own and then moved into the exec:
// their nodes keep the pointer and change the id, and no callback says so.
#include <algorithm>
#include <map>

#include "tests/fake_cuda/driver/driver.h"

namespace fake_cuda {

void ReportNode(CUpti_CallbackId id, CUgraph graph, CUgraphNode node, CUgraphNode dependency) {
  CUpti_GraphData data = {};
  data.graph = graph;
  data.node = node;
  data.dependency = dependency;
  ReportGraph(id, data);
}

namespace {

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

}  // namespace

CUgraph CloneGraph(CUgraph original) { return Clone(original, CloneReport::kFull); }

CUgraph InstantiateGraph(CUgraph source) {
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

}  // namespace fake_cuda
