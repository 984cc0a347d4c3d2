#include "analyzers/slot_times.h"

#include <algorithm>
#include <limits>

namespace hotproof::analyzers {
namespace {

constexpr uint32_t kSeveralStreams = std::numeric_limits<uint32_t>::max();

void MeetStream(uint32_t& known, uint32_t seen) {
  if (seen == 0) return;
  if (known == 0) known = seen;
  if (known != seen) known = kSeveralStreams;
}

// The part of [start_ns, end_ns) behind the frontier, which moves on to its end.
inline uint64_t Pass(uint64_t& frontier_ns, uint64_t start_ns, uint64_t end_ns) {
  const uint64_t from_ns = std::max(start_ns, frontier_ns);
  frontier_ns = std::max(frontier_ns, end_ns);
  return frontier_ns - from_ns;
}

}  // namespace

SlotTimes::SlotTimes(const TraceIndex& index) : index_(&index), helpers_(index) {
  for (auto& sums : result_.sums) sums.resize(index.slot_count());
  for (Replays& replays : replays_) {
    replays.duration_ns.resize(index.slot_count());
    replays.steps.resize(index.slot_count() + 1);
  }
  graph_stream_.resize(index.tables().graphs.size());
  for (auto& durations : result_.durations) durations = SiteDurations(index.site_count());
  result_.slot_stream.resize(index.slot_count());
}

std::unique_ptr<Analyzer> SlotTimes::Init() const { return std::make_unique<SlotTimes>(*index_); }

size_t SlotTimes::instance_bytes() const {
  constexpr size_t kBySlot = 2 * (sizeof(TimeSums) + 2 * sizeof(uint64_t)) + sizeof(uint32_t);
  constexpr size_t kBySite = 2 * (16 + DurationBucket::kPerBlock * sizeof(uint64_t));  // one block
  return index_->slot_count() * kBySlot + index_->site_count() * kBySite;
}

uint32_t SlotTimes::SlotAt(const trace::ChunkRuns& runs, const trace::Run& run,
                           uint32_t record) const {
  if (run.own_groups) {
    const trace::Target target = runs.groups[run.GroupOf(record)].target;
    return index_->SlotOf(target, 0, target.id());
  }
  if (!run.sites_by_node) return index_->SlotOf(run.target, run.node, run.site);
  return index_->first_slot_of_graph(run.target.id()) + run.node + (record - run.begin);
}

bool SlotTimes::IsSteady(const trace::ChunkRuns& runs, const trace::Run& run,
                         uint32_t record) const {
  return index_->phases().IsSteady(runs.groups[run.GroupOf(record)].correlation_id);
}

SlotTimes::Device& SlotTimes::DeviceOf(uint32_t stream, std::vector<Device>& devices) const {
  const uint32_t device = index_->device_of_stream(stream);
  if (device >= devices.size()) devices.resize(device + 1);
  return devices[device];
}

// f(run, record) for the records [begin, end) whose times are in the clock's range.
template <typename F>
void SlotTimes::ForEachInRange(const Chunk& chunk, size_t begin, size_t end, F&& f) const {
  const trace::ChunkRuns& runs = chunk.runs;
  auto run = std::partition_point(runs.runs.begin(), runs.runs.end(), [=](const trace::Run& one) {
    return size_t{one.begin} + one.count <= begin;
  });
  for (; run != runs.runs.end() && run->begin < end; ++run) {
    const auto last = static_cast<uint32_t>(std::min<size_t>(end, run->begin + run->count));
    for (auto i = static_cast<uint32_t>(std::max<size_t>(begin, run->begin)); i < last; ++i) {
      if (index_->IsInClockRange(runs.start_ns[i], runs.end_ns[i])) f(*run, i);
    }
  }
}

void SlotTimes::Fold(const Chunk& chunk) {
  const trace::ChunkRuns& runs = chunk.runs;
  const size_t count = runs.start_ns.size();
  const bool in_range = count == 0 || index_->IsInClockRange(runs.start_ns[0], runs.last_end_ns);
  kept_.in_range = in_range;
  kept_.alone_count = 0;
  kept_.devices.clear();
  kept_.hidden.clear();
  kept_.helpers.clear();
  next_overlapping_ = 0;
  if (in_range) {
    kept_.alone_count = std::upper_bound(runs.start_ns.begin(), runs.start_ns.end(),
                                         chunk.earliest_later_start_ns) -
                        runs.start_ns.begin();
  }
  for (const trace::Run& run : runs.runs) {
    const auto alone_count = static_cast<uint32_t>(
        std::clamp<size_t>(kept_.alone_count, run.begin, run.begin + run.count) - run.begin);
    if (run.sites_by_node && in_range) {
      FoldReplay(chunk, run, alone_count);
    } else if (run.own_groups && in_range) {
      FoldEager(chunk, run, alone_count);
    } else {
      FoldOthers(chunk, run, alone_count);
    }
  }
  result_.records += count;
  result_.untimed += runs.untimed_node.size();
}

// The inner loop: one graph's nodes in order, on one stream. In blocks that stay in the first
// cache, each pass over them simple enough for the compiler to take several records at a time.
void SlotTimes::FoldReplay(const Chunk& chunk, const trace::Run& run, uint32_t alone_count) {
  const uint32_t slot = SlotAt(chunk.runs, run, run.begin);
  const bool steady = IsSteady(chunk.runs, run, run.begin);
  SiteDurations& durations = result_.durations[steady];
  TimeSums* const sums = &result_.sums[steady][slot];
  replays_[steady].steps[slot] += 1;
  replays_[steady].steps[slot + run.count] -= 1;
  const uint64_t* const start_ns = &chunk.runs.start_ns[run.begin];
  const uint64_t* const end_ns = &chunk.runs.end_ns[run.begin];
  uint64_t block_ns[kBlock];
  uint64_t busy_ns = 0;
  for (uint32_t begin = 0; begin < run.count; begin += kBlock) {
    const uint32_t count = std::min(kBlock, run.count - begin);
    uint64_t* const sums_ns = &replays_[steady].duration_ns[slot + begin];
    for (uint32_t i = 0; i < count; ++i) {
      block_ns[i] = end_ns[begin + i] - start_ns[begin + i];
      sums_ns[i] += block_ns[i];
      busy_ns += block_ns[i];
    }
    durations.Add(index_->sites_of_slots(slot + begin), block_ns, count);
  }
  for (uint32_t i = alone_count; i < run.count; ++i) {
    sums[i].exclusive_ns -= end_ns[i] - start_ns[i];
    busy_ns -= end_ns[i] - start_ns[i];
  }
  Device& device = DeviceOf(run.stream, kept_.devices);
  device.busy_ns += busy_ns;
  Cover(chunk.runs, run.begin, run.begin + alone_count, device,
        [&](uint32_t i, uint64_t hidden_ns) { sums[i - run.begin].exclusive_ns -= hidden_ns; });
  NoteStream(run, slot);
}

// Takes the device past the records [begin, end) of one run, which it counts as busy: hide(record,
// ns) for what earlier records hide of them. Nothing is done for those that begin behind all
// others.
template <typename F>
void SlotTimes::Cover(const trace::ChunkRuns& runs, uint32_t begin, uint32_t end, Device& device,
                      F&& hide) {
  uint64_t frontier_ns = device.frontier_ns;
  for (uint32_t i = begin; i < end;) {
    if (runs.start_ns[i] >= frontier_ns) {
      while (next_overlapping_ < runs.overlapping.size() &&
             runs.overlapping[next_overlapping_] <= i) {
        ++next_overlapping_;
      }
      i = next_overlapping_ < runs.overlapping.size()
              ? std::min(end, runs.overlapping[next_overlapping_])
              : end;
      frontier_ns = runs.end_ns[i - 1];
      continue;
    }
    const uint64_t exclusive_ns = Pass(frontier_ns, runs.start_ns[i], runs.end_ns[i]);
    const uint64_t hidden_ns = runs.end_ns[i] - runs.start_ns[i] - exclusive_ns;
    device.busy_ns -= hidden_ns;
    hide(i, hidden_ns);
    ++i;
  }
  device.frontier_ns = frontier_ns;
}

// Mostly all of a graph's nodes run on the stream that they ran on before.
void SlotTimes::NoteStream(const trace::Run& run, uint32_t slot) {
  uint32_t& whole = graph_stream_[run.target.id()];
  if (whole == run.stream) return;
  uint32_t* const streams = &result_.slot_stream[slot];
  for (uint32_t i = 0; i < run.count; ++i) MeetStream(streams[i], run.stream);
  const uint32_t first = index_->first_slot_of_graph(run.target.id());
  const auto nodes = &result_.slot_stream[first];
  whole = std::all_of(nodes, nodes + index_->ExecutionsOf(run.target),
                      [&](uint32_t stream) { return stream == run.stream; })
              ? run.stream
              : kSeveralStreams;
}

// Eager launches, one record each: in blocks, too, so that what has to be fetched for one record
// does not wait for what the record before it needed.
void SlotTimes::FoldEager(const Chunk& chunk, const trace::Run& run, uint32_t alone_count) {
  const trace::ChunkRuns& runs = chunk.runs;
  uint64_t busy_ns = 0;
  uint32_t sites[kBlock];  // an eager site is its own slot
  uint64_t durations_ns[kBlock];
  uint32_t helpers[kBlock + 1];
  for (uint32_t begin = run.begin, end = run.begin + run.count; begin < end;) {
    const trace::RecordGroup* const groups = &runs.groups[run.GroupOf(begin)];
    const uint32_t most = std::min(kBlock, end - begin);
    const bool steady = index_->phases().IsSteady(groups[0].correlation_id);
    uint32_t count = 0;  // all in one phase
    uint32_t helper_count = 0;
    for (; count < most; ++count) {
      if (index_->phases().IsSteady(groups[count].correlation_id) != steady) break;
      sites[count] = groups[count].target.id();
      helpers[helper_count] = begin + count;
      helper_count += !helpers_.IsPlain(sites[count]);
    }
    kept_.helpers.insert(kept_.helpers.end(), helpers, helpers + helper_count);
    for (uint32_t i = 0; i < count; ++i) {
      durations_ns[i] = runs.end_ns[begin + i] - runs.start_ns[begin + i];
      busy_ns += durations_ns[i];
    }
    TimeSums* const sums = result_.sums[steady].data();
    for (uint32_t i = 0; i < count; ++i) {
      sums[sites[i]].records += 1;
      sums[sites[i]].duration_ns += durations_ns[i];
    }
    result_.durations[steady].Add(sites, durations_ns, count);
    begin += count;
  }
  const auto sums_of = [&](uint32_t i) -> TimeSums& {
    return result_.sums[IsSteady(runs, run, i)][runs.groups[run.GroupOf(i)].target.id()];
  };
  for (uint32_t i = run.begin + alone_count; i < run.begin + run.count; ++i) {
    sums_of(i).exclusive_ns -= runs.end_ns[i] - runs.start_ns[i];
    busy_ns -= runs.end_ns[i] - runs.start_ns[i];
  }
  Device& device = DeviceOf(run.stream, kept_.devices);
  device.busy_ns += busy_ns;
  Cover(runs, run.begin, run.begin + alone_count, device, [&](uint32_t i, uint64_t hidden_ns) {
    sums_of(i).exclusive_ns -= hidden_ns;
    kept_.hidden.push_back({i, hidden_ns});
  });
}

void SlotTimes::FoldOthers(const Chunk& chunk, const trace::Run& run, uint32_t alone_count) {
  for (uint32_t i = run.begin; i < run.begin + run.count; ++i) {
    const uint64_t start_ns = chunk.runs.start_ns[i], end_ns = chunk.runs.end_ns[i];
    if (!index_->IsInClockRange(start_ns, end_ns)) {
      ++result_.out_of_range;
      continue;
    }
    const bool steady = IsSteady(chunk.runs, run, i);
    const uint32_t slot = SlotAt(chunk.runs, run, i);
    TimeSums& sums = result_.sums[steady][slot];
    sums.records += 1;
    sums.duration_ns += end_ns - start_ns;
    sums.exclusive_ns -= end_ns - start_ns;
    result_.durations[steady].Add(index_->site_of_slot(slot), end_ns - start_ns);
    if (index_->IsGraphSlot(slot)) {
      MeetStream(result_.slot_stream[slot], run.stream);
      graph_stream_[run.target.id()] = 0;
    }
    if (i - run.begin >= alone_count) continue;
    Device& device = DeviceOf(run.stream, kept_.devices);
    const uint64_t exclusive_ns = Pass(device.frontier_ns, start_ns, end_ns);
    sums.exclusive_ns += exclusive_ns;
    device.busy_ns += exclusive_ns;
    if (!run.target.is_graph() && exclusive_ns != end_ns - start_ns) {
      kept_.hidden.push_back({i, end_ns - start_ns - exclusive_ns});
    }
  }
}

void SlotTimes::FoldInOrder(const Chunk& chunk, Analyzer& folded) {
  Kept& kept = static_cast<SlotTimes&>(folded).kept_;
  CorrectFirst(chunk, kept);
  for (uint32_t device = 0; device < kept.devices.size(); ++device) {
    exclusive_.Cover(device, kept.devices[device].frontier_ns, kept.devices[device].busy_ns);
  }
  AddLast(chunk, kept.alone_count);
  GiveHelpers(chunk, kept);
}

// Records that start before all of the earlier chunks has ended get what those left of them.
void SlotTimes::CorrectFirst(const Chunk& chunk, Kept& kept) {
  const std::vector<uint64_t>& starts = chunk.runs.start_ns;
  const uint64_t frontier_ns = exclusive_.frontier_ns();
  size_t count = 0;
  while (count < kept.alone_count && starts[count] < frontier_ns) ++count;
  first_exclusive_ns_.clear();
  std::vector<Device> alone;
  ForEachInRange(chunk, 0, count, [&](const trace::Run& run, uint32_t i) {
    const uint64_t start_ns = starts[i], end_ns = chunk.runs.end_ns[i];
    const uint64_t before_ns = Pass(DeviceOf(run.stream, alone).frontier_ns, start_ns, end_ns);
    const uint32_t device = index_->device_of_stream(run.stream);
    const uint64_t exclusive_ns =
        exclusive_.Add(device, start_ns, end_ns, chunk.earliest_later_start_ns);
    const bool steady = IsSteady(chunk.runs, run, i);
    result_.sums[steady][SlotAt(chunk.runs, run, i)].exclusive_ns +=
        exclusive_ns - before_ns;  // wraps
    kept.devices[device].busy_ns -= before_ns;
    first_exclusive_ns_.push_back(exclusive_ns);
  });
}

// Records that start after a later chunk's first, and all of a chunk with times out of range.
void SlotTimes::AddLast(const Chunk& chunk, size_t begin) {
  last_exclusive_ns_.clear();
  const size_t count = chunk.runs.start_ns.size();
  if (begin == count) return;
  last_exclusive_ns_.resize(count - begin);
  ForEachInRange(chunk, begin, count, [&](const trace::Run& run, uint32_t i) {
    const uint64_t exclusive_ns =
        exclusive_.Add(index_->device_of_stream(run.stream), chunk.runs.start_ns[i],
                       chunk.runs.end_ns[i], chunk.earliest_later_start_ns);
    const bool steady = IsSteady(chunk.runs, run, i);
    result_.sums[steady][SlotAt(chunk.runs, run, i)].exclusive_ns += exclusive_ns;
    last_exclusive_ns_[i - begin] = exclusive_ns;
  });
}

void SlotTimes::GiveHelpers(const Chunk& chunk, const Kept& kept) {
  const trace::ChunkRuns& runs = chunk.runs;
  auto hidden = kept.hidden.begin();
  const auto exclusive_of = [&](uint32_t i) {
    if (i >= kept.alone_count) return last_exclusive_ns_[i - kept.alone_count];
    if (i < first_exclusive_ns_.size()) return first_exclusive_ns_[i];
    while (hidden != kept.hidden.end() && hidden->record < i) ++hidden;
    const bool is_hidden = hidden != kept.hidden.end() && hidden->record == i;
    return runs.end_ns[i] - runs.start_ns[i] - (is_hidden ? hidden->hidden_ns : 0);
  };
  const auto add = [&](const trace::Run& run, uint32_t i, uint32_t site) {
    helpers_.Add(run.stream, site, IsSteady(runs, run, i), runs.start_ns[i], exclusive_of(i));
  };
  auto helper = kept.helpers.begin();
  for (const trace::Run& run : runs.runs) {
    const uint32_t end = run.begin + run.count;
    if (run.target.is_graph()) {
      helpers_.Break(run.stream);
    } else if (run.own_groups && kept.in_range) {
      for (uint32_t i = run.begin; i < end; ++i) {
        const uint32_t next =
            helper != kept.helpers.end() ? std::min(*helper, end) : end;  // that is not plain
        if (next > i) helpers_.PassPlain(run.stream, runs.start_ns[next - 1]);
        if (next == end) break;
        add(run, next, runs.groups[run.GroupOf(next)].target.id());
        ++helper;
        i = next;
      }
    } else {
      for (uint32_t i = run.begin; i < end; ++i) {
        if (!index_->IsInClockRange(runs.start_ns[i], runs.end_ns[i])) continue;
        const uint32_t site = index_->site_of_slot(SlotAt(runs, run, i));
        add(run, i, site);
      }
    }
  }
}

void SlotTimes::Merge(Analyzer& other) {
  Result& theirs = static_cast<SlotTimes&>(other).result_;
  for (int phase = 0; phase < 2; ++phase) {
    for (size_t slot = 0; slot < result_.sums[phase].size(); ++slot) {
      TimeSums& mine = result_.sums[phase][slot];
      mine.records += theirs.sums[phase][slot].records;
      mine.duration_ns += theirs.sums[phase][slot].duration_ns;
      mine.exclusive_ns += theirs.sums[phase][slot].exclusive_ns;
    }
    const Replays& replays = static_cast<SlotTimes&>(other).replays_[phase];
    for (size_t slot = 0; slot < replays.duration_ns.size(); ++slot) {
      replays_[phase].duration_ns[slot] += replays.duration_ns[slot];
      replays_[phase].steps[slot] += replays.steps[slot];
    }
    result_.durations[phase].Merge(theirs.durations[phase]);
  }
  for (size_t slot = 0; slot < result_.slot_stream.size(); ++slot) {
    MeetStream(result_.slot_stream[slot], theirs.slot_stream[slot]);
  }
  result_.records += theirs.records;
  result_.untimed += theirs.untimed;
  result_.out_of_range += theirs.out_of_range;
}

SlotTimes::Result SlotTimes::Finish() && {
  for (int phase = 0; phase < 2; ++phase) {
    uint64_t replays = 0;
    for (size_t slot = 0; slot < result_.sums[phase].size(); ++slot) {
      TimeSums& sums = result_.sums[phase][slot];
      sums.records += replays += replays_[phase].steps[slot];
      sums.duration_ns += replays_[phase].duration_ns[slot];
      sums.exclusive_ns += sums.duration_ns;
    }
  }
  for (uint32_t& stream : result_.slot_stream) {
    if (stream == kSeveralStreams) stream = 0;
  }
  result_.eager_helpers = helpers_.owned();
  result_.busy_ns = exclusive_.total_busy_ns();
  result_.forgotten_gaps = exclusive_.forgotten_gaps();
  return std::move(result_);
}

}  // namespace hotproof::analyzers
