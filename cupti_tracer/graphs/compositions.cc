// GraphRegistry, second half: what an exec launches now, as it is written and as records ask for it.
#include <algorithm>

#include <xxhash.h>

#include "cupti_tracer/graphs/graph_caveats.h"
#include "cupti_tracer/graphs/graph_registry.h"

namespace hotproof::tracer {
namespace {

template <typename T>
uint64_t HashOf(const std::vector<T>& values, uint64_t seed) {
  return XXH3_64bits_withSeed(values.data(), values.size() * sizeof(T), seed);
}

}  // namespace

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
  std::vector<uint32_t> range_paths, process_ranges;
  bool any_ranges = false;
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
      range_paths.push_back(node.node.ranges.thread);
      process_ranges.push_back(node.node.ranges.process);
      any_ranges |= node.node.ranges.any();
    }
  }
  // An exec that is updated before every launch comes back to compositions it had before.
  uint64_t content =
      HashOf(node_ids, HashOf(composition.sites, HashOf(exec.caveats, exec.exec_graph_id)));
  if (any_ranges) {
    const uint64_t ranging = HashOf(range_paths, HashOf(process_ranges, content));
    const bool room =
        rangings_.contains(content) || rangings_.size() < file_.counters().graph_slots();
    if (composition_by_content_.contains(ranging)) {
      content = ranging;
    } else if (room && rangings_[content] < kMaxRangings) {
      ++rangings_[content];
      content = ranging;
    } else {
      // No other update's ranges are these nodes': they are in many.
      file_.CountProblemLocked(ProblemKind::kRangesNotKept, "updated graphs");
      const RangeIds many = ranges_ == nullptr ? RangeIds() : ranges_->ManyLocked();
      range_paths.assign(range_paths.size(), many.thread);
      process_ranges.assign(process_ranges.size(), many.process);
      content = HashOf(range_paths, HashOf(process_ranges, content));
    }
  }
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
    if (any_ranges) {
      entry.node_range_paths = range_paths;
      entry.node_process_ranges = process_ranges;
    }
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
  const trace::Counts sites = counters.sites(), replays = counters.graphs();
  for (size_t id = 0; id < sites.size(); ++id) launches += sites[id];
  for (size_t id = 0; id < compositions_.size() && id < replays.size(); ++id) {
    launches += replays[id] * compositions_[id].node_count();
  }
  return launches;
}

trace::Target GraphRegistry::CurrentTargetLocked(uint32_t exec_graph_id) const {
  const auto found = composition_of_exec_id_.find(exec_graph_id);
  return found == composition_of_exec_id_.end() ? trace::Target() : trace::Target::Graph(found->second);
}

}  // namespace hotproof::tracer
