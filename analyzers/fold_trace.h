// Runs analyzers over the chunks of one trace: decodes on several threads, folds, merges. At most
// one decoded chunk a thread is in memory.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "analyzers/analyzer.h"
#include "trace/reader.h"

namespace hotproof::analyzers {

struct FoldOptions {
  int threads = 0;  // 0: as many as the machine has
  // Called on any thread after each chunk, one call at a time.
  std::function<void(size_t chunks_done, size_t chunks)> progress;
};

// Returns what could not be read, a line a chunk; those chunks are skipped.
std::vector<std::string> FoldTrace(const trace::TraceReader& reader,
                                   std::span<Analyzer* const> analyzers,
                                   const FoldOptions& options = {});

}  // namespace hotproof::analyzers
