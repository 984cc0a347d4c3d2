#include "trace/record_decoder.h"

#include <algorithm>

#include "trace/column_set.h"

namespace hotproof::trace {

// Times of records whose entries lie in the block.
template <bool kPredicted, typename Entry>
void RecordDecoder::PassTimes(const Entry* gaps, const Entry* durations, uint32_t count,
                              Prediction* predictions, uint64_t* start_out, uint64_t* end_out) {
  uint64_t at_ns = clock_.previous_end_ns, any = 0;
  for (uint32_t i = 0; i < count; ++i) {
    auto gap_ns = static_cast<uint64_t>(int64_t{gaps[i]});
    auto duration_ns = static_cast<uint64_t>(int64_t{durations[i]});
    if constexpr (kPredicted) {
      gap_ns += predictions[i].gap_ns;
      duration_ns += predictions[i].duration_ns;
      predictions[i] = {gap_ns, duration_ns};
    }
    any |= gap_ns | duration_ns;
    start_out[i] = at_ns += gap_ns;
    end_out[i] = at_ns += duration_ns;
  }
  // Where no number is negative, or so large that a block of them wraps, times only go on.
  if (any >> kPlainBits != 0 || clock_.previous_end_ns >> 62 != 0) {
    FollowTimes(start_out, end_out, count);
  } else {
    clock_.last_end_ns = std::max(clock_.last_end_ns, at_ns);
    clock_.previous_start_ns = start_out[count - 1];
  }
  clock_.previous_end_ns = at_ns;
}

// The same about order and ends, for all that can be: records may overlap.
void RecordDecoder::FollowTimes(const uint64_t* start_ns, const uint64_t* end_ns, uint32_t count) {
  uint64_t previous_start_ns = clock_.previous_start_ns, previous_end_ns = clock_.previous_end_ns;
  uint64_t last_end_ns = clock_.last_end_ns;
  bool sorted = true, no_overlap = true;
  for (uint32_t i = 0; i < count; ++i) {
    sorted &= start_ns[i] >= previous_start_ns && end_ns[i] >= start_ns[i];
    no_overlap &= start_ns[i] >= previous_end_ns;
    previous_start_ns = start_ns[i];
    previous_end_ns = end_ns[i];
    last_end_ns = std::max(last_end_ns, previous_end_ns);
  }
  clock_ = {previous_start_ns, previous_end_ns, last_end_ns, clock_.sorted && sorted,
            clock_.no_overlap && no_overlap};
}

// The next `count` records; nullptr: not predicted.
void RecordDecoder::DecodeTimes(uint32_t count, Prediction* predictions, uint64_t* start_out,
                                uint64_t* end_out) {
  while (count > 0) {
    if (block_at_ == block_end_) NextBlock();
    const uint32_t part = std::min(count, block_end_ - block_at_);
    const auto pass = [&](const auto& entries) {
      const auto *gaps = &entries[0][block_at_], *durations = &entries[1][block_at_];
      if (predictions != nullptr) {
        PassTimes<true>(gaps, durations, part, predictions, start_out, end_out);
      } else {
        PassTimes<false>(gaps, durations, part, nullptr, start_out, end_out);
      }
    };
    if (block_.wide) {
      pass(block_.entries);
    } else {
      pass(block_.narrow);
    }
    if (predictions != nullptr) predictions += part;
    block_at_ += part;
    start_out += part;
    end_out += part;
    count -= part;
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
void RecordDecoder::DecodeEagerTimes(uint32_t count, GroupState* groups, uint64_t* start_out,
                                     uint64_t* end_out) {
  while (count > 0) {
    if (block_at_ == block_end_) NextBlock();
    const uint32_t part = std::min(count, block_end_ - block_at_);
    const auto pass = [&](const auto& entries) {
      const auto *gaps = &entries[0][block_at_], *durations = &entries[1][block_at_];
      Prediction none{0, 0};  // for those that are not predicted
      uint64_t at_ns = clock_.previous_end_ns;
      for (uint32_t i = 0; i < part; ++i) {
        GroupState& group = groups[i];
        group.next_node = 1;
        const uint64_t predicted = group.predicted_nodes != 0 ? ~uint64_t{0} : 0;
        Prediction& prediction = predicted != 0 ? *group.predictions : none;
        const uint64_t gap_ns =
            static_cast<uint64_t>(int64_t{gaps[i]}) + (prediction.gap_ns & predicted);
        const uint64_t duration_ns =
            static_cast<uint64_t>(int64_t{durations[i]}) + (prediction.duration_ns & predicted);
        prediction = {gap_ns, duration_ns};
        start_out[i] = at_ns += gap_ns;
        end_out[i] = at_ns += duration_ns;
      }
    };
    if (block_.wide) {
      pass(block_.entries);
    } else {
      pass(block_.narrow);
    }
    FollowTimes(start_out, end_out, part);
    block_at_ += part;
    groups += part;
    start_out += part;
    end_out += part;
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
void RecordDecoder::AddRun(const GroupState& group, Run run,
                           const std::vector<Exception>& exceptions, ChunkRuns& out) {
  const uint32_t end = run.begin + run.count;
  const bool is_graph = group.target.is_graph();
  run.target = group.target;
  if (!is_graph) run.node = 0;
  while (run.begin < end) {
    run.count = end - run.begin;
    if (is_graph && run.target.is_known() && run.node < group.nodes) {
      run.count = std::min(run.count, group.nodes - run.node);
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
                                   std::vector<GroupState>& groups, ChunkRuns& out) {
  RunColumn group_deltas(columns.groups.data()), nodes(columns.nodes.data()),
      streams(columns.streams.data());
  cursors_[0] = CursorOf(columns.gaps);
  cursors_[1] = CursorOf(columns.durations);
  block_at_ = block_end_ = 0;
  entries_left_ = count;
  clock_ = {.previous_end_ns = first_start_ns};
  out.start_ns.resize(count);
  out.end_ns.resize(count);
  out.runs.clear();
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
        DecodeEagerTimes(launches, group, &out.start_ns[i], &out.end_ns[i]);
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
    clock_.no_overlap = true;

    uint32_t predicted = 0;
    if (node < group->predicted_nodes) {
      predicted = std::min(run_count, group->predicted_nodes - node);
      DecodeTimes(predicted, group->predictions + node, &out.start_ns[i], &out.end_ns[i]);
    }
    if (predicted < run_count) {
      DecodeTimes(run_count - predicted, nullptr, &out.start_ns[i + predicted],
                  &out.end_ns[i + predicted]);
    }
    AddRun(*group,
           {.begin = i,
            .count = run_count,
            .group = index,
            .node = node,
            .stream = known_stream,
            .no_overlap = clock_.no_overlap},
           exceptions, out);
    i += run_count;
  }
  out.last_end_ns = clock_.last_end_ns;
  return clock_.sorted ? absl::OkStatus() : Contradiction("records are not sorted by start");
}

}  // namespace hotproof::trace
