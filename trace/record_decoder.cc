#include "trace/record_decoder.h"

#include <algorithm>

#include "trace/column_set.h"
#include "trace/refill.h"

namespace hotproof::trace {

namespace {

// Has bits at kPlainBits or above unless gap and duration are below that, the duration not
// negative.
template <int kPlainBits>
uint64_t Size(uint64_t gap_ns, uint64_t duration_ns) {
  return (gap_ns + (uint64_t{1} << (kPlainBits - 1))) | duration_ns;
}

}  // namespace

// When the records [first, first + count) began and ended, and which began before the one before
// them had ended.
void RecordDecoder::Place(const Times& times, uint32_t first, ChunkRuns& out) {
  const uint64_t *const gap_ns = times.gap_ns, *const duration_ns = times.duration_ns;
  uint64_t *const start_out = &out.start_ns[first], *const end_out = &out.end_ns[first];
  const uint32_t count = times.count;
  const uint64_t previous_end_ns = clock_.previous_end_ns;
  uint64_t at_ns = previous_end_ns;
  uint32_t overlaps = 0;
  for (uint32_t i = 0; i < count; ++i) {
    start_out[i] = at_ns += gap_ns[i];
    end_out[i] = at_ns += duration_ns[i];
    overlapping_[overlaps] = i;
    overlaps += gap_ns[i] >> 63;
  }
  const auto end_before = [&](uint32_t i) { return i == 0 ? previous_end_ns : end_out[i - 1]; };
  // Where no number is so large that sums wrap, and none is negative as a time, signs tell all.
  bool plain = times.plain && previous_end_ns >> 62 == 0;
  for (uint32_t i = 0; i < overlaps; ++i) {
    plain &= start_out[overlapping_[i]] <= end_before(overlapping_[i]);
  }
  if (!plain) return FollowTimes(first, count, out);
  uint64_t steps_ns = start_out[0] - clock_.previous_start_ns;
  for (uint32_t i = 1; i < count; ++i) steps_ns |= gap_ns[i] + duration_ns[i - 1];
  clock_.sorted &= steps_ns >> 63 == 0;
  uint64_t last_end_ns = std::max(clock_.last_end_ns, at_ns);
  for (uint32_t i = 0; i < overlaps; ++i) {
    const uint32_t record = overlapping_[i];
    if (record != 0) last_end_ns = std::max(last_end_ns, end_out[record - 1]);
    out.overlapping.push_back(first + record);
  }
  clock_ = {start_out[count - 1], at_ns, last_end_ns, clock_.sorted};
}

// The same about order and ends, for all that can be.
void RecordDecoder::FollowTimes(uint32_t first, uint32_t count, ChunkRuns& out) {
  for (uint32_t i = first; i < first + count; ++i) {
    const uint64_t start_ns = out.start_ns[i], end_ns = out.end_ns[i];
    clock_.sorted &= start_ns >= clock_.previous_start_ns && end_ns >= start_ns;
    if (start_ns < clock_.previous_end_ns) out.overlapping.push_back(i);
    clock_.previous_start_ns = start_ns;
    clock_.previous_end_ns = end_ns;
    clock_.last_end_ns = std::max(clock_.last_end_ns, end_ns);
  }
}

// The next `count` records. `gap_ns` and `duration_ns`: what is predicted, and then what it was.
void RecordDecoder::DecodeTimes(uint32_t first, uint32_t count, uint64_t* gap_ns,
                                uint64_t* duration_ns, ChunkRuns& out) {
  while (count > 0) {
    if (block_at_ == block_end_) NextBlock();
    const uint32_t part = std::min(count, block_end_ - block_at_);
    uint64_t size = 0;
    const auto pass = [&](const auto& entries) {
      const auto *gaps = &entries[0][block_at_], *durations = &entries[1][block_at_];
      for (uint32_t i = 0; i < part; ++i) {
        gap_ns[i] += static_cast<uint64_t>(int64_t{gaps[i]});
        duration_ns[i] += static_cast<uint64_t>(int64_t{durations[i]});
        size |= Size<kPlainBits>(gap_ns[i], duration_ns[i]);
      }
    };
    if (block_.wide) {
      pass(block_.entries);
    } else {
      pass(block_.narrow);
    }
    Place({gap_ns, duration_ns, part, size >> kPlainBits == 0}, first, out);
    block_at_ += part;
    first += part;
    gap_ns += part;
    duration_ns += part;
    count -= part;
  }
}

void RecordDecoder::DecodeUnpredicted(uint32_t first, uint32_t count, ChunkRuns& out) {
  for (uint32_t part; count > 0; first += part, count -= part) {
    part = std::min<uint32_t>(count, kBlockEntries);
    std::fill_n(gap_ns_, part, 0);
    std::fill_n(duration_ns_, part, 0);
    DecodeTimes(first, part, gap_ns_, duration_ns_, out);
  }
}

// To the first one at `record` or behind it that says a site.
void RecordDecoder::PassExceptions(uint32_t record, const std::vector<Exception>& exceptions) {
  while (next_exception_ < exceptions.size() &&
         (exceptions[next_exception_].record < record || !exceptions[next_exception_].has_site)) {
    ++next_exception_;
  }
}

void RecordDecoder::NextBlock() {
  block_at_ = 0;
  block_end_ = static_cast<uint32_t>(std::min(entries_left_, kBlockEntries));
  entries_left_ -= block_end_;
  DecodeBlock(cursors_, block_end_, block_);
}

// The next `count` records, each the first one of its group.
void RecordDecoder::DecodeEagerTimes(uint32_t first, uint32_t count, GroupState* groups,
                                     Predictions& predictions, ChunkRuns& out) {
  uint64_t *const gap_ns = predictions.gap_ns.data(), *const duration_ns =
                                                          predictions.duration_ns.data();
  while (count > 0) {
    if (block_at_ == block_end_) NextBlock();
    const uint32_t part = std::min(count, block_end_ - block_at_);
    uint64_t size = 0;
    const auto pass = [&](const auto& entries) {
      const auto *gaps = &entries[0][block_at_], *durations = &entries[1][block_at_];
      for (uint32_t i = 0; i < part; ++i) {
        groups[i].next_node = 1;
        const uint32_t at = groups[i].predictions;
        gap_ns_[i] = gap_ns[at] += static_cast<uint64_t>(int64_t{gaps[i]});
        duration_ns_[i] = duration_ns[at] += static_cast<uint64_t>(int64_t{durations[i]});
        gap_ns[0] = duration_ns[0] = 0;
        size |= Size<kPlainBits>(gap_ns_[i], duration_ns_[i]);
      }
    };
    if (block_.wide) {
      pass(block_.entries);
    } else {
      pass(block_.narrow);
    }
    Place({gap_ns_, duration_ns_, part, size >> kPlainBits == 0}, first, out);
    block_at_ += part;
    first += part;
    groups += part;
    count -= part;
  }
}

// How many of the `most` groups behind `index` are, like it, eager launches of which no record has
// come: `record` is the first of `index`, and theirs follow. None where an exception says another
// site.
uint32_t RecordDecoder::EagerFollowers(const std::vector<GroupState>& groups, uint32_t index,
                                       uint32_t record, size_t most,
                                       const std::vector<Exception>& exceptions) {
  most = std::min(most, groups.size() - index - 1);
  PassExceptions(record, exceptions);
  if (next_exception_ < exceptions.size()) {
    const uint32_t odd = exceptions[next_exception_].record;
    if (odd == record) return 0;
    most = std::min<size_t>(most, odd - record - 1);
  }
  const auto is_fresh = [&](const GroupState& group) {
    return group.target.is_known() && !group.target.is_graph() && group.next_node == 0 &&
           group.stream == groups[index].stream;
  };
  if (!is_fresh(groups[index])) return 0;
  uint32_t count = 0;
  while (count < most && is_fresh(groups[index + 1 + count])) ++count;
  return count;
}

// Cuts a run where the graph's nodes end and at records with a site of their own.
void RecordDecoder::AddRun(const GroupState& group, Run run, const Tables& tables,
                           const std::vector<Exception>& exceptions, ChunkRuns& out) {
  const uint32_t end = run.begin + run.count;
  const bool is_graph = group.target.is_graph();
  run.target = group.target;
  size_t nodes = 0;
  if (is_graph) {
    nodes = tables.graphs[group.target.id()].node_sites.size();
  } else {
    run.node = 0;
  }
  while (run.begin < end) {
    run.count = end - run.begin;
    if (is_graph && run.target.is_known() && run.node < nodes) {
      run.count = static_cast<uint32_t>(std::min<size_t>(run.count, nodes - run.node));
    } else if (is_graph) {  // nodes that the graph does not have
      run.target = Target();
      run.node = 0;
    }
    run.sites_by_node = run.target.is_graph();
    run.site = is_graph ? 0 : run.target.id();
    PassExceptions(run.begin, exceptions);
    if (next_exception_ < exceptions.size()) {
      const Exception& exception = exceptions[next_exception_];
      if (exception.record == run.begin) {
        run.count = 1;
        run.site = exception.site;
        run.sites_by_node = false;
      } else {
        run.count = std::min(run.count, exception.record - run.begin);
      }
    }
    out.runs.push_back(run);
    run.begin += run.count;
    if (run.target.is_graph()) run.node += run.count;
  }
}

constexpr uint8_t kNextGroup = 2;  // a difference of 1, as it is coded

absl::Status RecordDecoder::Decode(const RecordColumns& columns, size_t count,
                                   uint64_t first_start_ns, const Tables& tables,
                                   const std::vector<Exception>& exceptions,
                                   std::vector<GroupState>& groups, Predictions& predictions,
                                   ChunkRuns& out) {
  RunColumn group_deltas(columns.groups.data()), nodes(columns.nodes.data()),
      streams(columns.streams.data());
  cursors_[0] = CursorOf(columns.gaps);
  cursors_[1] = CursorOf(columns.durations);
  block_at_ = block_end_ = 0;
  entries_left_ = count;
  clock_ = {.previous_end_ns = first_start_ns};
  ResizeToRefill(out.start_ns, count);
  ResizeToRefill(out.end_ns, count);
  out.runs.clear();
  out.overlapping.clear();
  next_exception_ = 0;
  const auto stream_count = static_cast<uint32_t>(tables.streams.size());
  GroupState* group = nullptr;
  uint32_t index = 0;
  for (uint32_t i = 0; i < count;) {
    const uint32_t step = UnZigZag32(static_cast<uint32_t>(group_deltas.Take()));
    if (step != 0 || i == 0) {
      index += step;
      if (index >= groups.size()) return Contradiction("a record refers to no group");
      group = &groups[index];
    }
    const uint32_t node = group->next_node + UnZigZag32(static_cast<uint32_t>(nodes.Take()));
    const uint64_t stream_code = streams.Take();
    size_t more = std::min<size_t>(count - i - 1, UINT32_MAX - node);
    more = std::min(more, group_deltas.Repeats(0));
    more = more == 0 ? 0 : std::min(more, nodes.Repeats(0));
    if (more != 0) {
      more = stream_code < 0x80 ? std::min(more, streams.Repeats(static_cast<uint8_t>(stream_code)))
                                : 0;
    }
    const uint32_t stream = group->stream + UnZigZag32(static_cast<uint32_t>(stream_code));
    const uint32_t known_stream = stream < stream_count ? stream : 0;
    if (more == 0 && node == 0 && stream_code == 0) {
      size_t most = std::min<size_t>(count - i - 1, group_deltas.Repeats(kNextGroup));
      if (most != 0) most = std::min(most, nodes.Repeats(0));
      if (most != 0) most = std::min(most, streams.Repeats(0));
      if (most != 0) most = EagerFollowers(groups, index, i, most, exceptions);
      if (most != 0) {
        group_deltas.Skip(most);
        nodes.Skip(most);
        streams.Skip(most);
        const auto launches = static_cast<uint32_t>(most + 1);
        DecodeEagerTimes(i, launches, group, predictions, out);
        out.runs.push_back({.begin = i,
                            .count = launches,
                            .group = index,
                            .stream = known_stream,
                            .own_groups = true});
        i += launches;
        index += static_cast<uint32_t>(most);
        group = &groups[index];
        continue;
      }
    }
    group_deltas.Skip(more);
    nodes.Skip(more);
    streams.Skip(more);
    const auto run_count = static_cast<uint32_t>(more + 1);
    group->next_node = node + run_count;
    uint32_t predicted = 0;
    if (node < group->predicted_nodes) {
      predicted = std::min(run_count, group->predicted_nodes - node);
      const uint32_t at = group->predictions + node;
      DecodeTimes(i, predicted, &predictions.gap_ns[at], &predictions.duration_ns[at], out);
    }
    DecodeUnpredicted(i + predicted, run_count - predicted, out);
    AddRun(*group,
           {.begin = i, .count = run_count, .group = index, .node = node, .stream = known_stream},
           tables, exceptions, out);
    i += run_count;
  }
  out.last_end_ns = clock_.last_end_ns;
  return clock_.sorted ? absl::OkStatus() : Contradiction("records are not sorted by start");
}

}  // namespace hotproof::trace
