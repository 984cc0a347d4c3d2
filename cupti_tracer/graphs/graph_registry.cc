#include "cupti_tracer/graphs/graph_registry.h"

#include <algorithm>

#include "cupti_tracer/core/thread_cache.h"
#include "cupti_tracer/graphs/graph_caveats.h"

namespace hotproof::tracer {
namespace {

struct ThreadCache {
  static constexpr size_t kExecs = 64;
  struct {
    CUgraphExec exec;
    uint32_t generation;
    uint32_t graph_id;
  } execs[kExecs];
};

struct Clone {
  CUgraphNode original, node;  // node: null once it is destroyed
  CUgraphNodeType type;        // then
  uint64_t id;                 // then
};
// Clones made by the instantiating call that this thread is in.
thread_local std::vector<Clone>* clones = nullptr;
thread_local bool instantiating = false;

}  // namespace

void GraphRegistry::OnNodeStarting(CUgraphNode node, CUgraphNodeType type) {
  std::lock_guard lock(file_.mutex());
  nodes_[node] = {.type = type};
}

void GraphRegistry::OnNodeSite(CUgraphNode node, uint32_t site) {
  std::lock_guard lock(file_.mutex());
  const auto found = nodes_.find(node);
  if (found != nodes_.end()) found->second.site = site;
}

void GraphRegistry::OnNodeAttributes(CUgraphNode node, const KernelAttributes& attributes) {
  std::lock_guard lock(file_.mutex());
  const auto found = nodes_.find(node);
  if (found != nodes_.end()) found->second.attributes = attributes;
}

void GraphRegistry::OnNodeRanges(CUgraphNode node, RangeIds ranges) {
  std::lock_guard lock(file_.mutex());
  const auto found = nodes_.find(node);
  if (found != nodes_.end()) found->second.ranges = ranges;
}

KernelAttributes GraphRegistry::AttributesOf(CUgraphNode node) {
  std::lock_guard lock(file_.mutex());
  const auto found = nodes_.find(node);
  return found == nodes_.end() ? KernelAttributes() : found->second.attributes;
}

KernelAttributes GraphRegistry::AttributesOf(CUgraphExec handle, CUgraphNode original) {
  std::lock_guard lock(file_.mutex());
  const auto exec = execs_.find(handle);
  if (exec == execs_.end()) return {};
  const auto place = exec->second.by_original.find(original);
  if (place == exec->second.by_original.end()) return {};
  return exec->second.nodes[place->second].node.attributes;
}

void GraphRegistry::OnNodeCloned(CUgraphNode original, CUgraphNode node) {
  if (instantiating) clones->push_back({original, node, CU_GRAPH_NODE_TYPE_EMPTY, 0});
  std::lock_guard lock(file_.mutex());
  const auto from = nodes_.find(original);
  if (from == nodes_.end()) return;
  Node& to = nodes_[node];
  to.site = from->second.site;
  to.attributes = from->second.attributes;
  to.ranges = from->second.ranges;
  // The clone's own type came with its CREATE_STARTING.
}

void GraphRegistry::OnNodeDestroyed(CUgraphNode node) {
  Clone* gone = nullptr;
  if (instantiating) {
    // Instantiating takes child graphs and empty nodes apart, and replaces copies and memsets by nodes
    // that keep their id.
    const auto found = std::find_if(clones->begin(), clones->end(),
                                    [node](const Clone& clone) { return clone.node == node; });
    if (found != clones->end()) {
      gone = &*found;
      gone->node = nullptr;
      cupti_.GetGraphNodeId(node, &gone->id);
    }
  }
  std::lock_guard lock(file_.mutex());
  const auto known = nodes_.find(node);
  if (known == nodes_.end()) return;
  if (gone != nullptr) gone->type = known->second.type;
  nodes_.erase(known);
}

void GraphRegistry::OnInstantiateEntered() {
  if (clones == nullptr) clones = new std::vector<Clone>;  // one a thread, kept
  clones->clear();
  instantiating = true;
}

void GraphRegistry::OnInstantiateLeft() { instantiating = false; }

void GraphRegistry::OnExecCreated(CUgraphExec handle, CUgraph source) {
  Exec exec;
  cupti_.GetGraphExecId(handle, &exec.exec_graph_id);
  if (cupti_.GetGraphId != nullptr) cupti_.GetGraphId(source, &exec.source_graph_id);
  if (instantiating) {
    exec.nodes.reserve(clones->size());
    for (const Clone& clone : *clones) {
      ExecNode node;
      node.handle = clone.node;
      node.original = clone.original;
      if (clone.node == nullptr) {
        node.replaced = true;
        node.node.type = clone.type;
        // In a child's own graph it had an id that no record has.
        node.id = clone.id >> 32 == exec.exec_graph_id ? clone.id : 0;
      } else if (cupti_.GetGraphNodeId(clone.node, &node.id) != CUPTI_SUCCESS) {
        continue;
      }
      exec.by_original.emplace(node.original, exec.nodes.size());
      if (clone.node != nullptr) exec.by_handle.emplace(node.handle, exec.nodes.size());
      exec.nodes.push_back(node);
    }
    clones->clear();
  } else {
    exec.caveats.push_back(kCaveatOlderThanTracer);
  }
  std::lock_guard lock(file_.mutex());
  for (ExecNode& node : exec.nodes) {
    if (node.replaced) continue;
    const auto found = nodes_.find(node.handle);
    if (found != nodes_.end()) node.node = found->second;
  }
  execs_[handle] = std::move(exec);
  generation_.store(NewGeneration(), std::memory_order_relaxed);
}

void GraphRegistry::OnExecEdges(CUgraphExec handle, const GraphEdges& edges) {
  if (!edges.known) return;
  std::lock_guard lock(file_.mutex());
  const auto found = execs_.find(handle);
  if (found == execs_.end()) return;
  Exec& exec = found->second;
  std::vector<ExecEdge> indices;
  for (const GraphEdge& edge : edges.edges) {
    const auto from = exec.by_original.find(edge.from), to = exec.by_original.find(edge.to);
    if (from == exec.by_original.end() || to == exec.by_original.end()) return;
    indices.push_back({static_cast<uint32_t>(from->second), static_cast<uint32_t>(to->second),
                       edge.data});
  }
  exec.edges = std::move(indices);
  exec.edges_known = true;
}

void GraphRegistry::OnExecDeviceLaunchable(CUgraphExec exec) {
  std::lock_guard lock(file_.mutex());
  const auto found = execs_.find(exec);
  if (found == execs_.end()) return;
  AddCaveat(found->second.caveats, kCaveatDeviceLaunched);
  ComposeLocked(found->second);  // it may never be launched from the host
}

void GraphRegistry::OnExecDestroyed(CUgraphExec exec) {
  std::lock_guard lock(file_.mutex());
  execs_.erase(exec);
  generation_.store(NewGeneration(), std::memory_order_relaxed);
}

template <typename Change>
void GraphRegistry::ChangeLocked(CUgraphExec handle,
                                 const std::unordered_map<CUgraphNode, size_t> Exec::*index,
                                 CUgraphNode key, Change&& change) {
  const auto found = execs_.find(handle);
  if (found == execs_.end()) return;
  Exec& exec = found->second;
  const auto place = (exec.*index).find(key);
  if (place != (exec.*index).end()) {
    change(exec, exec.nodes[place->second]);
  } else {
    const auto node = nodes_.find(key);
    if (node != nodes_.end() && node->second.type != CU_GRAPH_NODE_TYPE_KERNEL) return;
    ForgetNodesLocked(exec);
  }
  exec.dirty = true;
  generation_.store(NewGeneration(), std::memory_order_relaxed);
}

void GraphRegistry::OnExecNodeSite(CUgraphExec exec, CUgraphNode original, uint32_t site) {
  std::lock_guard lock(file_.mutex());
  ChangeLocked(exec, &Exec::by_original, original,
               [site](Exec&, ExecNode& node) { node.node.site = site; });
}

void GraphRegistry::OnExecNodeEnabled(CUgraphExec exec, CUgraphNode original, bool enabled) {
  std::lock_guard lock(file_.mutex());
  ChangeLocked(exec, &Exec::by_original, original,
               [enabled](Exec&, ExecNode& node) { node.enabled = enabled; });
}

void GraphRegistry::OnExecNodeUpdated(CUgraphExec exec, CUgraphNode exec_node,
                                      CUgraphNode source_node) {
  std::lock_guard lock(file_.mutex());
  const auto source = nodes_.find(source_node);
  const Node by = source == nodes_.end() ? Node{} : source->second;
  ChangeLocked(exec, &Exec::by_handle, exec_node, [&](Exec& changed, ExecNode& node) {
    node.node.site = by.site;
    node.node.ranges = by.ranges;
    const bool updatable = node.node.attributes.device_updatable || by.attributes.device_updatable;
    node.node.attributes = by.attributes;
    node.node.attributes.device_updatable = updatable;
    // Later calls may name the exec's nodes by the new source graph's, too.
    const auto place = static_cast<size_t>(&node - changed.nodes.data());
    // The handle that is left behind may be another node's by now: addresses are used again.
    const auto left = changed.by_original.find(node.source);
    if (left != changed.by_original.end() && left->second == place && node.source != node.original) {
      changed.by_original.erase(left);
    }
    node.source = source_node;
    changed.by_original[source_node] = place;
  });
}

void GraphRegistry::OnExecUpdatedUnseen(CUgraphExec exec) {
  std::lock_guard lock(file_.mutex());
  const auto found = execs_.find(exec);
  if (found == execs_.end()) return;
  ForgetNodesLocked(found->second);
  found->second.dirty = true;
  generation_.store(NewGeneration(), std::memory_order_relaxed);
}

void GraphRegistry::ForgetNodesLocked(Exec& exec) {
  for (ExecNode& node : exec.nodes) node.node.site = 0;
  AddCaveat(exec.caveats, kCaveatUpdatedUnseen);
}

GraphRegistry::Replay GraphRegistry::OnLaunch(CUgraphExec exec) {
  const uint32_t generation = generation_.load(std::memory_order_relaxed);
  ThreadCache* cache = ThreadCacheOf<ThreadCache>::Get();
  auto* slot = cache == nullptr
                   ? nullptr
                   : &cache->execs[(reinterpret_cast<uintptr_t>(exec) >> 4) % ThreadCache::kExecs];
  if (slot != nullptr && slot->exec == exec && slot->generation == generation) {
    return {slot->graph_id, false};
  }
  uint32_t exec_graph_id = 0;
  cupti_.GetGraphExecId(exec, &exec_graph_id);
  std::lock_guard lock(file_.mutex());
  const auto [found, inserted] = execs_.try_emplace(exec);
  Exec& launched = found->second;
  if (inserted) {
    launched.exec_graph_id = exec_graph_id;
    launched.caveats.push_back(kCaveatOlderThanTracer);
  }
  const bool first = !launched.replayed;
  launched.replayed = true;
  if (launched.dirty) ComposeLocked(launched);
  if (slot != nullptr) {
    *slot = {exec, generation_.load(std::memory_order_relaxed), launched.composition};
  }
  return {launched.composition, first};
}

}  // namespace hotproof::tracer
