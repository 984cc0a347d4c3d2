// Once warm, launches cost no request for memory anywhere in libhotproof.so: not on the launching
// thread, nor where records are taken, encoded, compressed and written.
#include <gtest/gtest.h>

#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include "tests/fake_cuda/e2e/traced_program.h"

namespace hotproof::e2e {
namespace {

struct Phase {
  unsigned long long launches = 0, allocations = 0;
};

std::vector<Phase> RunPhases(const std::string& kind, const std::string& mode,
                             const std::string& record) {
  RunOptions options;
  options.out_directory = NewDirectory();
  options.preload = COUNTING_ALLOCATOR;
  options.environment = {{"HOTPROOF_MODE", mode}, {"HOTPROOF_RECORD", record}};
  options.timeout_s = 120;
  // Warm-up, then N and 10 N launches.
  const RunResult run = RunProgram({STEADY_LAUNCHES, kind, "200000", "20000", "200000"}, options);
  EXPECT_TRUE(run.exited && run.code == 0) << run.errors;
  const auto traces = ReadTraces(options.out_directory);
  EXPECT_EQ(traces.size(), 1u);
  for (const TraceSummary& trace : traces) {
    EXPECT_EQ(trace.Asked(), 420'000u);
    EXPECT_EQ(trace.Recorded(), mode == "full" ? 420'000u : 0u) << trace.Describe();
  }
  std::vector<Phase> phases;
  std::istringstream lines(run.output);
  for (std::string line; std::getline(lines, line);) {
    Phase phase;
    if (std::sscanf(line.c_str(), "%*s %llu launches, %llu allocations", &phase.launches,
                    &phase.allocations) == 2) {
      phases.push_back(phase);
    }
  }
  return phases;
}

struct Case {
  const char *kind, *mode, *record;
};
class AllocationsTest : public testing::TestWithParam<Case> {};

TEST_P(AllocationsTest, NoneForALaunchOnceWarm) {
  const auto phases = RunPhases(GetParam().kind, GetParam().mode, GetParam().record);
  ASSERT_EQ(phases.size(), 3u);
  EXPECT_GT(phases[0].allocations, 10u);  // it counts
  // What is left is memory that is kept and grows where a chunk is longer than all before, twice as
  // much each time: a chunk has as many records as come in a quarter of a second, 65,536 and a
  // buffer's at most. One request for each buffer of records would be hundreds.
  for (const Phase& phase : {phases[1], phases[2]}) {
    EXPECT_LE(phase.allocations, 60u) << "by " << phase.launches << " launches";
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, AllocationsTest,
    testing::Values(Case{"eager", "full", "kernels"}, Case{"eager", "full", "operations"},
                    Case{"replay", "full", "kernels"}, Case{"replay", "full", "operations"},
                    Case{"eager", "count", "kernels"}, Case{"replay", "count", "kernels"}),
    [](const auto& info) {
      return std::string(info.param.kind) + "_" + info.param.mode + "_" + info.param.record;
    });

}  // namespace
}  // namespace hotproof::e2e
