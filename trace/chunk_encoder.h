// The head of a chunk: statistics, and the tables, snapshots and problems that wait for disk. Owned
// by the Writer, one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trace/next_file_heads.h"
#include "trace/snapshot_list.h"
#include "trace/statistics_encoder.h"
#include "trace/writer.h"

namespace hotproof::trace {

// Counter values that readers know already, to write only increments. Updated when the increments
// are on disk (Commit), so that those of a lost write are written again.
class CounterIncrements {
 public:
  // Finds the slots below `slots` that moved. False: none did.
  bool Compute(const Counts& now, size_t slots);
  const SlotCounts& moves() const { return moves_; }
  void Commit();

 private:
  std::vector<uint64_t> known_;  // words
  uint64_t unit_ = 1;
  SlotCounts moves_;
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
  bool has_pending() const {
    return !pending_.empty() || !snapshots_.empty() || !problems_.empty();
  }

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
  void Commit() noexcept;  // the head is on disk

  // From now on keeps what the next file has to begin with. Before the first entry.
  void KeepForNextFile() { next_file_heads_ = std::make_unique<NextFileHeads>(); }
  // False also for want of memory.
  bool keeps_for_next_file() const { return next_file_heads_ != nullptr; }
  // The first heads of the next file, the first of which has `sequence`; everything pending has to be on
  // disk.
  std::vector<std::string> EncodeNextFile(uint64_t sequence);
  void CommitNextFile(size_t heads) noexcept { next_file_heads_->Commit(heads); }

 private:
  void AppendStatistics(const ColumnStatistics*, const OperationTotals*);
  void PutSurroundings(const GraphEntry& graph, std::string& message);

  std::string pending_;  // Chunk fields, coded
  // These wait for the disk, too, in bounded memory however long that takes.
  SnapshotList snapshots_;
  std::map<std::pair<uint32_t, std::string>, std::string> problems_;  // coded, by kind and detail
  std::string head_, scratch_, asked_;
  uint32_t last_site_ = 0, last_graph_ = 0;
  bool header_added_ = false;
  CounterIncrements asked_sites_, asked_graphs_;
  CounterIncrements snapshot_sites_, snapshot_graphs_;
  // Of graphs with edges, by id: a hash of their other nodes and edges, and the Graph that has them.
  struct Surroundings {
    uint64_t hash[2] = {};
    uint32_t graph = 0;
  };
  std::vector<Surroundings> surroundings_;
  std::unique_ptr<NextFileHeads> next_file_heads_;
  // Of the head that was encoded last:
  const ColumnStatistics* columns_ = nullptr;
  const OperationTotals* operations_ = nullptr;
  std::vector<std::pair<uint32_t, uint32_t>> site_attributes_;
};

}  // namespace hotproof::trace
