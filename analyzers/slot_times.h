// GPU time of every slot (eager site or graph node), by phase: the one pass over the records that
// hot_path, kernels and kinds are made from.
//
// Exclusive time depends on the order of the chunks only where they overlap, so each chunk is
// summed by itself and, in order, corrected: its first records, which start before all of the
// earlier chunks has ended, and its last ones, which start after a later chunk's first.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzers/analyzer.h"
#include "analyzers/durations.h"
#include "analyzers/exclusive_time.h"
#include "analyzers/helper_kernels.h"
#include "analyzers/trace_index.h"

namespace hotproof::analyzers {

// Of one slot in one phase. Integers, so sums do not depend on their order.
struct TimeSums {
  uint64_t records = 0;       // timed
  uint64_t duration_ns = 0;   // inclusive
  uint64_t exclusive_ns = 0;  // see exclusive_time.h
};

class SlotTimes : public Analyzer {
 public:
  // `index` must outlive this.
  explicit SlotTimes(const TraceIndex& index);

  std::unique_ptr<Analyzer> Init() const override;
  size_t instance_bytes() const override;
  void Fold(const Chunk& chunk) override;
  void FoldInOrder(const Chunk& chunk, Analyzer& folded) override;
  void Merge(Analyzer& other) override;

  struct Result {
    std::vector<TimeSums> sums[2];      // [0] warm-up, [1] steady; by slot
    SiteDurations durations[2];         // the same, by site
    std::vector<uint32_t> slot_stream;  // of graph nodes; 0: not seen, or not always the same
    EagerHelpers::Owned eager_helpers;
    uint64_t records = 0, untimed = 0, out_of_range = 0;
    uint64_t busy_ns = 0;  // union over kernels, summed over devices
    uint64_t forgotten_gaps = 0;
  };
  Result Finish() &&;

 private:
  // The kernels of one device in one chunk, as if there were no other chunk.
  struct Device {
    uint64_t frontier_ns = 0, busy_ns = 0;
  };
  // What earlier records of the chunk hide of a record.
  struct Hidden {
    uint32_t record;
    uint64_t hidden_ns;
  };
  // What FoldInOrder needs of the chunk that Fold took last.
  struct Kept {
    bool in_range = false;   // all its times
    size_t alone_count = 0;  // of the first records exclusive times are in the sums
    std::vector<Device> devices;
    // Of those of them that were launched eagerly; in order.
    std::vector<Hidden> hidden;
    // Where all are in range: records of runs with own_groups that are not plain; in order.
    std::vector<uint32_t> helpers;
  };

  static constexpr uint32_t kBlock = 128;

  void FoldReplay(const Chunk& chunk, const trace::Run& run, uint32_t alone_count);
  void FoldEager(const Chunk& chunk, const trace::Run& run, uint32_t alone_count);
  void FoldOthers(const Chunk& chunk, const trace::Run& run, uint32_t alone_count);
  template <typename F>
  void Cover(const trace::ChunkRuns& runs, uint32_t begin, uint32_t end, Device& device, F&& hide);
  void NoteStream(const trace::Run& run, uint32_t slot);
  uint32_t SlotAt(const trace::ChunkRuns& runs, const trace::Run& run, uint32_t record) const;
  bool IsSteady(const trace::ChunkRuns& runs, const trace::Run& run, uint32_t record) const;
  Device& DeviceOf(uint32_t stream, std::vector<Device>& devices) const;
  template <typename F>
  void ForEachInRange(const Chunk& chunk, size_t begin, size_t end, F&& f) const;
  void CorrectFirst(const Chunk& chunk, Kept& kept);
  void AddLast(const Chunk& chunk, size_t begin);
  void GiveHelpers(const Chunk& chunk, const Kept& kept);

  const TraceIndex* index_;
  // While folding, exclusive_ns of its sums is less than that by duration_ns (wraps), so that
  // nothing is added for records that no other overlaps.
  Result result_;
  // Of replays in one phase, by slot, until Finish adds them.
  struct Replays {
    std::vector<uint64_t> duration_ns;
    std::vector<uint64_t>
        steps;  // records: at a run's first slot 1 more, behind its last 1 less (wraps)
  };
  Replays replays_[2];
  std::vector<uint32_t>
      graph_stream_;  // by graph: the stream of all its slots, if it is known to be one
  Kept kept_;
  size_t next_overlapping_ = 0;  // of the chunk's
  // Of the instance that FoldTrace was given:
  ExclusiveTime exclusive_;
  EagerHelpers helpers_;
  std::vector<uint64_t> first_exclusive_ns_, last_exclusive_ns_;  // corrected, by record
};

}  // namespace hotproof::analyzers
