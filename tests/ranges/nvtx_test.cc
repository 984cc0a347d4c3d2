// Ranges of programs that use NVTX's own headers: each launch and each graph node has the ranges it was in,
// and a chained tool hears and answers as if it were alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/fake_cuda/e2e/traced_program.h"

namespace hotproof::e2e {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

std::string Payload(const trace::RangePath& path) {
  const uint64_t bits = path.payload();
  double real;
  std::memcpy(&real, &bits, sizeof real);
  switch (path.payload_kind()) {
    case trace::PAYLOAD_UNSIGNED:
      return "(" + std::to_string(bits) + ")";
    case trace::PAYLOAD_SIGNED:
      return "(" + std::to_string(static_cast<int64_t>(bits)) + ")";
    case trace::PAYLOAD_DOUBLE:
      return "(" + std::to_string(real) + ")";
    case trace::PAYLOAD_VARIES:
      return "(*)";
    default:
      return "";
  }
}

std::string Text(const trace::Tables& tables, uint32_t id) {
  if (id == 0) return "";
  const trace::RangePath& path = tables.range_paths.at(id);
  std::string text = path.many() ? "MANY" : path.name() + Payload(path);
  if (!path.domain().empty()) text = path.domain() + ":" + text;
  return path.parent() == 0 ? text : Text(tables, path.parent()) + "/" + text;
}

// "process ranges | thread's ranges" -> launches asked, of the launches with each grid.
using Ranges = std::map<std::string, uint64_t>;
std::map<uint32_t, Ranges> RangesByGrid(const trace::Tables& tables) {
  std::map<uint32_t, Ranges> ranges;
  const auto add = [&](uint32_t site, uint32_t process, uint32_t thread, uint64_t launches) {
    const std::string of_process = Text(tables, process);
    const std::string text = of_process.empty() ? Text(tables, thread)
                                                : of_process + " | " + Text(tables, thread);
    if (launches != 0) ranges[tables.sites[site].grid_x()][text] += launches;
  };
  for (uint32_t id = 1; id < tables.sites.size(); ++id) {
    const trace::Site& site = tables.sites[id];
    add(id, site.process_ranges(), site.range_path(), tables.asked.sites.at(id));
  }
  for (uint32_t id = 1; id < tables.graphs.size(); ++id) {
    const trace::GraphTable& graph = tables.graphs[id];
    for (size_t node = 0; node < graph.node_sites.size(); ++node) {
      const bool any = !graph.node_range_paths.empty();
      const bool any_process = !graph.node_process_ranges.empty();
      add(graph.node_sites[node], any_process ? graph.node_process_ranges[node] : 0,
          any ? graph.node_range_paths[node] : 0, tables.asked.graphs.at(id));
    }
  }
  return ranges;
}

struct Outcome {
  std::string output, tool_log;
  std::map<uint32_t, Ranges> ranges;
  trace::Tables tables;
};

std::string Read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// `tool_mode`: what kind of tool (tool.cc).
Outcome RunScenario(const std::string& scenario, bool traced, bool with_tool,
                    const std::string& tool_mode = "", const std::string& program = RANGES_PROGRAM) {
  Outcome outcome;
  const std::string directory = NewDirectory();
  RunOptions options{.traced = traced, .out_directory = directory};
  if (with_tool) {
    options.environment["NVTX_INJECTION64_PATH"] = RANGES_TOOL;
    options.environment["NVTX_TOOL_LOG"] = directory + "/tool.log";
    options.environment["NVTX_TOOL_MODE"] = tool_mode;
  }
  const RunResult result = RunProgram({program, scenario}, options);
  EXPECT_TRUE(result.exited && result.code == 0) << result.output << result.errors;
  EXPECT_EQ(result.errors, "");
  outcome.output = result.output;
  if (with_tool) outcome.tool_log = Read(directory + "/tool.log");
  if (!traced) return outcome;
  const std::vector<TraceSummary> traces = ReadTraces(directory);
  EXPECT_EQ(traces.size(), 1u);
  if (traces.size() != 1) return outcome;
  EXPECT_THAT(traces[0].issues, IsEmpty());
  EXPECT_EQ(traces[0].unattributed, 0u);
  EXPECT_EQ(traces[0].Asked(), traces[0].Recorded());
  outcome.tables = traces[0].tables;
  outcome.ranges = RangesByGrid(outcome.tables);
  return outcome;
}

TEST(NvtxRangesTest, StacksOfOneThread) {
  const Outcome traced = RunScenario("stacks", true, false);
  EXPECT_THAT(traced.ranges.at(1), ElementsAre(Pair("", 2)));
  EXPECT_THAT(traced.ranges.at(2), ElementsAre(Pair("outer/engine:gemm(-5)", 1)));
  EXPECT_THAT(traced.ranges.at(3), ElementsAre(Pair("outer", 1)));
  EXPECT_THAT(traced.ranges.at(4), ElementsAre(Pair("engine:gemm(-5)", 1)));
  EXPECT_THAT(traced.ranges.at(5), ElementsAre(Pair("größe 😀/w(0.500000)", 1)));
  EXPECT_THAT(traced.ranges.at(6), ElementsAre(Pair("module//torch op", 1)));
  // Levels, as NVTX defines them.
  EXPECT_EQ(traced.output,
            "push 0\npush 0\npop 0\npop 0\npush 0\npop of none -1\nmodule 0\ncounted 7\n");
}

TEST(NvtxRangesTest, HotproofsOwnInAnExecutableThatIsNotPositionIndependent) {
  const Outcome traced = RunScenario("stacks", true, false, "", RANGES_PROGRAM_NO_PIE);
  EXPECT_THAT(traced.ranges.at(6), ElementsAre(Pair("module//torch op", 1)));
}

TEST(NvtxRangesTest, RangesOfTheProcess) {
  const Outcome traced = RunScenario("threads", true, false);
  const std::string both = "request(7)/server:request(7) | ";
  EXPECT_THAT(traced.ranges.at(1), ElementsAre(Pair(both, 1)));
  EXPECT_THAT(traced.ranges.at(2), ElementsAre(Pair(both, 1)));
  EXPECT_THAT(traced.ranges.at(3), ElementsAre(Pair(both + "worker", 1)));
  EXPECT_THAT(traced.ranges.at(4), ElementsAre(Pair("server:request(7) | worker", 1)));
  EXPECT_THAT(traced.ranges.at(5), ElementsAre(Pair("server:request(7) | ", 1)));
  EXPECT_THAT(traced.ranges.at(6), ElementsAre(Pair("", 1)));
  EXPECT_THAT(traced.ranges.at(7), ElementsAre(Pair("open 0/open 1/open 2/open 3/open 4/open 5/"
                                                    "open 6/open 7/MANY | ",
                                                    1)));
}

TEST(NvtxRangesTest, NodesKeepTheRangesOfTheirCapture) {
  const Outcome traced = RunScenario("graphs", true, false);
  EXPECT_THAT(traced.ranges.at(1),
              ElementsAre(Pair("", 3), Pair("layer 0", 3), Pair("layer 1", 3)));
  EXPECT_THAT(traced.ranges.at(2), ElementsAre(Pair("by hand", 1)));
  size_t captured_sites = 0;
  for (const trace::Site& site : traced.tables.sites) {
    captured_sites += site.captured() && site.grid_x() == 1 ? 1 : 0;
  }
  EXPECT_EQ(captured_sites, 1u);  // ranges make no sites of nodes
}

TEST(NvtxRangesTest, OnlyPushesLoseTorchsNumbers) {
  const Outcome traced = RunScenario("numbers", true, false);
  EXPECT_THAT(traced.ranges.at(1),
              ElementsAre(Pair("started, seq = 3 | domain, seq = 1:registered, seq = 2/aten::mm", 1)));
}

TEST(NvtxRangesTest, LimitsAreSaid) {
  const Outcome traced = RunScenario("limits", true, false);
  std::string deep = "deep";
  for (int i = 1; i < 64; ++i) deep += "/deep";
  EXPECT_THAT(traced.ranges.at(1), ElementsAre(Pair(deep + "/MANY", 1)));
  EXPECT_THAT(traced.ranges.at(2), ElementsAre(Pair(std::string(255, 'n'), 1)));
  const Ranges& steps = traced.ranges.at(3);
  EXPECT_EQ(steps.size(), 513u);
  EXPECT_EQ(steps.at("loop/step 0/inner"), 1u);
  EXPECT_EQ(steps.at("loop/MANY"), 88u);
  const Ranges& payloads = traced.ranges.at(4);
  EXPECT_THAT(payloads, ElementsAre(Pair("loop/MANY", 40)));  // its place in `loop` was taken
}

// A mutex of ours that another thread holds during fork would stop the child.
TEST(NvtxRangesTest, ForkedChildrenGoOn) {
  const Outcome traced = RunScenario("fork", true, false);
  EXPECT_THAT(traced.output, Not(testing::HasSubstr("child")));
  EXPECT_THAT(traced.ranges.at(1), ElementsAre(Pair("parent", 1)));
}

class ChainedToolTest : public testing::TestWithParam<std::string> {};

TEST_P(ChainedToolTest, HearsAndAnswersAsIfAlone) {
  const Outcome alone = RunScenario(GetParam(), false, true);
  const Outcome chained = RunScenario(GetParam(), true, true);
  EXPECT_THAT(alone.tool_log, Not(IsEmpty()));
  EXPECT_EQ(alone.tool_log, chained.tool_log);
  EXPECT_EQ(alone.output, chained.output);
  const Outcome without = RunScenario(GetParam(), true, false);
  EXPECT_EQ(without.ranges, chained.ranges);
}

// No handle and no id of ours may reach a tool that gave none.
TEST_P(ChainedToolTest, HearsNoHandlesThatItDidNotMake) {
  for (const char* mode : {"null", "partial", "fails"}) {
    const Outcome alone = RunScenario(GetParam(), false, true, mode);
    const Outcome chained = RunScenario(GetParam(), true, true, mode);
    EXPECT_EQ(alone.tool_log, chained.tool_log) << mode;
    if (std::string(mode) == "fails") continue;  // then what is pushed is ours to answer
    EXPECT_EQ(alone.output, chained.output) << mode;
  }
}

INSTANTIATE_TEST_SUITE_P(Nvtx, ChainedToolTest,
                         testing::Values("stacks", "threads", "graphs", "limits"));

}  // namespace
}  // namespace hotproof::e2e
