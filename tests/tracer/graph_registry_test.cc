#include "cupti_tracer/graphs/graph_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>
#include <malloc.h>

#include <vector>

#include "cupti_tracer/ranges/range_domains.h"
#include "tests/tracer/fake_driver.h"

namespace hotproof::tracer {
namespace {

using ::testing::ElementsAre;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

class GraphRegistryTest : public ::testing::Test {
 protected:
  GraphRegistryTest() : cupti_(FakeCupti()), ranges_(scratch_.file()), graphs_(scratch_.file(), cupti_, &ranges_) {
    // The sites that the nodes name: a reader drops references into nothing.
    std::lock_guard lock(scratch_.file().mutex());
    scratch_.file().writer_locked()->AddKernel({.id = 1, .name = "k"});
    for (uint32_t id = 1; id < 10; ++id) {
      trace::SiteEntry site;
      site.id = id;
      site.kernel_id = 1;
      scratch_.file().writer_locked()->AddSite(site);
    }
  }

  // A node of a graph, as a capture makes it.
  CUgraphNode Node(uintptr_t handle, uint32_t site, CUgraphNodeType type = CU_GRAPH_NODE_TYPE_KERNEL) {
    const auto node = Handle<CUgraphNode>(handle);
    graphs_.OnNodeStarting(node, type);
    if (site != 0) graphs_.OnNodeSite(node, site);
    return node;
  }
  // Its clone during an instantiation.
  CUgraphNode Clone(CUgraphNode original, uintptr_t handle, uint64_t id,
                    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_KERNEL) {
    const auto node = Handle<CUgraphNode>(handle);
    graphs_.OnNodeStarting(node, type);
    graphs_.OnNodeCloned(original, node);
    state_.node_ids[node] = id;
    return node;
  }
  void ExecCreated(CUgraphExec exec, uint32_t id) {
    state_.exec_ids[exec] = id;
    graphs_.OnExecCreated(exec, nullptr);
  }
  uint32_t SiteOf(uint32_t graph_id, uint64_t node_id) {
    std::lock_guard lock(scratch_.file().mutex());
    return graphs_.FindNodeLocked(graph_id, node_id).site;
  }

  size_t BytesOfUpdates(size_t nodes, size_t updates);

  FakeState& state_ = ResetFakeState();
  ScratchTrace scratch_;
  Cupti cupti_;
  RangePaths ranges_;
  GraphRegistry graphs_;
  const CUgraphExec exec_ = Handle<CUgraphExec>(0x9000);
};

TEST_F(GraphRegistryTest, ClonesHaveTheirOriginalsSites) {
  const CUgraphNode a = Node(0x10, 5), b = Node(0x20, 6);
  const CUgraphNode set = Node(0x30, 0, CU_GRAPH_NODE_TYPE_MEMSET);
  graphs_.OnInstantiateEntered();
  Clone(a, 0x11, 0x200000000);
  Clone(set, 0x31, 0x200000001, CU_GRAPH_NODE_TYPE_MEMSET);
  Clone(b, 0x21, 0x200000002);
  ExecCreated(exec_, 2);
  const GraphRegistry::Replay first = graphs_.OnLaunch(exec_);
  EXPECT_TRUE(first.first);
  EXPECT_FALSE(graphs_.OnLaunch(exec_).first);
  EXPECT_EQ(graphs_.OnLaunch(exec_).graph_id, first.graph_id);
  EXPECT_EQ(SiteOf(first.graph_id, 0x200000000), 5u);
  EXPECT_EQ(SiteOf(first.graph_id, 0x200000002), 6u);
  EXPECT_EQ(SiteOf(first.graph_id, 0x200000001), 0u);
  const auto reader = scratch_.Read();
  const trace::GraphTable& graph = reader->tables().graphs.at(first.graph_id);
  EXPECT_THAT(graph.node_sites, ElementsAre(5, 6));
  EXPECT_THAT(graph.node_ids, ElementsAre(0x200000000, 0x200000002));
  EXPECT_EQ(graph.other_nodes, 1u);
  EXPECT_EQ(graph.exec_graph_id, 2u);
}

TEST_F(GraphRegistryTest, IdsAreAskedForWhenTheExecIsFinished) {
  const CUgraphNode a = Node(0x10, 5);
  graphs_.OnInstantiateEntered();
  const CUgraphNode clone = Clone(a, 0x11, 0);
  state_.node_ids[clone] = 0x700000003;  // moved out of a child graph
  ExecCreated(exec_, 7);
  EXPECT_EQ(SiteOf(graphs_.OnLaunch(exec_).graph_id, 0x700000003), 5u);
}

TEST_F(GraphRegistryTest, NodesDestroyedDuringInstantiationAreNotExpected) {
  const CUgraphNode a = Node(0x10, 5), child = Node(0x20, 0, CU_GRAPH_NODE_TYPE_GRAPH);
  graphs_.OnInstantiateEntered();
  const CUgraphNode gone = Clone(child, 0x21, 0x200000000, CU_GRAPH_NODE_TYPE_GRAPH);
  graphs_.OnNodeDestroyed(gone);
  Clone(a, 0x21, 0x200000001);  // the handle comes back at once
  ExecCreated(exec_, 2);
  const uint32_t graph = graphs_.OnLaunch(exec_).graph_id;
  EXPECT_EQ(SiteOf(graph, 0x200000001), 5u);
  EXPECT_EQ(scratch_.Read()->tables().graphs.at(graph).other_nodes, 0u);
}

using Edges = std::vector<std::tuple<uint32_t, uint32_t, uint32_t>>;
Edges EdgesOf(const trace::GraphTable& graph) {
  Edges edges;
  for (const auto& edge : graph.edges) edges.emplace_back(edge.from, edge.to, edge.data);
  return edges;
}

// A copy's clone is replaced by another node that has its id: what depends on it still does.
TEST_F(GraphRegistryTest, EdgesLeadThroughNodesThatWereReplaced) {
  const CUgraphNode a = Node(0x10, 5), b = Node(0x20, 6);
  const CUgraphNode copy = Node(0x30, 0, CU_GRAPH_NODE_TYPE_MEMCPY);
  graphs_.OnInstantiateEntered();
  Clone(a, 0x11, 0x200000000);
  const CUgraphNode gone = Clone(copy, 0x31, 0x200000001, CU_GRAPH_NODE_TYPE_MEMCPY);
  Clone(b, 0x21, 0x200000002);
  graphs_.OnNodeDestroyed(gone);
  ExecCreated(exec_, 2);
  graphs_.OnExecEdges(exec_, {true, {{copy, b, 0}, {a, copy, 0x10001}}});
  const uint32_t all = graphs_.OnLaunch(exec_).graph_id;
  graphs_.OnExecNodeEnabled(exec_, a, false);
  const uint32_t without = graphs_.OnLaunch(exec_).graph_id;
  const auto reader = scratch_.Read();
  const trace::GraphTable& graph = reader->tables().graphs.at(all);
  EXPECT_TRUE(graph.edges_known);
  EXPECT_THAT(graph.node_ids, ElementsAre(0x200000000, 0x200000002));
  EXPECT_THAT(graph.other_node_ids, ElementsAre(0x200000001));
  EXPECT_THAT(graph.other_node_types, ElementsAre(CU_GRAPH_NODE_TYPE_MEMCPY));
  EXPECT_EQ(EdgesOf(graph), (Edges{{2, 1, 0}, {0, 2, 0x10001}}));
  // Switched off it is no kernel that is waited for, but still what others depend on.
  const trace::GraphTable& rest = reader->tables().graphs.at(without);
  EXPECT_THAT(rest.node_ids, ElementsAre(0x200000002));
  EXPECT_THAT(rest.other_node_ids, ElementsAre(0x200000000, 0x200000001));
  EXPECT_EQ(EdgesOf(rest), (Edges{{2, 0, 0}, {1, 2, 0x10001}}));
}

TEST_F(GraphRegistryTest, EdgesOfANodeThatIsNotKnownLeaveAllUnknown) {
  const CUgraphNode a = Node(0x10, 5), stranger = Node(0x70, 6);
  graphs_.OnInstantiateEntered();
  Clone(a, 0x11, 0x200000000);
  ExecCreated(exec_, 2);
  graphs_.OnExecEdges(exec_, {true, {{a, stranger, 0}}});
  const uint32_t id = graphs_.OnLaunch(exec_).graph_id;
  const auto reader = scratch_.Read();
  EXPECT_FALSE(reader->tables().graphs.at(id).edges_known);
  EXPECT_TRUE(reader->tables().graphs.at(id).edges.empty());
}

TEST_F(GraphRegistryTest, ChangesMakeANewCompositionAndComeBackToTheOld) {
  const CUgraphNode a = Node(0x10, 5), b = Node(0x20, 6);
  graphs_.OnInstantiateEntered();
  Clone(a, 0x11, 0x200000000);
  Clone(b, 0x21, 0x200000001);
  ExecCreated(exec_, 2);
  const uint32_t all = graphs_.OnLaunch(exec_).graph_id;
  graphs_.OnExecNodeEnabled(exec_, b, false);
  const GraphRegistry::Replay without = graphs_.OnLaunch(exec_);
  EXPECT_NE(without.graph_id, all);
  EXPECT_FALSE(without.first);
  graphs_.OnExecNodeEnabled(exec_, b, true);
  EXPECT_EQ(graphs_.OnLaunch(exec_).graph_id, all);
  graphs_.OnExecNodeSite(exec_, a, 9);
  const uint32_t other_site = graphs_.OnLaunch(exec_).graph_id;
  EXPECT_EQ(SiteOf(other_site, 0x200000000), 9u);
  EXPECT_EQ(SiteOf(all, 0x200000000), 5u);
  const auto reader = scratch_.Read();
  EXPECT_THAT(reader->tables().graphs.at(without.graph_id).node_sites, ElementsAre(5));
  EXPECT_EQ(reader->tables().graphs.at(without.graph_id).disabled_nodes, 1u);
}

TEST_F(GraphRegistryTest, AnUpdateFromReusedAddressesKeepsEachNodesHandle) {
  const CUgraphNode a = Node(0x10, 5), b = Node(0x20, 6);
  graphs_.OnInstantiateEntered();
  const CUgraphNode of_a = Clone(a, 0x11, 0x200000000), of_b = Clone(b, 0x21, 0x200000001);
  ExecCreated(exec_, 2);
  graphs_.OnLaunch(exec_);
  // From a second graph, then from a third one whose nodes have the second one's addresses, exchanged.
  graphs_.OnExecNodeUpdated(exec_, of_a, Node(0x50, 7));
  graphs_.OnExecNodeUpdated(exec_, of_b, Node(0x60, 8));
  graphs_.OnExecNodeUpdated(exec_, of_a, Node(0x60, 3));
  graphs_.OnExecNodeUpdated(exec_, of_b, Node(0x50, 4));
  graphs_.OnExecNodeSite(exec_, Handle<CUgraphNode>(0x60), 1);
  graphs_.OnExecNodeSite(exec_, Handle<CUgraphNode>(0x50), 2);
  const auto replay = graphs_.OnLaunch(exec_);
  const auto reader = scratch_.Read();
  EXPECT_THAT(reader->tables().graphs.at(replay.graph_id).node_sites, ElementsAre(1, 2));
}

TEST_F(GraphRegistryTest, UpdateTakesTheSitesOfTheNewSourceGraph) {
  const CUgraphNode a = Node(0x10, 5), newer = Node(0x50, 8);
  graphs_.OnInstantiateEntered();
  const CUgraphNode clone = Clone(a, 0x11, 0x200000000);
  ExecCreated(exec_, 2);
  graphs_.OnLaunch(exec_);
  graphs_.OnExecNodeUpdated(exec_, clone, newer);
  EXPECT_EQ(SiteOf(graphs_.OnLaunch(exec_).graph_id, 0x200000000), 8u);
  graphs_.OnExecNodeEnabled(exec_, newer, false);  // named by the new source's node from now on
  EXPECT_EQ(SiteOf(graphs_.OnLaunch(exec_).graph_id, 0x200000000), 0u);
}

TEST_F(GraphRegistryTest, RangesOfMoreUpdatesThanAreKeptAreNotAnothers) {
  constexpr uint32_t kUpdates = 12;
  const CUgraphNode a = Node(0x10, 5);
  graphs_.OnInstantiateEntered();
  const CUgraphNode clone = Clone(a, 0x11, 0x200000000);
  ExecCreated(exec_, 2);
  std::vector<uint32_t> paths, graph_ids;
  for (uint32_t i = 0; i < kUpdates; ++i) {
    PushRange({"update " + std::to_string(i)});
    paths.push_back(ranges_.Current().thread);
    const CUgraphNode newer = Node(0x1000 + 16 * i, 5);
    graphs_.OnNodeRanges(newer, {paths.back(), 0});
    PopRange(RangeSource::kPushPop, kDefaultDomain);
    graphs_.OnExecNodeUpdated(exec_, clone, newer);
    graph_ids.push_back(graphs_.OnLaunch(exec_).graph_id);
  }
  const auto reader = scratch_.Read();
  for (uint32_t i = 0; i < kUpdates; ++i) {
    const std::vector<uint32_t>& in = reader->tables().graphs.at(graph_ids[i]).node_range_paths;
    ASSERT_EQ(in.size(), 1u);
    if (i < 8) {
      EXPECT_EQ(in[0], paths[i]);
    } else {
      EXPECT_TRUE(reader->tables().range_paths.at(in[0]).many()) << i;
    }
  }
  EXPECT_EQ(graph_ids[9], graph_ids[8]);
}

// An exec of `nodes` nodes is updated before each of `updates` launches, each time by a new graph that is
// destroyed afterwards, and always to other sites; the bytes that stay allocated.
size_t GraphRegistryTest::BytesOfUpdates(size_t nodes, size_t updates) {
  graphs_.OnInstantiateEntered();
  std::vector<CUgraphNode> originals, clones;
  for (size_t n = 0; n < nodes; ++n) {
    originals.push_back(Node(0x10000 + 16 * n, 1));
    clones.push_back(Clone(originals[n], 0x20000 + 16 * n, 0x200000000 + n));
  }
  ExecCreated(exec_, 2);
  graphs_.OnLaunch(exec_);
  const size_t before = mallinfo2().uordblks;
  uintptr_t handle = 0x1000000;
  for (size_t u = 0; u < updates; ++u) {
    std::vector<CUgraphNode> source;
    for (size_t n = 0, digits = u; n < nodes; ++n, digits /= 9) {
      source.push_back(Node(handle += 16, 1 + digits % 9));
      graphs_.OnExecNodeUpdated(exec_, clones[n], source[n]);
    }
    graphs_.OnLaunch(exec_);
    for (const CUgraphNode node : source) graphs_.OnNodeDestroyed(node);
  }
  const size_t bytes = mallinfo2().uordblks - before;
  // The names that a node has now: by the first graph and by the last.
  graphs_.OnExecNodeSite(exec_, originals[1], 9);
  EXPECT_EQ(SiteOf(graphs_.OnLaunch(exec_).graph_id, 0x200000001), 9u);
  return bytes;
}

TEST_F(GraphRegistryTest, ACompositionTakesFourBytesANode) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer keeps memory of its own";
  EXPECT_LT(BytesOfUpdates(1000, 500), 500 * (1000 * 4 + 300) + (256 << 10));
}

TEST_F(GraphRegistryTest, AHundredThousandUpdatesTakeLittleMemory) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer keeps memory of its own";
  EXPECT_LT(BytesOfUpdates(4, 100'000), size_t{3} << 20);  // 6,561 compositions
}

TEST_F(GraphRegistryTest, AnUpdateThatIsNotReportedLeavesNothingGuessed) {
  const CUgraphNode a = Node(0x10, 5);
  graphs_.OnInstantiateEntered();
  Clone(a, 0x11, 0x200000000);
  ExecCreated(exec_, 2);
  graphs_.OnExecUpdatedUnseen(exec_);
  const uint32_t graph = graphs_.OnLaunch(exec_).graph_id;
  EXPECT_EQ(SiteOf(graph, 0x200000000), 0u);
  EXPECT_THAT(scratch_.Read()->tables().graphs.at(graph).caveats,
              ElementsAre(trace::GRAPH_CAVEAT_UPDATED_UNSEEN));
}

TEST_F(GraphRegistryTest, AChangeOfAnUnknownKernelNodeLeavesNothingGuessed) {
  const CUgraphNode a = Node(0x10, 5), stranger = Node(0x70, 6);
  graphs_.OnInstantiateEntered();
  Clone(a, 0x11, 0x200000000);
  ExecCreated(exec_, 2);
  graphs_.OnExecNodeSite(exec_, stranger, 9);
  EXPECT_EQ(SiteOf(graphs_.OnLaunch(exec_).graph_id, 0x200000000), 0u);
}

TEST_F(GraphRegistryTest, DisablingANodeThatIsNoKernelChangesNothing) {
  const CUgraphNode a = Node(0x10, 5), set = Node(0x30, 0, CU_GRAPH_NODE_TYPE_MEMSET);
  graphs_.OnInstantiateEntered();
  Clone(a, 0x11, 0x200000000);
  ExecCreated(exec_, 2);
  const uint32_t before = graphs_.OnLaunch(exec_).graph_id;
  graphs_.OnExecNodeEnabled(exec_, set, false);
  EXPECT_EQ(graphs_.OnLaunch(exec_).graph_id, before);
}

TEST_F(GraphRegistryTest, AGraphThatTheDeviceMayLaunchIsInTheTraceWithoutAHostLaunch) {
  const CUgraphNode a = Node(0x10, 5);
  graphs_.OnInstantiateEntered();
  Clone(a, 0x11, 0x200000000);
  ExecCreated(exec_, 2);
  graphs_.OnExecDeviceLaunchable(exec_);
  const auto reader = scratch_.Read();
  ASSERT_EQ(reader->tables().graphs.size(), 2u);
  EXPECT_THAT(reader->tables().graphs[1].caveats, ElementsAre(trace::GRAPH_CAVEAT_DEVICE_LAUNCHED));
}

TEST_F(GraphRegistryTest, ParametersOfADeviceUpdatableNodeKeepItSo) {
  const CUgraphNode a = Node(0x10, 5);
  KernelAttributes updatable;
  updatable.device_updatable = true;
  graphs_.OnNodeAttributes(a, updatable);
  graphs_.OnNodeSite(a, 6);
  graphs_.OnInstantiateEntered();
  Clone(a, 0x11, 0x200000000);
  ExecCreated(exec_, 2);
  const uint32_t graph = graphs_.OnLaunch(exec_).graph_id;
  EXPECT_THAT(scratch_.Read()->tables().graphs.at(graph).caveats,
              ElementsAre(trace::GRAPH_CAVEAT_DEVICE_UPDATABLE));
}

TEST_F(GraphRegistryTest, ClonesOutsideAnInstantiationAreNobodysNodes) {
  const CUgraphNode a = Node(0x10, 5);
  graphs_.OnInstantiateEntered();
  graphs_.OnInstantiateLeft();  // it failed
  Clone(a, 0x11, 0x200000000);  // cuGraphClone
  graphs_.OnInstantiateEntered();
  Clone(a, 0x12, 0x400000000);
  ExecCreated(exec_, 4);
  const uint32_t graph = graphs_.OnLaunch(exec_).graph_id;
  EXPECT_THAT(scratch_.Read()->tables().graphs.at(graph).node_ids, ElementsAre(0x400000000));
}

TEST_F(GraphRegistryTest, AnExecOlderThanTheTracerSaysSo) {
  state_.exec_ids[exec_] = 4;
  const GraphRegistry::Replay replay = graphs_.OnLaunch(exec_);
  EXPECT_TRUE(replay.first);
  EXPECT_THAT(scratch_.Read()->tables().graphs.at(replay.graph_id).caveats,
              ElementsAre(trace::GRAPH_CAVEAT_OLDER_THAN_TRACER));
}

TEST_F(GraphRegistryTest, AnExecHandleThatComesBackIsAnotherGraph) {
  const CUgraphNode a = Node(0x10, 5), b = Node(0x20, 6);
  graphs_.OnInstantiateEntered();
  Clone(a, 0x11, 0x200000000);
  ExecCreated(exec_, 2);
  const uint32_t first = graphs_.OnLaunch(exec_).graph_id;
  graphs_.OnExecDestroyed(exec_);
  graphs_.OnInstantiateEntered();
  Clone(b, 0x11, 0x400000000);
  ExecCreated(exec_, 4);
  const GraphRegistry::Replay second = graphs_.OnLaunch(exec_);
  EXPECT_TRUE(second.first);
  EXPECT_NE(second.graph_id, first);
  EXPECT_EQ(SiteOf(second.graph_id, 0x400000000), 6u);
}

}  // namespace
}  // namespace hotproof::tracer
