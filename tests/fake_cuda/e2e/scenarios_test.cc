// The probe's scenarios under the tracer: what was asked and what ran, kernel by kernel and grid by
// grid, are what the program says it does; nothing is unattributed; the program is as it was.
#include <cupti.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fake_cuda/e2e/traced_program.h"

namespace hotproof::e2e {
namespace {

constexpr char kCount[] = "probe_count", kEmpty[] = "probe_empty", kPdl[] = "probe_pdl";

struct Case {
  const char* scenario;
  KernelCounts kernels;
};

std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.scenario; }

class ScenarioTest : public testing::TestWithParam<Case> {};

TEST_P(ScenarioTest, AsksAndRecordsWhatRan) {
  const std::vector<std::string> command = {Probe(), GetParam().scenario};
  const RunResult plain = RunProgram(command, {.traced = false});
  const std::string directory = NewDirectory();
  const RunResult traced = RunProgram(command, {.out_directory = directory});
  EXPECT_TRUE(traced.exited);
  EXPECT_FALSE(traced.timed_out);
  EXPECT_EQ(plain.code, traced.code);
  EXPECT_EQ(plain.OutputWithoutPids(), traced.OutputWithoutPids());
  EXPECT_EQ(plain.errors, traced.errors);
  const std::vector<TraceSummary> traces = ReadTraces(directory);
  ASSERT_EQ(1u, traces.size());
  const TraceSummary& trace = traces[0];
  EXPECT_THAT(trace.asked, testing::ContainerEq(GetParam().kernels));
  EXPECT_THAT(trace.recorded, testing::ContainerEq(GetParam().kernels));
  EXPECT_EQ(0u, trace.untimed);
  EXPECT_EQ(0u, trace.unattributed);
  EXPECT_TRUE(trace.issues.empty());
  EXPECT_TRUE(trace.tables.problems.empty());
  EXPECT_TRUE(trace.tables.has_footer);
  EXPECT_EQ("exit", trace.tables.footer.reason());
}

// By hand from the probe's sources: kernel and grid, then how often it runs.
INSTANTIATE_TEST_SUITE_P(
    Probe, ScenarioTest,
    testing::Values(
        // One launch of each kind; the refused one is none.
        Case{"eager",
             {{{kCount, 1}, 4},
              {{kCount, 3}, 1},
              {{kCount, 2}, 2},
              {{"probe_add", 1}, 1},
              {{"probe_block", 1}, 1},
              {{kEmpty, 1}, 1}}},
        Case{"pdl", {{{kPdl, 2}, 100}}}, Case{"streams4", {{{kCount, 1}, 100}}},
        Case{"threads4", {{{kCount, 1}, 100}}},
        Case{"modules", {{{kEmpty, 1}, 2}, {{"probe_other", 1}, 4}}},
        Case{"contexts", {{{kCount, 1}, 2}, {{"probe_other", 1}, 2}}},
        // Five replays of three nodes, three replays of one.
        Case{"capture", {{{kCount, 1}, 5}, {{kEmpty, 2}, 5}, {{kCount, 3}, 5}, {{kCount, 4}, 3}}},
        // Set to grid 5 before instantiation.
        Case{"byhand", {{{kCount, 5}, 1}, {{kCount, 2}, 1}, {{kCount, 3}, 1}}},
        Case{"child", {{{kCount, 1}, 4}, {{kCount, 2}, 2}, {{kCount, 4}, 1}}},
        // Eight replays of two nodes while they are changed, switched off and on; one update fails.
        Case{"update",
             {{{kCount, 1}, 1},
              {{kCount, 7}, 1},
              {{kCount, 2}, 4},
              {{kEmpty, 8}, 3},
              {{kCount, 10}, 1},
              {{kCount, 11}, 3},
              {{kCount, 12}, 2}}},
        Case{"memory", {{{kCount, 1}, 2}, {{kCount, 2}, 2}, {{kCount, 3}, 1}}},
        Case{"forkjoin",
             {{{kCount, 1}, 3},
              {{kCount, 2}, 3},
              {{kCount, 3}, 3},
              {{kCount, 4}, 3},
              {{kCount, 5}, 3},
              {{kCount, 6}, 3}}},
        Case{"graphs",
             {{{kCount, 1}, 10},
              {{kCount, 11}, 10},
              {{kCount, 12}, 10},
              {{kCount, 21}, 10},
              {{kCount, 22}, 10},
              {{kCount, 23}, 10},
              {{kCount, 100}, 10}}},
        Case{"graphthreads",
             {{{kCount, 1}, 5},
              {{kCount, 2}, 5},
              {{kCount, 3}, 5},
              {{kCount, 11}, 5},
              {{kCount, 12}, 5},
              {{kCount, 13}, 5},
              {{kCount, 21}, 5},
              {{kCount, 22}, 5},
              {{kCount, 23}, 5},
              {{kCount, 31}, 5},
              {{kCount, 32}, 5},
              {{kCount, 33}, 5}}},
        // What was captured and thrown away is no launch; what another stream did meanwhile is.
        Case{"capture2", {{{kCount, 2}, 1}, {{kCount, 3}, 1}}},
        // The kernel in flight at the end is waited for.
        Case{"inflight", {{{"probe_spin", 1}, 1}, {{kCount, 1}, 1}}}),
    [](const auto& info) { return std::string(info.param.scenario); });

TEST(Scenario, ConditionalBodiesAreRecordedAndSaidToBeUncertain) {
  const std::string directory = NewDirectory();
  const RunResult run = RunProgram({Probe(), "conditional"}, {.out_directory = directory});
  EXPECT_EQ(0, run.code);
  const auto traces = ReadTraces(directory);
  ASSERT_EQ(1u, traces.size());
  EXPECT_EQ(3u, traces[0].Recorded());
  bool caveat = false;
  for (const auto& graph : traces[0].tables.graphs)
    for (const auto c : graph.caveats) caveat |= c == trace::GRAPH_CAVEAT_CONDITIONAL;
  EXPECT_TRUE(caveat);
}

TEST(Scenario, OneCallLaunchesOnSeveralDevices) {
  const std::string directory = NewDirectory();
  RunOptions options = {.out_directory = directory};
  options.environment["FAKE_CUDA_DEVICES"] = "3";
  const RunResult run = RunProgram({Probe(), "devices"}, options);
  EXPECT_EQ("{\"scenario\": \"devices\", \"devices\": 3, \"counted\": 9}\n", run.output);
  const auto traces = ReadTraces(directory);
  ASSERT_EQ(1u, traces.size());
  const TraceSummary& trace = traces[0];
  EXPECT_EQ(9u, trace.Asked());
  EXPECT_EQ(9u, trace.Recorded());
  EXPECT_EQ(9u, trace.recorded_launches);  // each is listed, with its own stream
  EXPECT_EQ(0u, trace.unattributed);
  EXPECT_EQ(0u, trace.without_launch);
  EXPECT_EQ(4u, trace.tables.streams.size()) << trace.Describe();  // [0] and one a device
}

TEST(Scenario, AttributesThatNodesGetLaterAreInTheirSites) {
  const std::string directory = NewDirectory();
  const RunResult run = RunProgram({Probe(), "attributes"}, {.out_directory = directory});
  EXPECT_EQ(0, run.code) << run.errors;
  const auto traces = ReadTraces(directory);
  ASSERT_EQ(1u, traces.size());
  const TraceSummary& trace = traces[0];
  EXPECT_EQ(9u, trace.Recorded());
  EXPECT_EQ(0u, trace.unattributed);
  std::map<uint32_t, uint32_t> cluster;  // by grid, of sites that were recorded
  for (const trace::Site& site : trace.tables.sites) {
    if (trace.recorded.contains({kCount, site.grid_x()})) cluster[site.grid_x()] = site.cluster_x();
  }
  EXPECT_THAT(cluster, testing::ElementsAre(testing::Pair(4, 2), testing::Pair(6, 0),
                                            testing::Pair(10, 2), testing::Pair(12, 2)));
  bool caveat = false;
  for (const auto& graph : trace.tables.graphs)
    for (const auto c : graph.caveats) caveat |= c == trace::GRAPH_CAVEAT_DEVICE_UPDATABLE;
  EXPECT_TRUE(caveat);
}

TEST(Scenario, ALegacyLaunchHasTheBlockThatWasSetBefore) {
  const std::string directory = NewDirectory();
  const RunResult run = RunProgram({Probe(), "legacy"}, {.out_directory = directory});
  EXPECT_EQ(0, run.code) << run.errors;
  const auto traces = ReadTraces(directory);
  ASSERT_EQ(1u, traces.size());
  EXPECT_EQ(3u, traces[0].Recorded());
  EXPECT_EQ(0u, traces[0].unattributed);
  std::set<std::vector<uint32_t>> blocks;
  for (const trace::Site& site : traces[0].tables.sites)
    if (site.kernel_id() != 0) blocks.insert({site.grid_x(), site.block_x(), site.block_y()});
  EXPECT_THAT(blocks, testing::ElementsAre(testing::ElementsAre(1, 32, 2), testing::ElementsAre(1, 64, 1),
                                           testing::ElementsAre(3, 32, 2)));
}

TEST(Scenario, AProcessWithoutCudaWritesNothing) {
  const std::string directory = NewDirectory();
  const RunResult run = RunProgram({Probe(), "nocuda"}, {.out_directory = directory});
  EXPECT_EQ(0, run.code);
  EXPECT_EQ("", run.errors);
  EXPECT_TRUE(ReadTraces(directory).empty());
}

TEST(Scenario, CountModeAsksForNoActivity) {
  const std::string directory = NewDirectory();
  RunOptions options = {.out_directory = directory};
  options.environment["HOTPROOF_MODE"] = "count";
  const RunResult run = RunProgram({SelfCount(), "graphs", "1000"}, options);
  EXPECT_EQ(0, run.code);
  const auto traces = ReadTraces(directory);
  ASSERT_EQ(1u, traces.size());
  EXPECT_EQ(1000u, traces[0].Asked());
  EXPECT_EQ(0u, traces[0].Recorded());
}

std::vector<TraceSummary> TraceOperations(const char* scenario) {
  const std::string directory = NewDirectory();
  RunOptions options = {.out_directory = directory};
  options.environment["HOTPROOF_RECORD"] = "operations";
  const RunResult run = RunProgram({Probe(), scenario}, options);
  EXPECT_EQ(0, run.code);
  EXPECT_EQ("", run.errors);
  return ReadTraces(directory);
}

std::vector<TracedOperation> OfKind(const TraceSummary& trace, trace::OperationKind kind) {
  std::vector<TracedOperation> found;
  for (const TracedOperation& operation : trace.operations)
    if (operation.kind == kind) found.push_back(operation);
  return found;
}

TEST(Scenario, OperationsAreRecordedWhenAskedFor) {
  const auto traces = TraceOperations("operations");
  ASSERT_EQ(1u, traces.size());
  const TraceSummary& trace = traces[0];
  EXPECT_THAT(trace.tables.header.activity_kinds(),
              testing::ElementsAre(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                   CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET,
                                   CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
                                   CUPTI_ACTIVITY_KIND_CUDA_EVENT));
  EXPECT_EQ(6u, trace.Recorded());  // kernels are counted apart
  EXPECT_EQ(6u, trace.tables.footer.records());
  // By hand from the probe's source, the copy and the memset around its counter included.
  std::vector<std::pair<uint32_t, uint64_t>> copies, sets;  // copy kind, bytes; value, bytes
  for (const auto& copy : OfKind(trace, trace::OPERATION_MEMCPY)) {
    copies.push_back({copy.copy_kind, copy.amount});
    EXPECT_LT(copy.start_ns, copy.end_ns);
    EXPECT_LT(0u, copy.correlation_id);
  }
  EXPECT_THAT(copies, testing::UnorderedElementsAre(
                          std::pair(1, 4096), std::pair(1, 100), std::pair(8, 4096),
                          std::pair(2, 8), std::pair(2, 4), std::pair(2, 8)));
  for (const auto& set : OfKind(trace, trace::OPERATION_MEMSET))
    sets.push_back({static_cast<uint32_t>(set.detail), set.amount});
  EXPECT_THAT(sets, testing::UnorderedElementsAre(std::pair(0, 256), std::pair(5, 1000),
                                                  std::pair(7, 1000)));
  // Three event records, each with the stream that waited for it.
  const auto records = OfKind(trace, trace::OPERATION_EVENT_RECORD);
  ASSERT_EQ(3u, records.size());
  std::map<uint32_t, int> waits;
  for (const auto& wait : OfKind(trace, trace::OPERATION_SYNCHRONIZATION)) {
    ++waits[wait.synchronization_type];
    EXPECT_LE(wait.start_ns, wait.end_ns);
    if (wait.synchronization_type != CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT) continue;
    int found = 0;
    for (const auto& record : records) {
      if (record.detail != wait.detail) continue;
      ++found;
      EXPECT_EQ(record.amount, wait.amount);
      EXPECT_NE(record.stream_id, wait.stream_id);
      EXPECT_LT(record.correlation_id, wait.correlation_id);
    }
    EXPECT_EQ(1, found);
  }
  EXPECT_THAT(waits, testing::ElementsAre(
                         std::pair(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE, 2),
                         std::pair(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT, 3),
                         std::pair(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE, 2),
                         std::pair(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE, 2)));
}

TEST(Scenario, OperationsOfReplayedGraphsTellTheirNode) {
  const auto traces = TraceOperations("memory");
  ASSERT_EQ(1u, traces.size());
  std::map<uint64_t, int> nodes;  // times each ran
  for (const TracedOperation& operation : traces[0].operations)
    if (operation.node_id != 0) ++nodes[operation.node_id];
  // Two memsets and a copy, replayed twice, then two memsets and a copy once.
  std::vector<int> times;
  for (const auto& [node, count] : nodes) {
    times.push_back(count);
    bool graph_known = false;
    for (const auto& graph : traces[0].tables.graphs)
      graph_known |= graph.exec_graph_id != 0 && graph.exec_graph_id == node >> 32;
    EXPECT_TRUE(graph_known) << node;
  }
  EXPECT_THAT(times, testing::UnorderedElementsAre(2, 2, 2, 1, 1, 1));
}

// Edges of the trace's `number`-th graph, nodes named: a kernel by its grid, another by 100 + its type.
std::map<std::pair<uint32_t, uint32_t>, uint32_t> EdgesOf(const TraceSummary& trace, size_t number) {
  const trace::GraphTable& graph = trace.tables.graphs.at(number);
  EXPECT_TRUE(graph.edges_known);
  const auto name = [&](uint32_t position) {
    const size_t kernels = graph.node_ids.size();
    return position < kernels ? trace.tables.sites[graph.node_sites[position]].grid_x()
                              : 100 + graph.other_node_types[position - kernels];
  };
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> edges;
  for (const auto& edge : graph.edges) edges[{name(edge.from), name(edge.to)}] = edge.data;
  return edges;
}

TEST(Scenario, EdgesOfGraphsSayWhatDependsOnWhat) {
  const auto edges = [](const char* scenario, size_t graph) {
    const std::string directory = NewDirectory();
    EXPECT_EQ(0, RunProgram({Probe(), scenario}, {.out_directory = directory}).code);
    return EdgesOf(ReadTraces(directory).at(0), graph);
  };
  using Edge = std::pair<uint32_t, uint32_t>;
  constexpr uint32_t kCopy = 101, kSet = 102, kProgrammatic = 0x10001;
  EXPECT_THAT(edges("capture", 1), testing::ElementsAre(std::pair(Edge(1, 2), 0u),
                                                        std::pair(Edge(2, 3), 0u)));
  // A kernel, two memsets, a copy, a kernel.
  EXPECT_THAT(edges("memory", 1),
              testing::ElementsAre(std::pair(Edge(1, kSet), 0u), std::pair(Edge(kCopy, 2), 0u),
                                   std::pair(Edge(kSet, kCopy), 0u), std::pair(Edge(kSet, kSet), 0u)));
  // A child of one kernel (grid 1), a kernel (grid 2), the child again.
  EXPECT_THAT(edges("child", 1), testing::ElementsAre(std::pair(Edge(1, 2), 0u),
                                                      std::pair(Edge(2, 1), 0u)));
  const auto fork = edges("forkjoin", 1);
  for (const Edge& edge : {Edge(1, 2), Edge(1, 3), Edge(2, 4), Edge(3, 5), Edge(4, 6), Edge(5, 6)})
    EXPECT_TRUE(fork.contains(edge)) << edge.first << " to " << edge.second;
  EXPECT_FALSE(fork.contains(Edge(2, 3)));
  EXPECT_THAT(edges("pdl", 1), testing::ElementsAre(std::pair(Edge(2, 2), kProgrammatic)));
}

// One thread's calls, one after the other, each before what it launched began.
TEST(Scenario, LaunchesTellWhenTheirCallWasMade) {
  const std::string directory = NewDirectory();
  EXPECT_EQ(0, RunProgram({Probe(), "pdl"}, {.out_directory = directory}).code);
  const TraceSummary trace = ReadTraces(directory).at(0);
  ASSERT_EQ(60u, trace.launches.size());
  ASSERT_FALSE(trace.tables.clocks.empty());
  const trace::ClockPair& clock = trace.tables.clocks[0];
  uint64_t previous_end_ns = 1;
  for (const TracedLaunch& launch : trace.launches) {
    EXPECT_LE(previous_end_ns, launch.enter_ns);
    EXPECT_LT(0u, launch.call_ns);
    previous_end_ns = launch.enter_ns + launch.call_ns;
    const auto started = trace.first_start_ns.find(launch.correlation_id);
    ASSERT_NE(trace.first_start_ns.end(), started);
    // Realtime, by the clock pair; clocks of a machine under test are not turned meanwhile.
    const uint64_t entered_ns = launch.enter_ns + (clock.realtime_ns() - clock.monotonic_ns());
    EXPECT_LE(entered_ns, started->second + 1000000);
  }
}

TEST(Scenario, WithoutBeingAskedForOperationsAreNotRecordedAndTheHeaderSaysSo) {
  const std::string directory = NewDirectory();
  EXPECT_EQ(0, RunProgram({Probe(), "operations"}, {.out_directory = directory}).code);
  const auto traces = ReadTraces(directory);
  ASSERT_EQ(1u, traces.size());
  EXPECT_TRUE(traces[0].operations.empty());
  EXPECT_THAT(traces[0].tables.header.activity_kinds(),
              testing::ElementsAre(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
}

TEST(Scenario, AWrongWordForWhatToRecordIsSaid) {
  const std::string directory = NewDirectory();
  RunOptions options = {.out_directory = directory};
  options.environment["HOTPROOF_RECORD"] = "all";
  const RunResult run = RunProgram({Probe(), "operations"}, options);
  EXPECT_EQ(0, run.code);
  EXPECT_EQ("hotproof: HOTPROOF_RECORD=all is neither kernels nor operations; kernels is used\n",
            run.errors);
  EXPECT_EQ(6u, ReadTraces(directory)[0].Recorded());
}

TEST(Scenario, ALimitThatIsNoNumberIsSaid) {
  const std::string directory = NewDirectory();
  RunOptions options = {.out_directory = directory};
  options.environment["HOTPROOF_KEEP_BYTES"] = "-1";
  const RunResult run = RunProgram({Probe(), "operations"}, options);
  EXPECT_EQ(0, run.code);
  EXPECT_EQ("hotproof: HOTPROOF_KEEP_BYTES=-1 is no whole number; it counts as not set\n", run.errors);
}

// Each process's device counts what the tracer says was asked.
TEST(Scenario, CountingKernelsAgree) {
  for (const char* scenario : {"plain", "pdl", "streams4", "threads4", "graphs"}) {
    const std::string directory = NewDirectory();
    const RunResult run = RunProgram({SelfCount(), scenario, "3000"}, {.out_directory = directory});
    EXPECT_EQ(0, run.code) << run.output;
    const auto traces = ReadTraces(directory);
    ASSERT_EQ(1u, traces.size());
    EXPECT_EQ(3000u, traces[0].Asked()) << scenario;
    EXPECT_EQ(3000u, traces[0].Recorded()) << scenario;
    EXPECT_EQ(3000u, traces[0].timed) << scenario;
  }
}

}  // namespace
}  // namespace hotproof::e2e
