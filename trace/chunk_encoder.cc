#include "trace/chunk_encoder.h"

#include <algorithm>
#include <new>

#include "trace/wire_fields.h"
#include "trace/wire_put.h"

namespace hotproof::trace {

bool CounterIncrements::Compute(const Counts& now, size_t slots) {
  slots = std::min(slots, now.size());
  if (known_.size() < slots) known_.resize(slots);
  moves_.clear();
  unit_ = now.unit();
  for (size_t id = 0; id < slots; ++id) {
    const uint64_t word = now.word(id);
    if (word > known_[id]) moves_.push_back({static_cast<uint32_t>(id), (word - known_[id]) / unit_});
  }
  return !moves_.empty();
}

void CounterIncrements::Commit() {
  for (const auto& [id, by] : moves_) known_[id] += by * unit_;
  moves_.clear();
}

bool ChunkEncoder::ComputeAsked(const CounterView& counters, bool all_slots) {
  const bool sites = asked_sites_.Compute(
      counters.sites, all_slots ? counters.sites.size() : size_t{last_site_} + 1);
  const bool graphs = asked_graphs_.Compute(
      counters.graphs, all_slots ? counters.graphs.size() : size_t{last_graph_} + 1);
  return sites || graphs;
}

void ChunkEncoder::AppendStatistics(const ColumnStatistics* columns,
                                    const OperationTotals* operations) {
  asked_.clear();
  EncodeCounters(asked_sites_.moves(), asked_graphs_.moves(), asked_);
  if (columns == nullptr && asked_.empty()) return;
  scratch_.clear();
  EncodeStatistics(columns, operations, asked_, scratch_);
  pbf_writer(head_).add_message(wire::kStatistics, scratch_);
}

const std::string& ChunkEncoder::Encode(
    uint64_t sequence, const ColumnStatistics* columns, const OperationTotals* operations,
    const ColumnsFrame* frame, std::span<const std::pair<uint32_t, uint32_t>> site_attributes) {
  columns_ = columns;
  operations_ = operations;
  head_.clear();
  pbf_writer chunk(head_);
  PutUint(chunk, wire::kSequence, sequence);
  AppendStatistics(columns, operations);
  head_.append(pending_);
  EncodeSnapshots(snapshots_, head_);
  for (const auto& [key, field] : problems_) head_.append(field);
  if (!site_attributes.empty()) {
    pbf_writer to(chunk, wire::kSiteAttributes);
    PutPacked(to, 1, site_attributes.size(), [&](size_t i) { return site_attributes[i].first; });
    PutPacked(to, 2, site_attributes.size(), [&](size_t i) { return site_attributes[i].second; });
  }
  if (next_file_heads_ != nullptr)
    site_attributes_.assign(site_attributes.begin(), site_attributes.end());
  if (frame != nullptr) {
    pbf_writer to(chunk, wire::kColumnsFrame);
    PutUint(to, 1, frame->size_bytes);
    to.add_fixed64(2, frame->hash);
  }
  return head_;
}

// The chunk is in the file: what is not taken note of here would be written, and counted, twice.
void ChunkEncoder::Commit() noexcept {
  try {
    if (next_file_heads_ != nullptr) {
      next_file_heads_->AddTables(pending_);
      for (const auto& [key, field] : problems_) next_file_heads_->AddTables(field);
      next_file_heads_->AddSnapshots(std::move(snapshots_));
      next_file_heads_->AddSiteAttributes(site_attributes_);
      next_file_heads_->AddChunk(columns_, operations_, asked_sites_.moves(),
                                 asked_graphs_.moves());
    }
  } catch (const std::bad_alloc&) {
    next_file_heads_.reset();  // it does not have all: no next file
  }
  pending_.clear();
  snapshots_.Clear();
  problems_.clear();
  asked_sites_.Commit();
  asked_graphs_.Commit();
}

std::vector<std::string> ChunkEncoder::EncodeNextFile(uint64_t sequence) {
  std::vector<std::string> heads = next_file_heads_->Encode();
  for (std::string& head : heads) {
    std::string first;
    pbf_writer chunk(first);
    PutUint(chunk, wire::kSequence, sequence++);
    head.insert(0, first);
  }
  return heads;
}

}  // namespace hotproof::trace
