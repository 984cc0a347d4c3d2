// The head of a chunk: statistics, and the tables, snapshots and problems that wait for disk. Owned
// by the Writer, one thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trace/column_encoder.h"
#include "trace/operation_encoder.h"
#include "trace/writer.h"

namespace hotproof::trace {

// Counter values that readers know already, to write only increments. Updated when the increments
// are on disk (Commit), so that those of a lost write are written again.
class CounterIncrements {
 public:
  // Finds the slots below `slots` that moved. False: none did.
  bool Compute(std::span<const uint64_t> now, size_t slots);
  void Commit();
  // Encodes as a pair of packed fields of the message Counters.
  void AppendTo(uint32_t ids_field, uint32_t counts_field, std::string& message);

 private:
  struct Move {
    uint32_t id;
    uint64_t by;
  };
  std::vector<uint64_t> known_;
  std::vector<Move> moves_;
};

class ChunkEncoder {
 public:
  void AddHeader(const HeaderEntry&);
  void AddKernel(const KernelEntry&);
  void AddAttributes(uint32_t id, const AttributesEntry&);
  void AddTensorMap(const TensorMapEntry&);
  void AddRangePath(const RangePathEntry&);
  void AddSite(const SiteEntry&);
  void AddGraph(const GraphEntry&);
  void AddStream(const StreamEntry&);
  void AddSnapshot(const SnapshotEntry&, const CounterView&);
  void AddProblem(const ProblemEntry&);
  void AddClockPair(const ClockPairEntry&);
  void AddOperationClass(const OperationClassEntry&);
  void AddFooter(const FooterEntry&);
  bool has_pending() const { return !pending_.empty(); }

  // Compares the counters with what is on disk; `all_slots` false looks only at ids that were
  // added. True: some moved.
  bool ComputeAsked(const CounterView&, bool all_slots);

  struct ColumnsFrame {
    uint64_t size_bytes, hash;
  };
  // The head: increments found by ComputeAsked, everything pending, and what it says of the columns
  // (null: none).
  const std::string& Encode(uint64_t sequence, const ColumnStatistics*, const OperationTotals*,
                            const ColumnsFrame*,
                            std::span<const std::pair<uint32_t, uint32_t>> site_attributes);
  void Commit();  // the head is on disk

 private:
  void AppendStatistics(const ColumnStatistics*, const OperationTotals*);

  std::string pending_;  // Chunk fields, coded
  std::string head_, scratch_, asked_;
  uint32_t last_site_ = 0, last_graph_ = 0;
  bool header_added_ = false;
  CounterIncrements asked_sites_, asked_graphs_;
  CounterIncrements snapshot_sites_, snapshot_graphs_;
};

}  // namespace hotproof::trace
