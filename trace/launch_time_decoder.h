// Decodes when launch calls were made, from a columns frame's message. Stateless; any thread.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "trace/reader.h"

namespace hotproof::trace {

// `message`: a Chunk with launches, followed by FrameDecoder::kPadding readable bytes.
// `launch_count`: as its head's statistics say. Errors (DataLoss): columns that contradict it.
absl::Status DecodeLaunchTimes(std::string_view message, uint64_t launch_count,
                               ChunkLaunchTimes& times);

}  // namespace hotproof::trace
