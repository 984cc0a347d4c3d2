// Completeness of whole traces: each test is a kind of loss and what must be said of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analyzers/process_analysis.h"
#include "tests/analyzers/fake_trace.h"

namespace hotproof::tests {
namespace {

using analyzers::Evidence;
using report::Completeness;
using testing::Contains;
using testing::IsEmpty;

// Two kernels, a graph of three nodes and steady replays; tests add to it.
const char* const kTables = R"(
  kernel { id: 1 name: "deep_gemm::fp8_gemm_kernel_swapAB<5120u, 6144u, 128u>" }
  kernel { id: 2 name: "scale_1x128_kernel" }
  site { id: 1 kernel_id: 1 captured: true }
  site { id: 2 kernel_id: 2 captured: true }
  site { id: 3 kernel_id: 2 }
  graph { id: 1 node_site: 2 node_site: 1 node_site: 1 }
)";

const char* const kCapture = R"(
  step { launch { site: 3 times: 5 } }
  step { snapshot { reason: SNAPSHOT_REASON_END_CAPTURE } }
  step { snapshot { reason: SNAPSHOT_REASON_FIRST_REPLAY graph_id: 1 } }
)";

struct Judged {
  AnalysedRun run;
  const analyzers::CompletenessResult& result() const { return run.processes[0].completeness; }
  const Completeness& completeness() const { return result().completeness; }
  std::vector<std::string> reasons() const {
    std::vector<std::string> names;
    for (const report::Reason& reason : completeness().reasons()) names.push_back(reason.name());
    return names;
  }
};

Judged Judge(const std::string& steps) {
  Judged judged{Analyse(ParseTrace(kTables + std::string(kCapture) + steps))};
  const Completeness& c = judged.completeness();
  if (c.state() != Completeness::COUNTED && c.surplus() == 0) {
    EXPECT_EQ(c.expected(), c.recorded() + c.lost() + c.in_flight())
        << "launched = recorded + lost";
  }
  return judged;
}

TEST(Completeness, EverythingRecorded) {
  const Judged judged = Judge("step { launch { graph: 1 times: 4 } }");
  EXPECT_EQ(judged.completeness().state(), Completeness::COMPLETE);
  EXPECT_EQ(judged.completeness().expected(), 5 + 4 * 3);
  EXPECT_EQ(judged.completeness().recorded(), 17);
  EXPECT_THAT(judged.reasons(), IsEmpty());
  EXPECT_EQ(judged.result().counts_all, Evidence::kExact);
  EXPECT_EQ(judged.result().counts_steady, Evidence::kExact);
  EXPECT_EQ(judged.result().times, Evidence::kExact);
  EXPECT_EQ(analyzers::VerdictSentence(judged.result()),
            "COMPLETE: all 17 kernel launches were recorded");
}

TEST(Completeness, AStreamWithoutADeviceCostsNoTableOfDevices) {
  const Judged judged = Judge(
      "stream { id: 1 device_id: 4294967295 } step { launch { graph: 1 stream: 1 times: 4 } }");
  EXPECT_EQ(judged.completeness().expected(), 17);
  EXPECT_EQ(judged.completeness().recorded(), 17);
  ASSERT_EQ(judged.result().devices.size(), 1u);
  EXPECT_EQ(judged.result().devices[0].device(), analyzers::TraceIndex::kUnknownDevice);
}

TEST(Completeness, CapturingIsNoLaunchAndReplaysAreMultipliedOut) {
  // One capture and three replays of two nodes are six launches.
  const Judged judged{Analyse(ParseTrace(R"(
    kernel { id: 1 name: "k" } site { id: 1 kernel_id: 1 captured: true }
    graph { id: 1 node_site: 1 node_site: 1 }
    step { snapshot { reason: SNAPSHOT_REASON_END_CAPTURE } }
    step { snapshot { reason: SNAPSHOT_REASON_FIRST_REPLAY } }
    step { launch { graph: 1 times: 3 } })"))};
  EXPECT_EQ(judged.completeness().expected(), 6);
  EXPECT_EQ(judged.completeness().state(), Completeness::COMPLETE);
}

TEST(Completeness, AMissingRecordBeforeALaterOneIsLost) {
  const Judged judged = Judge(R"(step { launch { graph: 1 lose_node: 1 } }
                                 step { launch { graph: 1 } })");
  EXPECT_EQ(judged.completeness().state(), Completeness::LOWER_BOUND);
  EXPECT_EQ(judged.completeness().lost(), 1);
  EXPECT_THAT(judged.reasons(), testing::ElementsAre("lost_records"));
  EXPECT_EQ(judged.result().counts_steady, Evidence::kExact) << "counters still decide counts";
  EXPECT_EQ(judged.result().times, Evidence::kLowerBound);
}

TEST(Completeness, TheUnfinishedTailIsInFlight) {
  const Judged judged = Judge(R"(step { launch { graph: 1 } }
                                 step { launch { graph: 1 lose_node: 2 } }
                                 step { launch { graph: 1 unrecorded: true } } no_footer: true)");
  EXPECT_EQ(judged.completeness().in_flight(), 4);
  EXPECT_EQ(judged.completeness().lost(), 0);
  EXPECT_THAT(judged.reasons(), testing::ElementsAre("unfinished_tail"));
}

TEST(Completeness, AnotherStreamsRecordsDoNotMakeATailLost) {
  const Judged judged = Judge(R"(
    stream { id: 1 stream_id: 7 } stream { id: 2 stream_id: 9 }
    step { launch { graph: 1 stream: 1 unrecorded: true } }
    step { launch { graph: 1 stream: 2 } })");
  EXPECT_EQ(judged.completeness().in_flight(), 3);
  EXPECT_EQ(judged.completeness().lost(), 0);
}

TEST(Completeness, LaunchesTheCountersKnowAndTheTraceDoesNotAreTheTail) {
  const Judged judged = Judge("step { launch { graph: 1 } } counted_more { graph: 1 count: 2 }");
  EXPECT_EQ(judged.completeness().expected(), 5 + 9);
  EXPECT_EQ(judged.completeness().in_flight(), 6);
}

TEST(Completeness, DamagedColumnsTakeTimesAndNoCounts) {
  const Judged judged = Judge(R"(step { launch { graph: 1 } } counted_more { graph: 1 count: 2 }
                                 issue { kind: 2 offset_bytes: 77 })");
  EXPECT_EQ(judged.completeness().lost(), 6);
  EXPECT_THAT(judged.reasons(), Contains("corrupt_columns"));
  EXPECT_EQ(judged.result().counts_steady, Evidence::kExact);
  EXPECT_EQ(judged.result().times, Evidence::kLowerBound);
}

TEST(Completeness, TheyAreLostIfTheTraceIsDamaged) {
  const Judged judged = Judge(R"(step { launch { graph: 1 } } counted_more { graph: 1 count: 2 }
                                 issue { kind: 3 offset_bytes: 77 })");
  EXPECT_EQ(judged.completeness().lost(), 6);
  EXPECT_THAT(judged.reasons(), Contains("missing_chunk"));
  EXPECT_EQ(judged.result().counts_all, Evidence::kExact);
  EXPECT_EQ(judged.result().counts_steady, Evidence::kNone) << "the boundary may be in it";
}

TEST(Completeness, ATornTailStillDecidesCounts) {
  const Judged judged =
      Judge("step { launch { graph: 1 } } issue { kind: 0 lost_bytes: 99 } no_footer: true");
  EXPECT_EQ(judged.completeness().state(), Completeness::LOWER_BOUND);
  EXPECT_TRUE(judged.completeness().counts_exact());
  EXPECT_EQ(judged.result().counts_steady, Evidence::kExact);
}

TEST(Completeness, WithoutCountersAndCleanEndCountsAreBounds) {
  const Judged torn = Judge("step { launch { graph: 1 } } no_counter_file: true no_footer: true");
  EXPECT_THAT(torn.reasons(), Contains("counters_from_chunks"));
  EXPECT_EQ(torn.result().counts_all, Evidence::kLowerBound);
  // Why there are none is said once.
  const Judged damaged = Judge(
      "step { launch { graph: 1 } } no_counter_file: true no_footer: true issue { kind: 6 detail: 'a.hpc: damaged' }");
  EXPECT_EQ(damaged.result().counts_all, Evidence::kLowerBound);
  EXPECT_THAT(damaged.reasons(), testing::ElementsAre("counter_file"));
  EXPECT_EQ(damaged.completeness().reasons(0).detail(), "the counters cannot be used: a.hpc: damaged");
  const Judged clean = Judge("step { launch { graph: 1 } } no_counter_file: true");
  EXPECT_EQ(clean.completeness().state(), Completeness::COMPLETE);
}

TEST(Completeness, LostTimestampsAreCountedAndReported) {
  const Judged judged = Judge("step { launch { graph: 1 untimed_node: 1 } }");
  EXPECT_EQ(judged.completeness().recorded(), 8);
  EXPECT_EQ(judged.completeness().untimed(), 1);
  EXPECT_THAT(judged.reasons(), testing::ElementsAre("untimed_records"));
  EXPECT_EQ(judged.result().counts_steady, Evidence::kExact);
  EXPECT_EQ(judged.result().times, Evidence::kLowerBound);
}

TEST(Completeness, SurplusRecordsAreAnError) {
  const Judged judged =
      Judge("step { launch { graph: 1 extra_records: 2 } } step { launch { graph: 1 } }");
  EXPECT_EQ(judged.completeness().surplus(), 2);
  EXPECT_THAT(judged.reasons(), Contains("surplus_records"));
  EXPECT_EQ(judged.result().counts_all, Evidence::kLowerBound);
}

TEST(Completeness, ADuplicateDoesNotHideAMissingNode) {
  const Judged judged = Judge(R"(step { launch { graph: 1 extra_records: 1 lose_node: 2 } }
                                 step { launch { graph: 1 } })");
  EXPECT_EQ(judged.completeness().lost(), 1);
  EXPECT_EQ(judged.completeness().surplus(), 1);
}

TEST(Completeness, RecordsMayComeChunksAfterTheirLaunch) {
  const Judged judged = Judge(R"(
    step { launch { graph: 1 times: 2 records_chunks_later: 3 } } step { end_chunk: true }
    step { launch { graph: 1 } } step { end_chunk: true }
    step { launch { graph: 1 } })");
  EXPECT_EQ(judged.completeness().state(), Completeness::COMPLETE);
}

TEST(Completeness, RecordsOfLaunchesThatWereNotListedExplainTheCounters) {
  const Judged judged = Judge("step { launch { graph: 1 unlisted: true } }");
  EXPECT_EQ(judged.completeness().state(), Completeness::COMPLETE);
}

TEST(Completeness, LaunchesWithoutAnyRecordAreNeverAReportOfZeros) {
  const Judged judged = Judge(R"(step { launch { graph: 1 unrecorded: true } })");
  EXPECT_EQ(judged.completeness().expected(), 8);
  const Judged none{Analyse(
      ParseTrace(std::string(kTables) + "step { launch { site: 3 times: 9 unrecorded: true } }"))};
  EXPECT_EQ(none.completeness().state(), Completeness::LOWER_BOUND);
  EXPECT_THAT(none.reasons(), Contains("no_records"));
}

TEST(Completeness, CountModeIsCounted) {
  const Judged judged = Judge(R"(header { mode: MODE_COUNT }
                                 step { launch { graph: 1 times: 4 unrecorded: true unlisted: true } })");
  EXPECT_EQ(judged.completeness().state(), Completeness::COUNTED);
  EXPECT_EQ(judged.result().counts_steady, Evidence::kExact);
  EXPECT_NE(judged.result().times, Evidence::kExact);
}

TEST(Completeness, AnotherSubscriberMeansNothingWasCollected) {
  const Judged judged{
      Analyse(ParseTrace(R"(problem { kind: PROBLEM_OTHER_SUBSCRIBER detail: "kineto" })"))};
  EXPECT_EQ(judged.completeness().state(), Completeness::NOT_COLLECTED);
  EXPECT_EQ(judged.result().counts_all, Evidence::kNone);
  EXPECT_EQ(analyzers::VerdictSentence(judged.result()),
            "NOT COLLECTED, so this says nothing about what ran: another tool holds CUPTI: kineto");
}

TEST(Completeness, NoLaunchIsNotTheSameAsNotCollected) {
  const Judged judged{Analyse(ParseTrace(""))};
  EXPECT_EQ(judged.completeness().state(), Completeness::COMPLETE);
  EXPECT_EQ(analyzers::VerdictSentence(judged.result()), "COMPLETE: no kernel was launched");
}

TEST(Completeness, CaveatsOfReplayedGraphsMakeLowerBounds) {
  const std::string conditional = R"(
    graph { id: 2 node_site: 1 caveat: GRAPH_CAVEAT_CONDITIONAL } step { launch { graph: 1 } } )";
  EXPECT_EQ(Judge(conditional).completeness().state(), Completeness::COMPLETE) << "never replayed";
  const Judged replayed = Judge(conditional + "step { launch { graph: 2 } }");
  EXPECT_THAT(replayed.reasons(), Contains("conditional_graph"));
  EXPECT_EQ(replayed.result().counts_all, Evidence::kLowerBound);
}

TEST(Completeness, DroppedRecordsAreACrossCheckOnly) {
  const Judged judged = Judge(R"(step { launch { graph: 1 } }
    problem { kind: PROBLEM_CUPTI_DROPPED_RECORDS count: 3 })");
  EXPECT_EQ(judged.completeness().state(), Completeness::COMPLETE);
  EXPECT_EQ(judged.result().problems.size(), 1u);
}

// What cupti_tracer/core/trace_file.cc says of entries that were lost.
TEST(Completeness, LostRecordsLeaveCountsExactAndLostEntriesDoNot) {
  const Judged records = Judge(R"(step { launch { graph: 1 } } problem {
    kind: PROBLEM_INTERNAL detail: "records were lost: no room in a chunk, or no memory" })");
  EXPECT_THAT(records.reasons(), Contains("records_lost"));
  EXPECT_EQ(records.result().counts_all, Evidence::kExact);
  EXPECT_EQ(records.result().times, Evidence::kLowerBound);
  const Judged entries = Judge(R"(step { launch { graph: 1 } }
    problem { kind: PROBLEM_INTERNAL detail: "entries were lost: no memory" })");
  EXPECT_THAT(entries.reasons(), Contains("tracer_internal"));
  EXPECT_EQ(entries.result().counts_all, Evidence::kLowerBound);
}

TEST(Completeness, TheLastCumulativeCountOfAProblemHolds) {
  const Judged judged = Judge(R"(step { launch { graph: 1 } }
    problem { kind: PROBLEM_CUPTI_DROPPED_RECORDS count: 3 }
    problem { kind: PROBLEM_CUPTI_DROPPED_RECORDS count: 8 })");
  ASSERT_EQ(judged.result().problems.size(), 1u);
  EXPECT_EQ(judged.result().problems[0].count(), 8);
}

TEST(Completeness, LaunchesWithoutSlotHaveNoKernel) {
  const Judged judged =
      Judge("step { launch { graph: 1 } } step { launch { site: 0 unrecorded: true } }");
  EXPECT_THAT(judged.reasons(), Contains("slots_exhausted"));
  EXPECT_EQ(judged.result().counts_all, Evidence::kLowerBound);
}

TEST(Completeness, LaunchesOfKernelsThatTheTraceLostDecideNothing) {
  for (const char* const lost : {"site { id: 6 } graph { id: 2 node_site: 1 node_site: 5 }",
                                 "site { id: 5 kernel_id: 4 } kernel { id: 6 } graph { id: 2 node_site: 5 }",
                                 "site { id: 5 kernel_id: 9 } graph { id: 2 node_site: 5 }"}) {
    const std::string replays = "step { launch { graph: 2 times: 7 } }";
    const Judged judged = Judge(lost + replays);
    EXPECT_THAT(judged.reasons(), Contains("unknown_targets")) << lost;
    EXPECT_EQ(judged.result().counts_all, Evidence::kLowerBound) << lost;
  }
  const Judged eager = Judge("site { id: 5 kernel_id: 9 } step { launch { site: 5 } }");
  EXPECT_THAT(eager.reasons(), Contains("unknown_targets"));
}

TEST(Completeness, TimesOutsideTheProcessLifeAreNoTimes) {
  const Judged judged = Judge(R"(clock { cupti_ns: 1000000000 } clock { cupti_ns: 2000000000 }
    step { launch { graph: 1 at_ns: 900000000000000 } })");
  EXPECT_THAT(judged.reasons(), Contains("clocks_out_of_range"));
  EXPECT_EQ(judged.completeness().untimed(), 3);
}

TEST(Completeness, TwoDevicesAreJudgedApart) {
  const Judged judged = Judge(R"(
    header { devices { id: 0 name: "H200" } devices { id: 1 name: "H100" } }
    stream { id: 1 device_id: 0 } stream { id: 2 device_id: 1 }
    step { launch { graph: 1 stream: 1 } }
    step { launch { graph: 1 stream: 2 lose_node: 0 } } step { launch { graph: 1 stream: 2 } })");
  ASSERT_EQ(judged.result().devices.size(), 2u);
  EXPECT_EQ(judged.result().devices[0].lost(), 0);
  EXPECT_EQ(judged.result().devices[0].expected(), 8);
  EXPECT_EQ(judged.result().devices[1].lost(), 1);
  EXPECT_EQ(judged.result().devices[1].expected(), 6);
  EXPECT_EQ(judged.result().devices[1].name(), "H100");
}

TEST(Completeness, TheSameForAnyNumberOfThreads) {
  std::string steps;
  for (int i = 0; i < 40; ++i) {
    steps += "step { launch { graph: 1 times: 7 gap_ns: -100 } } step { end_chunk: true }";
  }
  const FakeTrace trace = ParseTrace(kTables + std::string(kCapture) + steps);
  const AnalysedRun one = Analyse(trace, 1), eight = Analyse(trace, 8);
  EXPECT_EQ(one.processes[0].completeness.completeness.SerializeAsString(),
            eight.processes[0].completeness.completeness.SerializeAsString());
  EXPECT_EQ(one.processes[0].times.busy_ns, eight.processes[0].times.busy_ns);
}

}  // namespace
}  // namespace hotproof::tests
