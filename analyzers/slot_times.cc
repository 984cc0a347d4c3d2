#include "analyzers/slot_times.h"

#include <limits>

namespace hotproof::analyzers {
namespace {

constexpr uint32_t kSeveralStreams = std::numeric_limits<uint32_t>::max();

void MeetStream(uint32_t& known, uint32_t seen) {
  if (seen == 0) return;
  if (known == 0) known = seen;
  if (known != seen) known = kSeveralStreams;
}

}  // namespace

SlotTimes::SlotTimes(const TraceIndex& index) : index_(&index), helpers_(index) {
  for (auto& sums : result_.sums) sums.resize(index.slot_count());
  result_.slot_stream.resize(index.slot_count());
}

std::unique_ptr<Analyzer> SlotTimes::Init() const { return std::make_unique<SlotTimes>(*index_); }

void SlotTimes::Fold(const Chunk& chunk) {
  const trace::ChunkColumns& columns = chunk.columns;
  const size_t count = columns.start_ns.size();
  for (size_t i = 0; i < count; ++i) {
    const uint64_t start_ns = columns.start_ns[i], end_ns = columns.end_ns[i];
    if (!index_->IsInClockRange(start_ns, end_ns)) {
      ++result_.out_of_range;
      continue;
    }
    const uint32_t slot = index_->SlotOf(columns.target[i], columns.node[i], columns.site[i]);
    TimeSums& sums = result_.sums[index_->phases().IsSteady(columns.correlation_id[i])][slot];
    ++sums.records;
    sums.duration_ns += end_ns - start_ns;
    if (index_->IsGraphSlot(slot)) MeetStream(result_.slot_stream[slot], columns.stream[i]);
  }
  result_.records += count;
  result_.untimed += columns.untimed_correlation_id.size();
}

void SlotTimes::FoldInOrder(const Chunk& chunk) {
  const trace::ChunkColumns& columns = chunk.columns;
  const size_t count = columns.start_ns.size();
  for (size_t i = 0; i < count; ++i) {
    const uint64_t start_ns = columns.start_ns[i], end_ns = columns.end_ns[i];
    if (!index_->IsInClockRange(start_ns, end_ns)) continue;
    const uint32_t slot = index_->SlotOf(columns.target[i], columns.node[i], columns.site[i]);
    const bool steady = index_->phases().IsSteady(columns.correlation_id[i]);
    const uint32_t stream = columns.stream[i];
    const uint64_t exclusive_ns = exclusive_.Add(index_->device_of_stream(stream), start_ns, end_ns,
                                                 chunk.earliest_later_start_ns);
    result_.sums[steady][slot].exclusive_ns += exclusive_ns;
    if (columns.target[i].is_graph()) {
      helpers_.Break(stream);
    } else {
      helpers_.Add(stream, columns.site[i] < index_->site_count() ? columns.site[i] : 0, steady,
                   start_ns, exclusive_ns);
    }
  }
}

void SlotTimes::Merge(const Analyzer& other) {
  const Result& theirs = static_cast<const SlotTimes&>(other).result_;
  for (int phase = 0; phase < 2; ++phase) {
    for (size_t slot = 0; slot < result_.sums[phase].size(); ++slot) {
      TimeSums& mine = result_.sums[phase][slot];
      mine.records += theirs.sums[phase][slot].records;
      mine.duration_ns += theirs.sums[phase][slot].duration_ns;
      mine.exclusive_ns += theirs.sums[phase][slot].exclusive_ns;
    }
  }
  for (size_t slot = 0; slot < result_.slot_stream.size(); ++slot) {
    MeetStream(result_.slot_stream[slot], theirs.slot_stream[slot]);
  }
  result_.records += theirs.records;
  result_.untimed += theirs.untimed;
  result_.out_of_range += theirs.out_of_range;
}

SlotTimes::Result SlotTimes::Finish() && {
  for (uint32_t& stream : result_.slot_stream) {
    if (stream == kSeveralStreams) stream = 0;
  }
  result_.eager_helpers = helpers_.owned();
  result_.busy_ns = exclusive_.total_busy_ns();
  result_.forgotten_gaps = exclusive_.forgotten_gaps();
  return std::move(result_);
}

}  // namespace hotproof::analyzers
