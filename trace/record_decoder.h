// Decodes the timed records of one chunk into runs: the reader's inner loop. Used by column_decoder
// alone; one per thread, its buffers are kept from chunk to chunk.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "trace/chunk_runs.h"
#include "trace/tables.h"
#include "trace/varint_block.h"
#include "trace/varint_column.h"

namespace hotproof::trace {

// Gaps and durations of the latest records of the targets and nodes that are predicted: of each
// target a stretch with one for each node. Place 0 is of all that are not predicted, and stays 0.
struct Predictions {
  std::vector<uint64_t> gap_ns, duration_ns;
};

// A group as its records are decoded.
struct GroupState {
  Target target;  // unknown: none, or not in the tables
  uint32_t stream = 0, next_node = 0;
  uint32_t predicted_nodes = 0;
  uint32_t predictions = 0;  // where they begin
};

// What an exception says of a record; timed records come first in the count.
struct Exception {
  uint32_t record = 0;
  uint32_t site = 0, attributes = 0;
  bool has_site = false, has_attributes = false;
};

struct RecordColumns {
  VarintColumn groups, nodes, gaps, durations, streams;
};

class RecordDecoder {
 public:
  // Each column has `count` entries and has been Checked. Fills runs, start_ns, end_ns, overlapping
  // and last_end_ns of `out`. `exceptions`: ascending by record.
  absl::Status Decode(const RecordColumns& columns, size_t count, uint64_t first_start_ns,
                      const Tables& tables, const std::vector<Exception>& exceptions,
                      std::vector<GroupState>& groups, Predictions& predictions, ChunkRuns& out);

 private:
  struct Clock {
    uint64_t previous_start_ns = 0, previous_end_ns = 0, last_end_ns = 0;
    bool sorted = true;
  };
  // A block of gaps and durations below 2^kPlainBits comes to less than 2^62.
  static constexpr int kPlainBits = 62 - 10;
  static_assert(2 * kBlockEntries <= 1 << 10);
  // What the gaps and durations of a block, or a part of one, are.
  struct Times {
    const uint64_t *gap_ns, *duration_ns;
    uint32_t count;
    bool plain;  // all below 2^kPlainBits, and no duration is negative
  };
  void Place(const Times& times, uint32_t first, ChunkRuns& out);
  void FollowTimes(uint32_t first, uint32_t count, ChunkRuns& out);
  void DecodeTimes(uint32_t first, uint32_t count, uint64_t* gap_ns, uint64_t* duration_ns,
                   ChunkRuns& out);
  void DecodeUnpredicted(uint32_t first, uint32_t count, ChunkRuns& out);
  uint32_t EagerFollowers(const std::vector<GroupState>& groups, uint32_t index, uint32_t record,
                          size_t most, const std::vector<Exception>& exceptions);
  void DecodeEagerTimes(uint32_t first, uint32_t count, GroupState* groups,
                        Predictions& predictions, ChunkRuns& out);
  void NextBlock();
  void PassExceptions(uint32_t record, const std::vector<Exception>& exceptions);
  void AddRun(const GroupState& group, Run run, const Tables& tables,
              const std::vector<Exception>& exceptions, ChunkRuns& out);

  // Gaps and durations are decoded a block ahead: its entries [block_at_, block_end_) are next,
  // then those at the cursors.
  ZigZagCursor cursors_[2];
  ZigZagBlock block_;
  uint32_t block_at_ = 0, block_end_ = 0;
  size_t entries_left_ = 0;  // behind the block
  Clock clock_;
  // Of a block whose predictions do not lie side by side.
  uint64_t gap_ns_[kBlockEntries], duration_ns_[kBlockEntries];
  uint32_t overlapping_[kBlockEntries + 1];
  size_t next_exception_ = 0;
};

}  // namespace hotproof::trace
