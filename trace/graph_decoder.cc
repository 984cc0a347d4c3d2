#include "trace/graph_decoder.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hotproof::trace {
namespace {

using Complain = std::function<void(const char*)>;

template <typename Column>
std::vector<uint32_t> DecodeRanges(const Column& column, size_t nodes, const Complain& complain) {
  std::vector<uint32_t> ids;
  uint32_t id = 0;
  for (const int32_t delta : column) ids.push_back(id += static_cast<uint32_t>(delta));
  if (!ids.empty() && ids.size() != nodes) {
    complain("nodes and their ranges differ in number");
    ids.clear();
  }
  return ids;
}

void DecodeSurroundings(const Graph& graph, const Complain& complain, GraphTable& table) {
  uint64_t node_id = 0;
  for (const int64_t delta : graph.other_node_ids()) {
    table.other_node_ids.push_back(node_id += static_cast<uint64_t>(delta));
  }
  table.other_node_types.assign(graph.other_node_types().begin(), graph.other_node_types().end());
  table.edges_known = graph.edges_known();
  const size_t nodes = table.node_ids.size() + table.other_node_ids.size();
  bool malformed = table.other_node_types.size() != table.other_node_ids.size() ||
                   graph.edge_from_size() != graph.edge_to_size() ||
                   (graph.edge_data_size() != 0 && graph.edge_data_size() != graph.edge_to_size());
  GraphTable::Edge edge;
  for (int i = 0; i < graph.edge_to_size() && !malformed; ++i) {
    edge.from += static_cast<uint32_t>(graph.edge_from(i));
    edge.to += static_cast<uint32_t>(graph.edge_to(i));
    edge.data = graph.edge_data_size() == 0 ? 0 : graph.edge_data(i);
    malformed = edge.from >= nodes || edge.to >= nodes;
    table.edges.push_back(edge);
  }
  if (!malformed) return;
  complain("its edges or other nodes contradict each other");
  table.other_node_ids.clear();
  table.other_node_types.clear();
  table.edges.clear();
  table.edges_known = false;
}

}  // namespace

GraphTable DecodeGraph(const Graph& graph, const std::function<void(const char*)>& complain) {
  GraphTable table;
  table.id = graph.id();
  table.exec_graph_id = graph.exec_graph_id();
  table.source_graph_id = graph.source_graph_id();
  table.replaces = graph.replaces();
  uint64_t node_id = 0;
  for (const int64_t delta : graph.node_ids()) {
    table.node_ids.push_back(node_id += static_cast<uint64_t>(delta));
  }
  uint32_t site = 0;
  for (const int32_t delta : graph.node_sites()) {
    table.node_sites.push_back(site += static_cast<uint32_t>(delta));
  }
  if (table.node_sites.size() != table.node_ids.size()) {
    complain("node ids and sites differ in number");
    table.node_sites.resize(table.node_ids.size());
  }
  for (const int caveat : graph.caveats()) {
    table.caveats.push_back(static_cast<GraphCaveat>(caveat));
  }
  table.disabled_nodes = graph.disabled_nodes();
  table.other_nodes = graph.other_nodes();
  if (graph.surroundings_of() == 0) DecodeSurroundings(graph, complain, table);
  table.node_range_paths = DecodeRanges(graph.node_range_paths(), table.node_ids.size(), complain);
  table.node_process_ranges =
      DecodeRanges(graph.node_process_ranges(), table.node_ids.size(), complain);
  return table;
}

}  // namespace hotproof::trace
