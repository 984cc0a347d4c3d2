// What a trace's next file has to begin with when the one before is closed (proto/FORMAT.md,
// "Rotation"): every table again, and the sums of all that was written. Owned by the Writer, one
// thread at a time; kept only by one that rotates, whose memory grows with the tables, not with
// what ran.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/statistics_encoder.h"

namespace hotproof::trace {

class Continuation {
 public:
  // More rollups than this, and the older half become half as many.
  static constexpr size_t kMaxRollups = 32;

  // A chunk is on disk: the Chunk fields of its tables, and its statistics (null: none).
  void AddTables(std::string_view fields);
  void AddSiteAttributes(const std::vector<std::pair<uint32_t, uint32_t>>& pairs);
  void AddChunk(const ColumnStatistics* columns, const OperationTotals* operations,
                const SlotCounts& sites, const SlotCounts& graphs);

  // The head of the next file but its `sequence`.
  std::string Encode();
  // The head that Encode made is on disk: what follows is of the next file. Nothing was added since.
  void Commit() noexcept;

 private:
  // Sums over the chunks of some files.
  struct Rollup {
    uint32_t first_segment = 0, last_segment = 0;
    uint64_t chunk_count = 0;
    ColumnStatistics columns;
    OperationTotals operations;
    SlotCounts sites, graphs;
    void Add(const Rollup& other);
  };
  std::vector<Rollup> RollupsWithCurrent() const;

  std::string tables_;  // Chunk fields
  std::string first_clock_, last_clock_;
  std::map<std::pair<uint32_t, std::string>, std::string>
      problems_;  // the latest of kind and detail
  std::vector<std::pair<uint32_t, uint32_t>> site_attributes_;
  std::vector<Rollup> rollups_;  // of the files before
  std::vector<Rollup> next_rollups_;  // with the present one, by Encode
  Rollup current_{.first_segment = 1, .last_segment = 1};
};

}  // namespace hotproof::trace
