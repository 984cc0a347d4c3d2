// Matches what was asked (launch entries) with what ran (activity records), launch by launch: the
// second of the two independent sources that completeness rests on; counters are the first.
//
// Missing executions of a launch are in flight if no later launch of its stream has a record, else
// lost. A launch is kept until all its executions were seen, so memory grows with what is open, at
// most kMaxOpen launches.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzers/analyzer.h"
#include "analyzers/launch_groups.h"
#include "analyzers/trace_index.h"

namespace hotproof::analyzers {

// Kernel executions of one device.
struct MatchCounts {
  uint64_t expected = 0;  // of launches listed in the trace
  uint64_t recorded = 0;  // of them, those with a record, timed or not
  uint64_t lost = 0;
  uint64_t in_flight = 0;
  uint64_t surplus = 0;  // records that no launch explains
  uint64_t untimed = 0;

  void Add(const MatchCounts& other);
};

class LaunchMatching : public Analyzer {
 public:
  static constexpr size_t kMaxOpen = 1 << 20;

  explicit LaunchMatching(const TraceIndex& index);

  std::unique_ptr<Analyzer> Init() const override;
  void Fold(const Chunk& chunk) override;
  void FoldInOrder(const Chunk& chunk, Analyzer& folded) override;
  void Merge(Analyzer& other) override;

  struct Result {
    std::vector<MatchCounts> devices;     // by device id; launches on an unknown stream count in 0
    MatchCounts rotated_out;              // of files that are gone, on any device
    uint64_t records_without_launch = 0;  // the tracer itself could not name the launch
    uint64_t records_without_site = 0;
    MatchCounts Total() const;
  };
  // `counted`: executions asked, by the counters. What they count beyond the listed launches, and beyond
  // the records of files that are gone, is in flight, or lost if `damaged` (the trace lost chunks or launch
  // entries).
  Result Finish(uint64_t counted, bool damaged) &&;

 private:
  struct Open {
    uint64_t correlation_id;
    trace::Target target;
    uint32_t stream;
    uint32_t device;
    uint32_t
        listed;  // launch entries seen: 1, or more for one call that launches on several devices
    uint64_t seen;
    uint64_t untimed;
    uint64_t digest;  // LaunchGroups::Counts'
  };
  void SettleAscending(const trace::ChunkRuns& runs);
  void List(const trace::ChunkRuns& runs, size_t launch);
  void See(const trace::ChunkRuns& runs, size_t group);
  static void MergeSorted(const std::vector<Open>& older, const std::vector<Open>& newer,
                          std::vector<Open>& merged);
  static void NoteLatest(const std::vector<Open>& launches, std::vector<uint64_t>& by_stream,
                         uint64_t& anywhere);
  void CloseComplete(size_t most_open);
  void TakeRotatedOut(uint64_t& unlisted);
  bool IsComplete(const Open& open) const;
  void Close(const Open& open);

  const TraceIndex* index_;
  LaunchGroups groups_;     // of the chunk it took last
  std::vector<Open> open_;  // by Key; a worker's: what is left open of the chunk it took last
  std::vector<Open> listed_, seen_, scratch_;
  // Of that chunk:
  std::vector<uint64_t> latest_;
  uint64_t latest_anywhere_ = 0;
  // Of the whole trace so far:
  std::vector<uint64_t> last_recorded_;  // by stream: the latest launch with a record
  uint64_t last_recorded_anywhere_ = 0;
  uint64_t border_ = 0;  // the latest launch of the first chunk that lists any; 0: none yet
  Result result_;
};

}  // namespace hotproof::analyzers
