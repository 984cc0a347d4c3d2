// The small part of a trace: interned tables, snapshots, problems and counters, as plain data.
// Built by the reader, read by analyzers. Index = id; entry 0 of each table is a placeholder for
// 'unknown'.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proto/trace.pb.h"

namespace hotproof::trace {

struct CounterValues {
  std::vector<uint64_t> sites;   // by site id; [0]: launches that found no slot
  std::vector<uint64_t> graphs;  // replays by graph id
};

struct GraphTable {
  uint32_t id = 0, exec_graph_id = 0, source_graph_id = 0, replaces = 0;
  std::vector<uint64_t> node_ids;
  std::vector<uint32_t> node_sites;
  std::vector<GraphCaveat> caveats;
  uint32_t disabled_nodes = 0, other_nodes = 0;
  std::vector<uint64_t> other_node_ids;  // 0: not known
  std::vector<uint32_t> other_node_types;
  bool edges_known = false;
  struct Edge {
    uint32_t from = 0, to = 0;  // positions: node_ids, then other_node_ids
    uint32_t data = 0;
  };
  std::vector<Edge> edges;
  // RangePath ids, as many as node_ids or none.
  std::vector<uint32_t> node_range_paths, node_process_ranges;
};

struct SnapshotTable {
  SnapshotReason reason = SNAPSHOT_REASON_UNSPECIFIED;
  std::string label;
  uint64_t realtime_ns = 0, correlation_id = 0;
  uint32_t graph_id = 0;
  CounterValues asked;      // absolute, at the snapshot; sizes as Tables.sites and graphs
  bool asked_exact = true;  // false: a lost chunk may have held counts that are missing here
  uint64_t repeats = 0;     // so many more of its kind were left out, in place of which it is here
};

enum class CounterSource {
  kCounterFile,  // exact for every call that returned
  kChunks,       // from the trace alone: exact up to its last chunk
};

// What the files held that are no more there: sums, no records and no launches.
struct RotatedOut {
  uint32_t files = 0;
  uint64_t records = 0, untimed = 0, launch_entries = 0;
  std::vector<uint64_t> site_records, site_duration_ns;  // as Tables' own
  std::vector<Rollup> rollups;  // by time, without `asked` and the sums by site
};

struct Tables {
  Header header;
  std::vector<Kernel> kernels;
  std::vector<Attributes> attributes;
  std::vector<TensorMap> tensor_maps;
  std::vector<RangePath> range_paths;  // parents before children
  std::vector<Site> sites;
  std::vector<uint32_t> site_attributes;  // attributes id of each site, 0: no record seen
  std::vector<GraphTable> graphs;
  std::vector<Stream> streams;
  std::vector<OperationClass> operation_classes;
  std::vector<SnapshotTable> snapshots;
  std::vector<Problem> problems;
  std::vector<ClockPair> clocks;
  bool has_footer = false;
  Footer footer;
  CounterValues asked;  // at the end; sizes as `sites` and `graphs`
  CounterSource asked_source = CounterSource::kChunks;
  // From the counter file, where asked_source says so.
  uint64_t records_written = 0;   // more than the chunks hold: some were lost
  uint64_t launches_refused = 0;  // launch calls that returned an error: not launches
  // By chunk index, without `asked` and the sums by site: those are summed over the readable chunks
  // here, by site id (a site that no table has: in 0), so that memory does not grow with them.
  std::vector<ChunkStatistics> chunk_statistics;
  std::vector<uint64_t> site_records;  // timed and untimed
  std::vector<uint64_t> site_duration_ns;
  RotatedOut rotated_out;  // its launches are part of `asked`, its records of nothing else here

  // Kernel launches asked of `site_id`, replays multiplied out, given counter values.
  uint64_t LaunchesOfSite(uint32_t site_id, const CounterValues& values) const;
  // The same for every site at once, in one pass over the graphs' nodes.
  std::vector<uint64_t> LaunchesBySite(const CounterValues& values) const;
};

}  // namespace hotproof::trace
