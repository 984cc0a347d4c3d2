// Which kernel nodes each executable graph has, and which site each node is. Fed by CUPTI's resource
// and driver callbacks on any thread; asked at graph launches (lock-free when this thread launched the
// same exec before) and by the record side (trace lock held).
//
// How a node is followed. A node made during a capture or by hand gets its site when CUPTI reports it
// created inside that call. Instantiating clones it, and CUPTI names each clone's original. Nodes are
// known by handle: ids may change until the exec is finished (child graphs are moved into it), so the
// clones' ids, which the records carry, are asked for when CUPTI reports the exec created. What cannot
// be followed stays unattributed.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cupti_tracer/core/cupti_api.h"
#include "cupti_tracer/core/generation.h"
#include "cupti_tracer/core/launch_description.h"
#include "cupti_tracer/core/trace_file.h"
#include "cupti_tracer/graphs/graph_edges.h"
#include "cupti_tracer/ranges/range_ids.h"
#include "cupti_tracer/ranges/range_paths.h"
#include "trace/format.h"

namespace hotproof::tracer {

class GraphRegistry {
 public:
  GraphRegistry(TraceFile& file, const Cupti& cupti, RangePaths* ranges = nullptr)
      : file_(file), cupti_(cupti), ranges_(ranges) {
    compositions_.emplace_back();
  }

  struct Node {
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    uint32_t site = 0;  // 0: no kernel, or one that no callback explained
    RangeIds ranges;    // that it was captured or added in
    KernelAttributes attributes;
  };
  // GRAPHNODE_CREATE_STARTING alone tells a node's type.
  void OnNodeStarting(CUgraphNode node, CUgraphNodeType type);
  // A node's kernel; its attributes stay as they are.
  void OnNodeSite(CUgraphNode node, uint32_t site);
  void OnNodeAttributes(CUgraphNode node, const KernelAttributes& attributes);
  void OnNodeRanges(CUgraphNode node, RangeIds ranges);
  void OnNodeCloned(CUgraphNode original, CUgraphNode node);
  void OnNodeDestroyed(CUgraphNode node);

  // Between an instantiating call's entry and CUPTI's GRAPHEXEC_CREATED, on one thread.
  void OnInstantiateEntered();
  void OnInstantiateLeft();
  void OnExecCreated(CUgraphExec exec, CUgraph source);
  // After the instantiating call: what depends on what in the graph it was made of.
  void OnExecEdges(CUgraphExec exec, const GraphEdges& edges);
  // After the instantiating call: it allowed launches from the device, which CUPTI cannot count.
  void OnExecDeviceLaunchable(CUgraphExec exec);
  void OnExecDestroyed(CUgraphExec exec);

  // What new parameters of a node do not change: a graph's node, or an exec's by its original.
  KernelAttributes AttributesOf(CUgraphNode node);
  KernelAttributes AttributesOf(CUgraphExec exec, CUgraphNode original);

  // Changes of an exec; `original`: the node of the graph it was instantiated from.
  void OnExecNodeSite(CUgraphExec exec, CUgraphNode original, uint32_t site);
  void OnExecNodeEnabled(CUgraphExec exec, CUgraphNode original, bool enabled);
  // cuGraphExecUpdate took `exec_node`'s parameters from `source_node`.
  void OnExecNodeUpdated(CUgraphExec exec, CUgraphNode exec_node, CUgraphNode source_node);
  // An update that CUPTI does not report node by node: nothing of the exec is known any more.
  void OnExecUpdatedUnseen(CUgraphExec exec);

  struct Replay {
    uint32_t graph_id = 0;  // 0: no slot
    bool first = false;     // of this exec
  };
  // At a graph launch that returned. The composition is on disk when this returns.
  Replay OnLaunch(CUgraphExec exec);

  struct Place {
    uint32_t position = 0;
    uint32_t site = 0;  // 0: not a node of this composition, or unattributed
  };
  Place FindNodeLocked(uint32_t graph_id, uint64_t node_id);
  // All kernel launches asked so far, replays multiplied out.
  uint64_t LaunchesAskedLocked(const trace::CounterTable& counters) const;
  // The composition that the exec with CUPTI's id `exec_graph_id` has now; unknown if there is none.
  trace::Target CurrentTargetLocked(uint32_t exec_graph_id) const;

 private:
  struct ExecNode {
    Node node;
    // `original`: in the graph that was instantiated; `source`: in the one that last updated the exec.
    CUgraphNode handle = nullptr, original = nullptr, source = nullptr;
    uint64_t id = 0;
    bool enabled = true;
    bool replaced = false;  // the driver took this clone apart, or has another node with its id
  };
  struct ExecEdge {
    uint32_t from, to, data;  // indices into `nodes`
  };
  // The enabled kernel nodes of an exec, shared by its compositions: an exec that is updated before
  // every launch has thousands.
  struct NodeIndex {
    std::vector<uint64_t> ids;                            // in the exec's order
    std::vector<std::pair<uint64_t, uint32_t>> positions;  // sorted by id
  };
  struct Exec {
    uint32_t exec_graph_id = 0, source_graph_id = 0;
    std::vector<ExecNode> nodes;
    // By `original` and `source`, and by `handle`.
    std::unordered_map<CUgraphNode, size_t> by_original, by_handle;
    std::vector<ExecEdge> edges;
    bool edges_known = false;
    std::vector<std::shared_ptr<const NodeIndex>> indexes;  // newest last, at most kMaxIndexes
    uint32_t composition = 0;  // 0: not launched yet
    bool dirty = true;         // changed since the composition was written
    bool replayed = false;
    std::vector<uint32_t> caveats;
  };
  struct Composition {
    std::shared_ptr<const NodeIndex> index;
    std::vector<uint32_t> sites;
    uint32_t next = 0;  // records come in node order more often than not
    size_t node_count() const { return sites.size(); }
  };
  static constexpr size_t kMaxIndexes = 8;
  // Compositions of one content that differ in their nodes' ranges alone; with more, one whose
  // nodes are in many ranges stands for the others: ranges must not use up the counters.
  static constexpr uint32_t kMaxRangings = 8;
  // Of all compositions; those beyond it find no slot, like those beyond the counter table.
  static constexpr size_t kMaxCompositionBytes = 64 << 20;
  // Applies `change(exec, node)` to one node of a known exec; a kernel node that is not found there
  // leaves nothing of the exec known.
  template <typename Change>
  void ChangeLocked(CUgraphExec exec, const std::unordered_map<CUgraphNode, size_t> Exec::*index,
                    CUgraphNode key, Change&& change);
  void ForgetNodesLocked(Exec& exec);
  void ComposeLocked(Exec& exec);
  // Everything of a composition beside its kernels.
  struct Surroundings {
    std::vector<uint64_t> other_ids;
    std::vector<uint32_t> other_types, from, to, data;
  };
  static Surroundings SurroundingsOf(const Exec& exec);
  std::shared_ptr<const NodeIndex> IndexLocked(Exec& exec, const std::vector<uint64_t>& ids);

  TraceFile& file_;
  const Cupti& cupti_;
  RangePaths* const ranges_;
  std::atomic<uint32_t> generation_{NewGeneration()};  // of exec handles and compositions

  // Under the trace's lock.
  std::unordered_map<CUgraphNode, Node> nodes_;
  std::unordered_map<CUgraphExec, Exec> execs_;
  std::unordered_map<uint32_t, uint32_t> composition_of_exec_id_;
  std::unordered_map<uint64_t, uint32_t> composition_by_content_;
  std::unordered_map<uint64_t, uint32_t> rangings_;  // by content
  std::deque<Composition> compositions_;  // by graph id
  size_t composition_bytes_ = 0;
};

}  // namespace hotproof::tracer
