// One chunk's records as runs, which is how they are stored and how they are folded: a replay's
// records have one launch and one stream and take their graph's nodes in order, so what they have
// in common is kept once a run and only their times once a record. ChunkColumns (reader.h) is the
// same with every column spelled out.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/format.h"

namespace hotproof::trace {

struct ChunkColumns;
struct Tables;

// A launch that has records in the chunk. Its id and target may be another group's, too.
struct RecordGroup {
  uint64_t correlation_id = 0;
  Target target;        // unknown: no launch explains its records
  uint32_t stream = 0;  // of its first record
};

// Records [begin, begin + count) of the chunk, all on one stream. Either of one group, with the nodes
// [node, node + count) of a graph, or `count` records of node 0 otherwise; or (`own_groups`) eager
// launches, one record each: record begin + i is of the group `group` + i, whose target is a site that
// the tables have and that is the record's site.
struct Run {
  uint32_t begin = 0, count = 0;
  uint32_t group = 0;
  Target target;      // its group's, or unknown: then node is 0; with own_groups unknown
  uint32_t node = 0;  // of the first record
  uint32_t site = 0;  // else (no sites_by_node, no own_groups) of every record; 0: it has none
  uint32_t stream = 0;
  bool sites_by_node = false;  // each record has the site that its graph gives its node
  bool own_groups = false;

  uint32_t GroupOf(uint32_t record) const { return own_groups ? group + (record - begin) : group; }
};

// A record, timed or (counted behind them) untimed, whose attributes are not its site's.
struct OddAttributes {
  uint32_t record = 0, attributes = 0;
};

// Every id is a valid index into its table of Tables, and nodes into the node list of their graph:
// what refers to a lost table entry reads as 0, unknown. Vectors are reused from chunk to chunk.
struct ChunkRuns {
  uint64_t sequence = 0;

  std::vector<uint64_t> launch_correlation_id;
  std::vector<Target> launch_target;
  std::vector<uint32_t> launch_stream;

  std::vector<RecordGroup> groups;  // in the order of their first records
  std::vector<Run> runs;            // in the order of the records, all of which they cover
  // Timed records sorted by start; `late_count` first ones start before an earlier chunk's last
  // start.
  uint64_t late_count = 0;
  std::vector<uint64_t> start_ns;
  std::vector<uint64_t> end_ns;
  uint64_t last_end_ns = 0;  // the latest; 0: no timed record
  // Those that start before the record before them, of any run, has ended; ascending. The chunk's first
  // record may be in it.
  std::vector<uint32_t> overlapping;

  // Executed but not timed.
  std::vector<uint32_t> untimed_group;
  std::vector<Target> untimed_target;  // as Run's
  std::vector<uint32_t> untimed_node;
  std::vector<uint32_t> untimed_site;

  std::vector<OddAttributes> odd_attributes;  // ascending by record
};

// Every column of `runs`. `runs` was read with these tables.
void Expand(const ChunkRuns& runs, const Tables& tables, ChunkColumns& columns);
// The other way, for readers that have columns only. Attributes are left out.
void Collapse(const ChunkColumns& columns, const Tables& tables, ChunkRuns& runs);

}  // namespace hotproof::trace
