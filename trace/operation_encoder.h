// Memory copies, memsets, synchronizations and event records of the chunk being filled, and their
// coding as columns (proto/FORMAT.md, "Operations"). Owned by the Writer, one thread at a time.
// Buffers are kept from chunk to chunk.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "trace/writer.h"

namespace hotproof::trace {

struct OperationSum {
  uint64_t count = 0, duration_ns = 0, bytes = 0;
};

// What OperationStatistics says.
struct OperationTotals {
  uint64_t count = 0, untimed_count = 0, late_count = 0;
  uint64_t first_start_ns = 0, last_start_ns = 0, last_end_ns = 0;
  std::vector<std::pair<uint32_t, OperationSum>> classes;  // ascending by class id
};

class OperationEncoder {
 public:
  void NoteClass(uint32_t id, uint32_t kind);  // before its first operation
  // False: the pending limit is reached, or it is of no class, and it was not taken.
  bool Add(const OperationEntry&);
  size_t pending() const { return operations_.size(); }

  // Appends the Chunk field `operations` of everything pending to `message` and fills totals().
  // Changes nothing that a failed write would have to undo.
  void Encode(std::string& message);
  const OperationTotals& totals() const { return totals_; }

  void Clear();   // forgets what is pending
  void Commit();  // what Encode coded is on disk

 private:
  // Of the previous operation of a class.
  struct Previous {
    uint64_t duration_ns = 0, node_id = 0, amount = 0, detail = 0;
    uint32_t stream = 0;
  };
  struct Class {
    bool has_bytes = false;
    Previous previous;
    OperationSum sum;
  };
  struct SortKey {
    uint64_t start_ns;
    uint32_t index;
  };

  void Sort();
  void CollectSums();

  std::vector<Class> classes_;  // by id
  std::vector<OperationEntry> operations_;
  std::vector<SortKey> timed_;
  std::vector<uint32_t> order_;  // timed ones by start, then untimed ones
  std::vector<uint8_t> scratch_;
  uint64_t last_start_on_disk_ns_ = 0;
  OperationTotals totals_;
};

}  // namespace hotproof::trace
