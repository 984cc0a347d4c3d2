// What a trace's next file has to begin with when the one before is closed (proto/FORMAT.md,
// "Rotation"): every table again, and the sums of all that was written. Owned by the Writer, one
// thread at a time; kept only by one that rotates, whose memory grows with the tables, not with
// what ran nor with how long.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/snapshot_list.h"
#include "trace/statistics_encoder.h"

namespace hotproof::trace {

class NextFileHeads {
 public:
  // More rollups than this, and the older half become half as many.
  static constexpr size_t kMaxRollups = 32;
  // More sums by site, class or slot than this in all of them, and all become half as many.
  static constexpr size_t kMaxRollupSums = size_t{1} << 20;
  // Of tables, in one head; with everything else it stays below limits.h's kMaxHeadBytes.
  static constexpr size_t kMaxTableBytes = size_t{16} << 20;

  // A chunk is on disk: the Chunk fields of its tables, its snapshots and its statistics (null:
  // none).
  void AddTables(std::string_view fields);
  void AddSnapshots(SnapshotList&& snapshots) { snapshots_.Append(std::move(snapshots)); }
  void AddSiteAttributes(const std::vector<std::pair<uint32_t, uint32_t>>& pairs);
  void AddChunk(const ColumnStatistics* columns, const OperationTotals* operations,
                const SlotCounts& sites, const SlotCounts& graphs);

  // The heads that the next file begins with, but their `sequence`: one, and more where the tables
  // are too large for it.
  std::vector<std::string> Encode();
  // The `heads` that Encode made are on disk: what follows is of the next file. Nothing was added
  // since.
  void Commit(size_t heads) noexcept;

 private:
  // Sums over the chunks of some files.
  struct Rollup {
    uint32_t first_segment = 0, last_segment = 0;
    uint64_t chunk_count = 0;
    ColumnStatistics columns;
    OperationTotals operations;
    SlotCounts sites, graphs;
    void Add(const Rollup& other);
    size_t sums() const {
      return columns.sites.size() + operations.classes.size() + sites.size() + graphs.size();
    }
  };
  std::vector<Rollup> RollupsWithCurrent() const;
  void EncodeFirst(std::string& head) const;

  std::string headers_;                 // Chunk fields
  std::vector<std::string> tables_{1};  // the same, each no more than a head takes
  SnapshotList snapshots_;
  std::string first_clock_, last_clock_;
  std::map<std::pair<uint32_t, std::string>, std::string>
      problems_;  // the latest of kind and detail
  std::vector<std::pair<uint32_t, uint32_t>> site_attributes_;
  std::vector<Rollup> rollups_;       // of the files before
  std::vector<Rollup> next_rollups_;  // with the present one, by Encode
  Rollup current_{.first_segment = 1, .last_segment = 1};
};

}  // namespace hotproof::trace
