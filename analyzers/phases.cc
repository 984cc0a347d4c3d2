#include "analyzers/phases.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzers/late_capture.h"
#include "trace/format.h"

namespace hotproof::analyzers {
namespace {

bool IsReplay(const trace::SnapshotTable& snapshot) {
  return snapshot.reason == trace::SNAPSHOT_REASON_FIRST_REPLAY ||
         snapshot.reason == trace::SNAPSHOT_REASON_REPLAY_AFTER_CAPTURE;
}

// " (marks with other labels: 'Steady')", for one may be a slip; "" if there are none.
std::string OtherMarks(const trace::Tables& tables) {
  constexpr size_t kMostNamed = 3;
  std::vector<std::string> labels;
  for (const trace::SnapshotTable& snapshot : tables.snapshots) {
    const std::string label = absl::StrCat("'", snapshot.label, "'");
    if (snapshot.reason == trace::SNAPSHOT_REASON_MARK &&
        std::find(labels.begin(), labels.end(), label) == labels.end()) {
      labels.push_back(label);
    }
  }
  if (labels.empty()) return "";
  const size_t more = labels.size() > kMostNamed ? labels.size() - kMostNamed : 0;
  labels.resize(labels.size() - more);
  return absl::StrCat(" (marks with other labels: ", absl::StrJoin(labels, ", "),
                      more > 0 ? absl::StrCat(" and ", more, " more") : "", ")");
}

}  // namespace

Phases FindPhases(const trace::Tables& tables) {
  Phases phases;
  const trace::SnapshotTable* mark = nullptr;
  const trace::SnapshotTable* replay = nullptr;
  uint64_t marks = 0, captures = 0, replays = 0;
  for (const trace::SnapshotTable& snapshot : tables.snapshots) {
    const uint64_t like_it = 1 + snapshot.repeats;  // in place of them
    if (trace::IsSteadyMark(snapshot.reason, snapshot.label)) {
      mark = &snapshot;
      marks += like_it;
    } else if (snapshot.reason == trace::SNAPSHOT_REASON_END_CAPTURE) {
      replay = nullptr;
      captures += like_it;
    } else if (IsReplay(snapshot)) {
      if (replay == nullptr) replay = &snapshot;
      replays += like_it;
    }
  }

  const trace::SnapshotTable* boundary = mark != nullptr ? mark : replay;
  if (boundary == nullptr) {
    phases.detail = replays == 0 ? "no graph replay and no steady mark"
                                 : "no graph replay after the last capture and no steady mark";
    phases.detail += OtherMarks(tables);
    return phases;
  }
  phases.phased = true;
  phases.correlation_id = boundary->correlation_id;
  phases.warmup = boundary->asked;
  if (mark != nullptr) {
    phases.detail =
        marks == 1 ? "at the steady mark" : absl::StrCat("at the last of ", marks, " steady marks");
  } else if (captures > 0) {
    phases.detail = captures == 1 ? "at the first replay after the capture"
                                  : absl::StrCat("at the first replay after the last of ", captures,
                                                 " captures");
    if (const uint64_t replays = ReplaysBeforeLateCapture(tables, phases); replays > 0)
      absl::StrAppend(&phases.detail, ", which came after ", replays, " replays");
  } else {
    phases.detail = "at the first graph replay";
  }
  if (mark == nullptr) phases.detail += OtherMarks(tables);
  return phases;
}

}  // namespace hotproof::analyzers
