#include "cupti_tracer/graphs/graph_edges.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace hotproof::tracer {
namespace {

constexpr size_t kMaxEdges = 1 << 16;  // more are neither asked for nor kept
constexpr int kMaxDepth = 16;          // of child graphs within child graphs

struct Parts {
  std::vector<CUgraphNode> nodes;
  std::vector<GraphEdge> edges;
};

// Nodes of `parts` that no edge leads to, or none leaves.
std::vector<CUgraphNode> Ends(const Parts& parts, CUgraphNode GraphEdge::*side) {
  std::unordered_set<CUgraphNode> has_edge;
  for (const GraphEdge& edge : parts.edges) has_edge.insert(edge.*side);
  std::vector<CUgraphNode> ends;
  for (CUgraphNode node : parts.nodes) {
    if (!has_edge.contains(node)) ends.push_back(node);
  }
  return ends;
}

bool AskDriver(const Driver& driver, CUgraph graph, Parts& parts) {
  size_t nodes = 0, edges = 0;
  if (driver.GraphGetNodes(graph, nullptr, &nodes) != CUDA_SUCCESS ||
      driver.GraphGetEdges(graph, nullptr, nullptr, nullptr, &edges) != CUDA_SUCCESS ||
      nodes > kMaxEdges || edges > kMaxEdges) {
    return false;
  }
  parts.nodes.resize(nodes);
  std::vector<CUgraphNode> from(edges), to(edges);
  std::vector<CUgraphEdgeData> data(edges);
  if ((nodes != 0 &&
       driver.GraphGetNodes(graph, parts.nodes.data(), &nodes) != CUDA_SUCCESS) ||
      (edges != 0 && driver.GraphGetEdges(graph, from.data(), to.data(), data.data(), &edges) !=
                         CUDA_SUCCESS)) {
    return false;
  }
  if (nodes != parts.nodes.size() || edges != from.size()) return false;
  for (size_t i = 0; i < edges; ++i) {
    parts.edges.push_back({from[i], to[i],
                           data[i].from_port | uint32_t{data[i].to_port} << 8 |
                               uint32_t{data[i].type} << 16});
  }
  return true;
}

bool Collect(const Driver& driver, CUgraph graph, int depth, Parts& parts) {
  Parts own;
  if (depth > kMaxDepth || !AskDriver(driver, graph, own)) return false;
  struct Child {
    std::vector<CUgraphNode> first, last;
  };
  std::unordered_map<CUgraphNode, Child> children;
  for (CUgraphNode node : own.nodes) {
    CUgraphNodeType type;
    if (driver.GraphNodeGetType(node, &type) != CUDA_SUCCESS) return false;
    if (type == CU_GRAPH_NODE_TYPE_GRAPH) {
      CUgraph inner = nullptr;
      Parts of_child;
      if (driver.GraphChildGraphNodeGetGraph(node, &inner) != CUDA_SUCCESS ||
          !Collect(driver, inner, depth + 1, of_child)) {
        return false;
      }
      if (!of_child.nodes.empty()) {
        children[node] = {Ends(of_child, &GraphEdge::to), Ends(of_child, &GraphEdge::from)};
        parts.nodes.insert(parts.nodes.end(), of_child.nodes.begin(), of_child.nodes.end());
        parts.edges.insert(parts.edges.end(), of_child.edges.begin(), of_child.edges.end());
        continue;
      }
    }
    parts.nodes.push_back(node);
  }
  for (const GraphEdge& edge : own.edges) {
    const auto from = children.find(edge.from), to = children.find(edge.to);
    const std::vector<CUgraphNode> plain_from{edge.from}, plain_to{edge.to};
    const auto& sources = from == children.end() ? plain_from : from->second.last;
    const auto& sinks = to == children.end() ? plain_to : to->second.first;
    if (parts.edges.size() + sources.size() * sinks.size() > kMaxEdges) return false;
    for (CUgraphNode source : sources) {
      for (CUgraphNode sink : sinks) parts.edges.push_back({source, sink, edge.data});
    }
  }
  return true;
}

}  // namespace

GraphEdges CollectEdges(const Driver& driver, CUgraph graph) {
  GraphEdges result;
  if (graph == nullptr || driver.GraphGetNodes == nullptr || driver.GraphGetEdges == nullptr ||
      driver.GraphNodeGetType == nullptr || driver.GraphChildGraphNodeGetGraph == nullptr) {
    return result;
  }
  Parts parts;
  result.known = Collect(driver, graph, 0, parts);
  if (result.known) result.edges = std::move(parts.edges);
  return result;
}

}  // namespace hotproof::tracer
