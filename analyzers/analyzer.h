// The shape of every analyzer that reads launches or records. FoldTrace (fold_trace.h) makes one
// instance per worker thread with Init, gives each chunk to one of them, merges them and leaves the
// result in the instance it was given, whose Finish makes the analyzer's message. Results must not
// depend on how chunks were spread over threads: Fold and Merge only add up; what depends on the
// order of chunks goes to FoldInOrder.
#pragma once

#include <cstdint>
#include <memory>

#include "trace/chunk_runs.h"

namespace hotproof::analyzers {

struct Chunk {
  size_t index = 0;
  const trace::ChunkRuns& runs;
  // No timed record of a later chunk starts before this; all ones after the last such chunk.
  uint64_t earliest_later_start_ns = UINT64_MAX;
};

class Analyzer {
 public:
  virtual ~Analyzer() = default;

  // An empty instance for the same trace, for another thread.
  virtual std::unique_ptr<Analyzer> Init() const = 0;

  // What another instance takes; where that is much, fewer threads fold.
  virtual size_t instance_bytes() const { return 0; }

  // Any chunk, in any order, on the thread of this instance.
  virtual void Fold(const Chunk&) {}

  // Every chunk in the order of the trace, one at a time, always on the instance that FoldTrace was
  // given. `folded`: the instance whose Fold took this chunk just before, to take over what it kept
  // of it. Keep it cheap: threads take turns, so this is what no second core makes faster.
  virtual void FoldInOrder(const Chunk&, Analyzer& /*folded*/) {}

  // Adds the sums of `other`, an instance made by Init, which may be left without them.
  virtual void Merge(Analyzer& /*other*/) {}
};

}  // namespace hotproof::analyzers
