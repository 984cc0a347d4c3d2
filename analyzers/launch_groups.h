// What the records of one chunk show of each launch that has any: how many executions, and whether
// each node's is among them. Used by LaunchMatching, one on each thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzers/trace_index.h"
#include "trace/chunk_runs.h"

namespace hotproof::analyzers {

class LaunchGroups {
 public:
  // `index` outlives it.
  explicit LaunchGroups(const TraceIndex& index);

  // Of one of the chunk's groups.
  struct Counts {
    uint64_t digest = 0;  // sum over the seen nodes; tells a duplicate from a missing one
    uint32_t seen = 0, untimed = 0;
  };
  // Records that are in no group, or not known to be of any site.
  struct Unplaced {
    uint64_t without_launch = 0, without_site = 0;
  };
  // In place of what was counted before.
  Unplaced Count(const trace::ChunkRuns& runs);
  const Counts& operator[](size_t group) const { return counts_[group]; }

  // Of the nodes [0, `executions`), once each.
  uint64_t DigestOf(uint32_t executions) const { return digests_[executions]; }
  // Of a launch that was listed once.
  bool IsComplete(trace::Target target, const Counts& counts) const;
  // How many complete eager launches on one stream begin here: none, or as many as are looked at.
  size_t EagerTogether(const trace::ChunkRuns& runs, size_t launch, size_t group) const;

 private:
  uint64_t WithoutSite(const trace::Run& run) const;

  const TraceIndex* index_;
  std::vector<uint64_t> digests_;       // of the nodes [0, n)
  std::vector<char> has_unknown_node_;  // by graph id
  std::vector<Counts> counts_;
};

}  // namespace hotproof::analyzers
