// ChunkStatistics, Counters and Snapshots as bytes, of a chunk or of many. Used by the encoders of heads.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "trace/column_encoder.h"
#include "trace/operation_encoder.h"
#include "trace/slot_counts.h"
#include "trace/snapshot_list.h"

namespace hotproof::trace {

// Appends the fields of the message Counters.
void EncodeCounters(const SlotCounts& sites, const SlotCounts& graphs, std::string& message);

// Appends the fields of the message ChunkStatistics; null: there are none. `asked`: the bytes of
// Counters.
void EncodeStatistics(const ColumnStatistics* columns, const OperationTotals* operations,
                      const std::string& asked, std::string& message);

// Appends Chunk's field `snapshots`.
void EncodeSnapshots(const SnapshotList& snapshots, std::string& chunk);

}  // namespace hotproof::trace
