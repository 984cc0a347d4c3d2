#include "cupti_tracer/graphs/graph_registry.h"

#include "cupti_tracer/core/thread_cache.h"

#include <algorithm>

#include <xxhash.h>

namespace hotproof::tracer {
namespace {

// GraphCaveat of trace.proto.
constexpr uint32_t kCaveatConditional = 1, kCaveatDeviceUpdatable = 2, kCaveatDeviceLaunched = 3,
                   kCaveatOlderThanTracer = 4, kCaveatUpdatedUnseen = 5;

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

void AddCaveat(std::vector<uint32_t>& caveats, uint32_t caveat) {
  if (std::find(caveats.begin(), caveats.end(), caveat) == caveats.end()) caveats.push_back(caveat);
}

template <typename T>
uint64_t HashOf(const std::vector<T>& values, uint64_t seed) {
  return XXH3_64bits_withSeed(values.data(), values.size() * sizeof(T), seed);
}

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
    const bool updatable = node.node.attributes.device_updatable || by.attributes.device_updatable;
    node.node.attributes = by.attributes;
    node.node.attributes.device_updatable = updatable;
    // Later calls may name the exec's nodes by the new source graph's, too.
    if (node.source != nullptr && node.source != node.original) changed.by_original.erase(node.source);
    node.source = source_node;
    changed.by_original[source_node] = static_cast<size_t>(&node - changed.nodes.data());
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

GraphRegistry::Surroundings GraphRegistry::SurroundingsOf(const Exec& exec) {
  Surroundings around;
  std::vector<bool> has_edge(exec.nodes.size());
  for (const ExecEdge& edge : exec.edges) has_edge[edge.from] = has_edge[edge.to] = true;
  std::vector<uint32_t> positions(exec.nodes.size());
  const auto is_kernel = [](const ExecNode& node) {  // of node_ids
    return !node.replaced && node.enabled && node.node.type == CU_GRAPH_NODE_TYPE_KERNEL;
  };
  uint32_t next = 0;
  for (size_t i = 0; i < exec.nodes.size(); ++i) {
    if (is_kernel(exec.nodes[i])) positions[i] = next++;
  }
  for (size_t i = 0; i < exec.nodes.size(); ++i) {
    const ExecNode& node = exec.nodes[i];
    if (is_kernel(node)) continue;
    // A child graph's own node is no node of the exec.
    if (node.replaced && node.node.type == CU_GRAPH_NODE_TYPE_GRAPH && !has_edge[i]) continue;
    positions[i] = next++;
    around.other_ids.push_back(node.id);
    around.other_types.push_back(static_cast<uint32_t>(node.node.type));
  }
  std::vector<ExecEdge> edges;
  for (const ExecEdge& edge : exec.edges) {
    edges.push_back({positions[edge.from], positions[edge.to], edge.data});
  }
  std::sort(edges.begin(), edges.end(), [](const ExecEdge& a, const ExecEdge& b) {
    return a.to != b.to ? a.to < b.to : a.from < b.from;
  });
  bool any_data = false;
  for (const ExecEdge& edge : edges) {
    around.from.push_back(edge.from);
    around.to.push_back(edge.to);
    around.data.push_back(edge.data);
    any_data |= edge.data != 0;
  }
  if (!any_data) around.data.clear();
  return around;
}

void GraphRegistry::ComposeLocked(Exec& exec) {
  exec.dirty = false;
  std::vector<uint64_t> node_ids;
  Composition composition;
  trace::GraphEntry entry;
  for (const ExecNode& node : exec.nodes) {
    if (node.node.type == CU_GRAPH_NODE_TYPE_CONDITIONAL) AddCaveat(exec.caveats, kCaveatConditional);
    if (node.node.attributes.device_updatable) AddCaveat(exec.caveats, kCaveatDeviceUpdatable);
    if (node.replaced) continue;
    if (node.node.type != CU_GRAPH_NODE_TYPE_KERNEL) {
      ++entry.other_nodes;
    } else if (!node.enabled) {
      ++entry.disabled_nodes;
    } else {
      node_ids.push_back(node.id);
      composition.sites.push_back(node.node.site);
    }
  }
  // An exec that is updated before every launch comes back to compositions it had before.
  const uint64_t content =
      HashOf(node_ids, HashOf(composition.sites, HashOf(exec.caveats, exec.exec_graph_id)));
  const auto [known, inserted] =
      composition_by_content_.emplace(content, static_cast<uint32_t>(compositions_.size()));
  if (!inserted) {
    exec.composition = known->second;
    composition_of_exec_id_[exec.exec_graph_id] = exec.composition;
    return;
  }
  if (compositions_.size() >= file_.counters().graph_slots() ||
      composition_bytes_ >= kMaxCompositionBytes) {
    file_.CountProblemLocked(ProblemKind::kSlotsExhausted, "graphs");
    composition_by_content_.erase(known);
    composition_of_exec_id_.erase(exec.exec_graph_id);
    exec.composition = 0;
    return;
  }
  const uint32_t id = known->second;
  if (trace::Writer* writer = file_.writer_locked()) {
    entry.id = id;
    entry.exec_graph_id = exec.exec_graph_id;
    entry.source_graph_id = exec.source_graph_id;
    entry.replaces = exec.composition;
    entry.node_ids = node_ids;
    entry.node_sites = composition.sites;
    entry.caveats = exec.caveats;
    const Surroundings around = SurroundingsOf(exec);
    entry.other_node_ids = around.other_ids;
    entry.other_node_types = around.other_types;
    entry.edges_known = exec.edges_known;
    entry.edge_from = around.from;
    entry.edge_to = around.to;
    entry.edge_data = around.data;
    writer->AddGraph(entry);
    file_.FlushTablesLocked();
  }
  composition.index = IndexLocked(exec, node_ids);
  composition.sites.shrink_to_fit();
  composition_bytes_ += sizeof composition + composition.sites.size() * sizeof(uint32_t);
  compositions_.push_back(std::move(composition));
  exec.composition = id;
  composition_of_exec_id_[exec.exec_graph_id] = id;
}

std::shared_ptr<const GraphRegistry::NodeIndex> GraphRegistry::IndexLocked(
    Exec& exec, const std::vector<uint64_t>& ids) {
  for (const auto& index : exec.indexes) {
    if (index->ids == ids) return index;
  }
  auto index = std::make_shared<NodeIndex>();
  index->ids = ids;
  index->positions.reserve(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    index->positions.emplace_back(ids[i], static_cast<uint32_t>(i));
  }
  std::sort(index->positions.begin(), index->positions.end());
  composition_bytes_ += ids.size() * (sizeof(uint64_t) + sizeof index->positions[0]);
  if (exec.indexes.size() >= kMaxIndexes) exec.indexes.erase(exec.indexes.begin());
  exec.indexes.push_back(index);
  return index;
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

GraphRegistry::Place GraphRegistry::FindNodeLocked(uint32_t graph_id, uint64_t node_id) {
  if (graph_id == 0 || graph_id >= compositions_.size()) return {};
  Composition& composition = compositions_[graph_id];
  const NodeIndex& index = *composition.index;
  uint32_t position = composition.next;
  if (position >= index.ids.size() || index.ids[position] != node_id) {
    const auto found = std::lower_bound(index.positions.begin(), index.positions.end(),
                                        std::pair(node_id, uint32_t{0}));
    if (found == index.positions.end() || found->first != node_id) return {};
    position = found->second;
  }
  composition.next = position + 1 < index.ids.size() ? position + 1 : 0;
  return {position, composition.sites[position]};
}

uint64_t GraphRegistry::LaunchesAskedLocked(const trace::CounterTable& counters) const {
  uint64_t launches = 0;
  for (const uint64_t& count : counters.sites()) launches += trace::LoadCounter(count);
  const std::span<const uint64_t> replays = counters.graphs();
  for (size_t id = 0; id < compositions_.size() && id < replays.size(); ++id) {
    launches += trace::LoadCounter(replays[id]) * compositions_[id].node_count();
  }
  return launches;
}

trace::Target GraphRegistry::CurrentTargetLocked(uint32_t exec_graph_id) const {
  const auto found = composition_of_exec_id_.find(exec_graph_id);
  return found == composition_of_exec_id_.end() ? trace::Target() : trace::Target::Graph(found->second);
}

}  // namespace hotproof::tracer
