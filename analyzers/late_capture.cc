#include "analyzers/late_capture.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "trace/format.h"

namespace hotproof::analyzers {

uint64_t ReplaysBeforeLateCapture(const trace::Tables& tables, const Phases& phases) {
  if (!phases.phased) return 0;
  bool is_behind_capture = false;
  for (const trace::SnapshotTable& snapshot : tables.snapshots) {
    if (trace::IsSteadyMark(snapshot.reason, snapshot.label)) return 0;
    is_behind_capture |= snapshot.reason == trace::SNAPSHOT_REASON_END_CAPTURE;
  }
  const std::vector<uint64_t>& by_graph = phases.warmup.graphs;
  const bool was_in_use =
      std::any_of(by_graph.begin(), by_graph.end(),
                  [](uint64_t replays) { return replays >= kLateCaptureReplays; });
  if (!is_behind_capture || !was_in_use) return 0;
  return std::accumulate(by_graph.begin(), by_graph.end(), uint64_t{0});
}

}  // namespace hotproof::analyzers
