#include "trace/next_file_heads.h"

#include <algorithm>

#include "protozero/pbf_reader.hpp"
#include "trace/wire_fields.h"
#include "trace/wire_put.h"

namespace hotproof::trace {
namespace {

void Add(SiteSum& to, const SiteSum& more) {
  to.records += more.records;
  to.duration_ns += more.duration_ns;
}
void Add(OperationSum& to, const OperationSum& more) {
  to.count += more.count;
  to.duration_ns += more.duration_ns;
  to.bytes += more.bytes;
}
void Add(uint64_t& to, uint64_t more) { to += more; }

// Both ascending by id.
template <typename Sum>
void AddSums(std::vector<std::pair<uint32_t, Sum>>& to,
             const std::vector<std::pair<uint32_t, Sum>>& more) {
  auto at = to.begin();
  for (const auto& [id, sum] : more) {
    at = std::lower_bound(at, to.end(), id,
                          [](const auto& one, uint32_t key) { return one.first < key; });
    if (at == to.end() || at->first != id) at = to.insert(at, {id, Sum()});
    Add(at->second, sum);
  }
}

// Of the timed ones among `count`.
template <typename Totals>
void AddPeriod(Totals& to, const Totals& more, uint64_t timed_before, uint64_t timed_more) {
  if (timed_more == 0) return;
  to.first_start_ns =
      timed_before == 0 ? more.first_start_ns : std::min(to.first_start_ns, more.first_start_ns);
  to.last_end_ns = std::max(to.last_end_ns, more.last_end_ns);
}

void AddColumns(ColumnStatistics& to, const ColumnStatistics& more) {
  AddPeriod(to, more, to.record_count - to.untimed_count, more.record_count - more.untimed_count);
  to.record_count += more.record_count;
  to.untimed_count += more.untimed_count;
  to.launch_count += more.launch_count;
  AddSums(to.sites, more.sites);
}

void AddOperations(OperationTotals& to, const OperationTotals& more) {
  AddPeriod(to, more, to.count - to.untimed_count, more.count - more.untimed_count);
  to.count += more.count;
  to.untimed_count += more.untimed_count;
  AddSums(to.classes, more.classes);
}

}  // namespace

void NextFileHeads::Rollup::Add(const Rollup& other) {
  last_segment = other.last_segment;
  chunk_count += other.chunk_count;
  AddColumns(columns, other.columns);
  AddOperations(operations, other.operations);
  AddSums(sites, other.sites);
  AddSums(graphs, other.graphs);
}

void NextFileHeads::AddTables(std::string_view fields) {
  protozero::pbf_reader reader(fields.data(), fields.size());
  for (;;) {
    const char* const begin = reader.data().data();
    if (!reader.next()) return;
    const uint32_t tag = reader.tag();
    protozero::data_view inner;
    if (reader.wire_type() == protozero::pbf_wire_type::length_delimited) {
      inner = reader.get_view();
    } else {
      reader.skip();
    }
    const std::string_view field(begin, static_cast<size_t>(reader.data().data() - begin));
    if (tag == wire::kProblems) {
      protozero::pbf_reader problem(inner);
      uint32_t kind = 0;
      std::string detail;
      while (problem.next()) {
        if (problem.tag() == 1) {
          kind = problem.get_uint32();
        } else if (problem.tag() == 3) {
          detail = problem.get_string();
        } else {
          problem.skip();
        }
      }
      problems_[{kind, std::move(detail)}] = field;
    } else if (tag == wire::kClocks) {
      (first_clock_.empty() ? first_clock_ : last_clock_) = field;
    } else if (tag == wire::kHeader) {
      headers_ += field;
    } else if (tag != wire::kFooter) {
      if (tables_.back().size() + field.size() > kMaxTableBytes && !tables_.back().empty()) {
        tables_.emplace_back();
      }
      tables_.back() += field;
    }
  }
}

void NextFileHeads::AddSiteAttributes(const std::vector<std::pair<uint32_t, uint32_t>>& pairs) {
  site_attributes_.insert(site_attributes_.end(), pairs.begin(), pairs.end());
}

void NextFileHeads::AddChunk(const ColumnStatistics* columns, const OperationTotals* operations,
                             const SlotCounts& sites, const SlotCounts& graphs) {
  ++current_.chunk_count;
  if (columns != nullptr) AddColumns(current_.columns, *columns);
  if (operations != nullptr) AddOperations(current_.operations, *operations);
  AddSums(current_.sites, sites);
  AddSums(current_.graphs, graphs);
}

std::vector<NextFileHeads::Rollup> NextFileHeads::RollupsWithCurrent() const {
  std::vector<Rollup> rollups = rollups_;
  rollups.push_back(current_);
  // Of the first `count` each second one is added to the one before it.
  const auto halve = [&rollups](size_t count) {
    std::vector<Rollup> fewer;
    for (size_t i = 0; i < rollups.size(); ++i) {
      if (i < count && i % 2 == 1) {
        fewer.back().Add(rollups[i]);
      } else {
        fewer.push_back(std::move(rollups[i]));
      }
    }
    rollups = std::move(fewer);
  };
  const auto sums = [&rollups] {
    size_t all = 0;
    for (const Rollup& rollup : rollups) all += rollup.sums();
    return all;
  };
  if (rollups.size() > kMaxRollups) halve(kMaxRollups / 2);
  while (rollups.size() > 1 && sums() > kMaxRollupSums) halve(rollups.size());
  return rollups;
}

void NextFileHeads::EncodeFirst(std::string& head) const {
  std::string message, asked;
  pbf_writer chunk(head);
  {
    pbf_writer to(chunk, wire::kContinuation);
    PutUint(to, 1, current_.last_segment + 1);
    for (const Rollup& rollup : next_rollups_) {
      asked.clear();
      EncodeCounters(rollup.sites, rollup.graphs, asked);
      message.clear();
      EncodeStatistics(&rollup.columns, &rollup.operations, asked, message);
      pbf_writer of(to, 2);
      PutUint(of, 1, rollup.first_segment);
      PutUint(of, 2, rollup.last_segment);
      PutUint(of, 3, rollup.chunk_count);
      of.add_message(4, message);
    }
  }
  head += headers_;
  head += tables_.front();
  EncodeSnapshots(snapshots_, head);
  for (const auto& [key, field] : problems_) head += field;
  head += first_clock_ + last_clock_;
  if (!site_attributes_.empty()) {
    pbf_writer to(chunk, wire::kSiteAttributes);
    PutPacked(to, 1, site_attributes_.size(), [&](size_t i) { return site_attributes_[i].first; });
    PutPacked(to, 2, site_attributes_.size(), [&](size_t i) { return site_attributes_[i].second; });
  }
}

std::vector<std::string> NextFileHeads::Encode() {
  next_rollups_ = RollupsWithCurrent();
  std::vector<std::string> heads(1);
  EncodeFirst(heads.front());
  heads.insert(heads.end(), tables_.begin() + 1, tables_.end());
  return heads;
}

void NextFileHeads::Commit(size_t heads) noexcept {
  rollups_.swap(next_rollups_);
  next_rollups_.clear();
  const uint32_t next = current_.last_segment + 1;
  current_ = {.first_segment = next, .last_segment = next};
  current_.chunk_count = heads;  // they are the new file's first chunks, and count there
}

}  // namespace hotproof::trace
