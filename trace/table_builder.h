// Folds the heads of a trace's chunks, in file order, into Tables. Keeps every id within bounds, so
// that a damaged or hostile file cannot make its readers index or allocate at will. Used once, by
// TraceReader::Open.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "proto/trace.pb.h"
#include "trace/limits.h"
#include "trace/reader.h"
#include "trace/snapshot_list.h"
#include "trace/tables.h"

namespace hotproof::trace {

class TableBuilder {
 public:
  TableBuilder(Tables& tables, std::vector<ReadIssue>& issues,
               uint64_t memory_limit_bytes = kMaxTableMemoryBytes);

  // `head_bytes`: as a message. `offset_bytes` is the chunk's, for issues. Takes everything but the
  // statistics of the columns. False: what is kept would be more than the limit.
  [[nodiscard]] bool Fold(Chunk& head, uint64_t head_bytes, uint64_t offset_bytes);
  // Of a Continuation whose earlier files are read, too: only table entries that damage took away.
  [[nodiscard]] bool FoldTablesAgain(Chunk& head, uint64_t head_bytes, uint64_t offset_bytes);
  // Adds a readable chunk's sums by site to the tables', and takes those of one that turned out not
  // to be readable away again.
  void AddSums(const ChunkStatistics& statistics) {
    SumSites(statistics, 1, tables_.site_records, tables_.site_duration_ns);
  }
  void RemoveSums(const ChunkStatistics& statistics) {
    SumSites(statistics, ~uint64_t{0}, tables_.site_records, tables_.site_duration_ns);
  }
  // Counts in later chunks may lack those of a lost one.
  void NoteLostChunk() { counts_exact_ = false; }
  // After the last Fold: resolves increments and references.
  void Finish();

 private:
  struct Increments {
    SlotCounts sites, graphs;
  };

  void MeasureWhenNeeded(uint64_t head_bytes);
  Increments Decode(const Counters& counters);
  void FoldTables(Chunk& head);
  void FoldRollups(Continuation& continuation);
  void AddAsked(const ChunkStatistics& statistics);
  void FoldGraph(const Graph& graph);
  // What is around the kernel nodes of graph `of` is around those of `table`.
  void TakeSurroundings(uint32_t of, GraphTable& table);
  template <typename Entry>
  void Place(std::vector<Entry>& table, uint64_t& entries, uint32_t id, Entry&& entry,
             const char* table_name);
  void AddMalformed(std::string detail);
  void ResolveReferences();
  void ResolveCounts();
  static void SumSites(const ChunkStatistics& statistics, uint64_t factor,
                       std::vector<uint64_t>& records, std::vector<uint64_t>& duration_ns);

  Tables& tables_;
  std::vector<ReadIssue>& issues_;
  uint64_t offset_bytes_ = 0;
  // Of table entries, problems and clocks as they are held now. Sums and snapshots have bounds of their own.
  uint64_t memory_bytes_ = 0;
  // What messages hold beyond their own size is measured from where the heads' bytes could become a
  // quarter of the limit in memory.
  bool measures_entries_ = false;
  uint64_t head_bytes_ = 0;
  const uint64_t memory_limit_bytes_;
  bool counts_exact_ = true;
  uint64_t kernels_ = 0, attributes_ = 0, tensor_maps_ = 0, sites_ = 0, graphs_ = 0, streams_ = 0;
  uint64_t operation_classes_ = 0, range_paths_ = 0;
  // With their full counts they take far more: as many as are held until it is known how large those are.
  SnapshotList snapshots_{16 * SnapshotList::kMaxSnapshots};
  std::vector<std::pair<uint32_t, uint32_t>> site_attributes_;
};

}  // namespace hotproof::trace
