// GPU time of every slot (eager site or graph node), by phase: the one pass over the records that
// hot_path, kernels and kinds are made from.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzers/analyzer.h"
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
  void Fold(const Chunk& chunk) override;
  void FoldInOrder(const Chunk& chunk) override;
  void Merge(const Analyzer& other) override;

  struct Result {
    std::vector<TimeSums> sums[2];      // [0] warm-up, [1] steady; by slot
    std::vector<uint32_t> slot_stream;  // of graph nodes; 0: not seen, or not always the same
    EagerHelpers::Owned eager_helpers;
    uint64_t records = 0, untimed = 0, out_of_range = 0;
    uint64_t busy_ns = 0;  // union over kernels, summed over devices
    uint64_t forgotten_gaps = 0;
  };
  Result Finish() &&;

 private:
  const TraceIndex* index_;
  Result result_;
  ExclusiveTime exclusive_;
  EagerHelpers helpers_;
};

}  // namespace hotproof::analyzers
