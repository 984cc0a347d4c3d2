// Decodes the operations of a columns frame's message. Stateless; any thread.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "trace/reader.h"
#include "trace/tables.h"

namespace hotproof::trace {

// `message`: a Chunk with operations, followed by FrameDecoder::kPadding readable bytes.
// `statistics`: those of its head. Errors (DataLoss): columns that contradict each other.
absl::Status DecodeOperations(std::string_view message, const ChunkStatistics& statistics,
                              const Tables& tables, ChunkOperations& operations);

}  // namespace hotproof::trace
