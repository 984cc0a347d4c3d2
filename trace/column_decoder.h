// Decodes a columns frame's message into ChunkRuns. Stateless; any thread.
#pragma once

#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "trace/chunk_runs.h"
#include "trace/tables.h"

namespace hotproof::trace {

// `message`: a Chunk with launches and records, followed by FrameDecoder::kPadding readable bytes.
// `statistics`: what its head says of it; runs.sequence: the head's. Errors (DataLoss): columns that contradict each other.
absl::Status DecodeColumns(std::string_view message, const ChunkStatistics& statistics,
                           const Tables& tables, ChunkRuns& runs);

// Field numbers in `message` that this version does not know.
struct UnknownColumns {
  std::vector<uint32_t> chunk, launches, records, operations;
};
UnknownColumns FindUnknownColumns(std::string_view message);

}  // namespace hotproof::trace
