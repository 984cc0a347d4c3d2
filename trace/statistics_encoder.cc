#include "trace/statistics_encoder.h"

#include "trace/wire_fields.h"
#include "trace/wire_put.h"

namespace hotproof::trace {

void EncodeCounters(const SlotCounts& sites, const SlotCounts& graphs, std::string& message) {
  pbf_writer to(message);
  PutIds(to, 1, sites);
  PutPacked(to, 2, sites.size(), [&](size_t i) { return sites[i].second; });
  PutIds(to, 3, graphs);
  PutPacked(to, 4, graphs.size(), [&](size_t i) { return graphs[i].second; });
}

void EncodeStatistics(const ColumnStatistics* columns, const OperationTotals* operations,
                      const std::string& asked, std::string& message) {
  pbf_writer to(message);
  if (columns != nullptr) {
    PutUint(to, 1, columns->first_start_ns);
    PutUint(to, 2, columns->last_end_ns);
    PutUint(to, 3, columns->record_count);
    PutUint(to, 4, columns->untimed_count);
    PutUint(to, 5, columns->late_count);
    PutUint(to, 6, columns->launch_count);
  }
  if (!asked.empty()) to.add_message(7, asked);
  if (columns != nullptr) {
    const auto& sites = columns->sites;
    PutIds(to, 8, sites);
    PutPacked(to, 9, sites.size(), [&](size_t i) { return sites[i].second.records; });
    PutPacked(to, 10, sites.size(), [&](size_t i) { return sites[i].second.duration_ns; });
  }
  if (operations != nullptr && operations->count != 0) {
    pbf_writer of(to, 11);
    PutUint(of, 1, operations->count);
    PutUint(of, 2, operations->untimed_count);
    PutUint(of, 3, operations->late_count);
    PutUint(of, 4, operations->first_start_ns);
    PutUint(of, 5, operations->last_end_ns);
    const auto& classes = operations->classes;
    PutIds(of, 6, classes);
    PutPacked(of, 7, classes.size(), [&](size_t i) { return classes[i].second.count; });
    PutPacked(of, 8, classes.size(), [&](size_t i) { return classes[i].second.duration_ns; });
    PutPacked(of, 9, classes.size(), [&](size_t i) { return classes[i].second.bytes; });
  }
}

void EncodeSnapshots(const SnapshotList& snapshots, std::string& chunk) {
  pbf_writer to(chunk);
  std::string asked;
  for (const ListedSnapshot& snapshot : snapshots.snapshots()) {
    asked.clear();
    EncodeCounters(snapshot.sites, snapshot.graphs, asked);
    pbf_writer of(to, wire::kSnapshots);
    PutUint(of, 1, snapshot.reason);
    PutString(of, 2, snapshot.label);
    PutUint(of, 3, snapshot.realtime_ns);
    PutUint(of, 4, snapshot.correlation_id);
    if (!asked.empty()) of.add_message(5, asked);
    PutUint(of, 6, snapshot.graph_id);
    PutUint(of, 7, snapshot.repeats);
  }
}

}  // namespace hotproof::trace
