// What depends on what in a graph, asked of the driver once an exec was made of it. Called at the end of
// the instantiating call, on its thread, with no lock held.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <vector>

#include "cupti_tracer/core/cupti_api.h"

namespace hotproof::tracer {

struct GraphEdge {
  CUgraphNode from = nullptr, to = nullptr;  // nodes of the graph that was instantiated
  uint32_t data = 0;  // CUgraphEdgeData: from_port | to_port << 8 | type << 16; 0: full dependency
};

struct GraphEdges {
  bool known = false;  // false: the driver does not tell, or there are too many
  std::vector<GraphEdge> edges;
};

// Child graphs are taken apart, as the driver does: what depends on a child depends on its last nodes,
// and its first nodes on what the child depends on. Bodies of conditional nodes are not looked into.
GraphEdges CollectEdges(const Driver& driver, CUgraph graph);

}  // namespace hotproof::tracer
