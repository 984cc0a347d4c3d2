#include "analyzers/phases.h"

#include <gtest/gtest.h>

#include <vector>

#include "analyzers/late_capture.h"

namespace hotproof::analyzers {
namespace {

using trace::SNAPSHOT_REASON_END_CAPTURE;
using trace::SNAPSHOT_REASON_FIRST_REPLAY;
using trace::SNAPSHOT_REASON_MARK;
using trace::SNAPSHOT_REASON_REPLAY_AFTER_CAPTURE;

// Snapshots with correlation ids 10, 20, 30, ...
trace::Tables TablesWith(const std::vector<trace::SnapshotReason>& reasons,
                         const std::string& label = "steady") {
  trace::Tables tables;
  for (const trace::SnapshotReason reason : reasons) {
    trace::SnapshotTable& snapshot = tables.snapshots.emplace_back();
    snapshot.reason = reason;
    if (reason == SNAPSHOT_REASON_MARK) snapshot.label = label;
    snapshot.correlation_id = tables.snapshots.size() * 10;
    snapshot.asked.sites = {0, tables.snapshots.size()};
  }
  return tables;
}

TEST(Phases, NothingToGoByIsUnphased) {
  const Phases phases = FindPhases(TablesWith({}));
  EXPECT_FALSE(phases.phased);
  EXPECT_EQ(phases.detail, "no graph replay and no steady mark");
  EXPECT_TRUE(phases.IsSteady(0)) << "all of an unphased process is one phase";
}

TEST(Phases, SteadyBeginsAtTheFirstReplayAfterTheLastCapture) {
  const Phases phases = FindPhases(TablesWith(
      {SNAPSHOT_REASON_END_CAPTURE, SNAPSHOT_REASON_FIRST_REPLAY, SNAPSHOT_REASON_END_CAPTURE,
       SNAPSHOT_REASON_REPLAY_AFTER_CAPTURE, SNAPSHOT_REASON_FIRST_REPLAY}));
  EXPECT_TRUE(phases.phased);
  EXPECT_EQ(phases.correlation_id, 40u);
  EXPECT_EQ(phases.warmup.sites[1], 4u);
  EXPECT_FALSE(phases.IsSteady(39));
  EXPECT_TRUE(phases.IsSteady(40));
}

TEST(Phases, GraphsBuiltByHandNeedNoCapture) {
  EXPECT_EQ(FindPhases(TablesWith({SNAPSHOT_REASON_FIRST_REPLAY})).correlation_id, 10u);
}

// A graph in use before the last capture, and one that was only tried out.
TEST(Phases, ACaptureWhileGraphsAreInUseIsTold) {
  const auto replayed = [](std::vector<uint64_t> by_graph, trace::SnapshotReason last) {
    trace::Tables tables = TablesWith({SNAPSHOT_REASON_END_CAPTURE, SNAPSHOT_REASON_FIRST_REPLAY,
                                       SNAPSHOT_REASON_END_CAPTURE, last});
    tables.snapshots.back().asked.graphs = std::move(by_graph);
    return tables;
  };
  const auto of = [](const trace::Tables& tables) {
    return ReplaysBeforeLateCapture(tables, FindPhases(tables));
  };
  trace::Tables late = replayed({0, 32, 5}, SNAPSHOT_REASON_REPLAY_AFTER_CAPTURE);
  EXPECT_EQ(of(late), 37u);
  EXPECT_EQ(FindPhases(late).detail,
            "at the first replay after the last of 2 captures, which came after 37 replays");
  late.snapshots.back().reason = SNAPSHOT_REASON_MARK;
  late.snapshots.back().label = "steady";
  EXPECT_EQ(of(late), 0u) << "a mark says where steady begins";
  EXPECT_EQ(of(replayed({0, 31, 31}, SNAPSHOT_REASON_REPLAY_AFTER_CAPTURE)), 0u);
  EXPECT_EQ(of(TablesWith({SNAPSHOT_REASON_FIRST_REPLAY})), 0u);
}

TEST(Phases, ACaptureThatIsNeverReplayedLeavesNoSteadyPhase) {
  const Phases phases =
      FindPhases(TablesWith({SNAPSHOT_REASON_FIRST_REPLAY, SNAPSHOT_REASON_END_CAPTURE}));
  EXPECT_FALSE(phases.phased);
  EXPECT_EQ(phases.detail, "no graph replay after the last capture and no steady mark");
}

TEST(Phases, AMarkDecides) {
  const std::vector<trace::SnapshotReason> reasons = {
      SNAPSHOT_REASON_MARK, SNAPSHOT_REASON_END_CAPTURE, SNAPSHOT_REASON_FIRST_REPLAY};
  EXPECT_EQ(FindPhases(TablesWith(reasons)).correlation_id, 10u);
  EXPECT_EQ(FindPhases(TablesWith(reasons, "hotproof.steady")).correlation_id, 10u);
  EXPECT_EQ(FindPhases(TablesWith(reasons, "something else")).correlation_id, 30u);
}

TEST(Phases, MarksWithOtherLabelsAreNamedWhereNoneDecides) {
  EXPECT_EQ(FindPhases(TablesWith({SNAPSHOT_REASON_MARK, SNAPSHOT_REASON_MARK}, "Steady")).detail,
            "no graph replay and no steady mark (marks with other labels: 'Steady')");
  EXPECT_EQ(FindPhases(TablesWith({SNAPSHOT_REASON_MARK, SNAPSHOT_REASON_FIRST_REPLAY}, "steady ")).detail,
            "at the first graph replay (marks with other labels: 'steady ')");
  trace::Tables tables = TablesWith(std::vector(5, SNAPSHOT_REASON_MARK), "a");
  for (size_t i = 0; i < 5; ++i) tables.snapshots[i].label += std::to_string(i);
  EXPECT_EQ(FindPhases(tables).detail,
            "no graph replay and no steady mark (marks with other labels: 'a0', 'a1', 'a2' and 2 more)");
  tables.snapshots[4].label = "steady";
  EXPECT_EQ(FindPhases(tables).detail, "at the steady mark");
}

TEST(Phases, TheLastOfSeveralMarksDecides) {
  EXPECT_EQ(FindPhases(TablesWith({SNAPSHOT_REASON_MARK, SNAPSHOT_REASON_MARK})).correlation_id,
            20u);
}

}  // namespace
}  // namespace hotproof::analyzers
