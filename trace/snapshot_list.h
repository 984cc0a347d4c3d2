// The counter snapshots of one trace in bounded memory: a program may mark each of its requests for days.
// Where there are too many, the oldest of those that decide nothing are left out (proto/FORMAT.md,
// "Rotation"): what was asked up to each of the others stays exact, and so does how many there were.
// Used by the writer for what waits for the disk and for the next file, and by the reader; one thread
// at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "trace/slot_counts.h"

namespace hotproof::trace {

struct ListedSnapshot {
  uint32_t reason = 0;  // trace.proto's SnapshotReason
  std::string label;
  uint64_t realtime_ns = 0, correlation_id = 0;
  uint32_t graph_id = 0;
  SlotCounts sites, graphs;  // increments since the one before it in the list
  uint64_t repeats = 0;      // so many more like it were left out
  bool exact = true;         // the reader's: false where a lost chunk may have held some of the counts
};

class SnapshotList {
 public:
  // More than this, and the list is cut to half of it.
  static constexpr size_t kMaxSnapshots = 1024;
  static constexpr size_t kMaxIncrements = size_t{1} << 20;  // of all together
  // What no list goes below: of each kind the one that decides, and the newest.
  static constexpr size_t kFewest = 5;

  explicit SnapshotList(size_t max_snapshots = kMaxSnapshots) : max_snapshots_(max_snapshots) {}

  void Add(ListedSnapshot snapshot);
  // To at most so many, or kFewest.
  void CutTo(size_t most) { CutTo(most, kMaxIncrements); }
  const std::vector<ListedSnapshot>& snapshots() const { return snapshots_; }
  bool empty() const { return snapshots_.empty(); }
  void Clear();
  // Moves all of `other` behind what is here.
  void Append(SnapshotList&& other);

 private:
  void CutTo(size_t most, size_t most_increments);

  size_t max_snapshots_;
  std::vector<ListedSnapshot> snapshots_;
  size_t increments_ = 0;
};

}  // namespace hotproof::trace
