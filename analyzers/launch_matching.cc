#include "analyzers/launch_matching.h"

#include <algorithm>

namespace hotproof::analyzers {
namespace {

uint64_t IdOf(uint64_t id) { return id; }
uint64_t IdOf(const trace::RecordGroup& group) { return group.correlation_id; }

// Each id larger than the one before it, and none so large that differences have no sign.
template <typename T>
bool IsAscending(const std::vector<T>& entries) {
  const size_t count = entries.size();
  if (count == 0) return true;
  uint64_t any = 0;
  for (size_t i = 1; i < count; ++i) {
    const uint64_t before = IdOf(entries[i - 1]), id = IdOf(entries[i]);
    any |= before | (id - before - 1);
  }
  return (any | IdOf(entries[count - 1])) >> 63 == 0;
}

// The order of open launches and of what arrives for them.
std::pair<uint64_t, uint32_t> Key(const auto& open) {
  return {open.correlation_id, open.target.wire()};
}

MatchCounts& At(std::vector<MatchCounts>& devices, uint32_t device) {
  if (device >= devices.size()) devices.resize(device + 1);
  return devices[device];
}

}  // namespace

LaunchMatching::LaunchMatching(const TraceIndex& index) : index_(&index), groups_(index) {
  last_recorded_.resize(std::max<size_t>(index.tables().streams.size(), 1));
}

std::unique_ptr<Analyzer> LaunchMatching::Init() const {
  return std::make_unique<LaunchMatching>(*index_);
}

// Most launches begin and end in one chunk: those are settled here, whatever other chunks hold.
void LaunchMatching::Fold(const Chunk& chunk) {
  const trace::ChunkRuns& runs = chunk.runs;
  const LaunchGroups::Unplaced unplaced = groups_.Count(runs);
  result_.records_without_launch += unplaced.without_launch;
  result_.records_without_site += unplaced.without_site;
  latest_.assign(last_recorded_.size(), 0);
  latest_anywhere_ = 0;
  listed_.clear();
  seen_.clear();
  if (IsAscending(runs.launch_correlation_id) && IsAscending(runs.groups)) {
    SettleAscending(runs);
  } else {
    for (size_t i = 0; i < runs.launch_correlation_id.size(); ++i) List(runs, i);
    for (size_t i = 0; i < runs.groups.size(); ++i) See(runs, i);
  }
  for (std::vector<Open>* part : {&listed_, &seen_}) {
    const auto earlier = [](const Open& a, const Open& b) { return Key(a) < Key(b); };
    if (!std::is_sorted(part->begin(), part->end(), earlier)) {
      std::stable_sort(part->begin(), part->end(), earlier);
    }
  }
  MergeSorted(listed_, seen_, open_);
  NoteLatest(open_, latest_, latest_anywhere_);
  CloseComplete(/*most_open=*/SIZE_MAX);
}

// One thread that launches on one stream: launches and groups are in one order, no id comes twice,
// and what is complete needs no sorting.
void LaunchMatching::SettleAscending(const trace::ChunkRuns& runs) {
  const size_t launches = runs.launch_correlation_id.size(), groups = runs.groups.size();
  uint64_t settled = 0;  // on `device`
  uint32_t device = 0;
  const auto give = [&] {
    if (settled == 0) return;
    MatchCounts& counts = At(result_.devices, device);
    counts.expected += settled;
    counts.recorded += settled;
    settled = 0;
  };
  size_t launch = 0, group = 0;
  while (launch < launches && group < groups) {
    if (const size_t count = groups_.EagerTogether(runs, launch, group); count != 0) {
      const uint32_t stream = runs.launch_stream[launch];
      const uint32_t on =
          index_->device_of_stream(stream != 0 ? stream : runs.groups[group].stream);
      if (on != device) give();
      device = on;
      settled += count;
      launch += count;
      group += count;
      latest_anywhere_ = runs.launch_correlation_id[launch - 1];
      if (stream < latest_.size()) latest_[stream] = latest_anywhere_;
      continue;
    }
    const uint64_t id = runs.launch_correlation_id[launch];
    const trace::RecordGroup& of = runs.groups[group];
    if (id != of.correlation_id) {
      id < of.correlation_id ? List(runs, launch++) : See(runs, group++);
      continue;
    }
    const uint32_t stream = runs.launch_stream[launch];
    if (of.target != runs.launch_target[launch] || groups_[group].untimed != 0 ||
        !groups_.IsComplete(of.target, groups_[group])) {
      List(runs, launch++);
      See(runs, group++);
      continue;
    }
    const uint32_t on = index_->device_of_stream(stream != 0 ? stream : of.stream);
    if (on != device) give();
    device = on;
    settled += groups_[group].seen;
    latest_anywhere_ = id;  // they ascend
    if (stream < latest_.size()) latest_[stream] = id;
    ++launch;
    ++group;
  }
  give();
  while (launch < launches) List(runs, launch++);
  while (group < groups) See(runs, group++);
}

void LaunchMatching::FoldInOrder(const Chunk& chunk, Analyzer& folded) {
  const auto& theirs = static_cast<const LaunchMatching&>(folded);
  const std::vector<uint64_t>& ids = chunk.runs.launch_correlation_id;
  if (border_ == 0 && !ids.empty()) border_ = *std::max_element(ids.begin(), ids.end());
  for (size_t stream = 0; stream < last_recorded_.size(); ++stream) {
    last_recorded_[stream] = std::max(last_recorded_[stream], theirs.latest_[stream]);
  }
  last_recorded_anywhere_ = std::max(last_recorded_anywhere_, theirs.latest_anywhere_);
  MergeSorted(open_, theirs.open_, scratch_);
  open_.swap(scratch_);
  NoteLatest(open_, last_recorded_, last_recorded_anywhere_);
  CloseComplete(kMaxOpen);
}

void LaunchMatching::Merge(Analyzer& other) {
  const Result& theirs = static_cast<const LaunchMatching&>(other).result_;
  for (uint32_t device = 0; device < theirs.devices.size(); ++device) {
    At(result_.devices, device).Add(theirs.devices[device]);
  }
  result_.records_without_launch += theirs.records_without_launch;
  result_.records_without_site += theirs.records_without_site;
}

void LaunchMatching::List(const trace::ChunkRuns& runs, size_t launch) {
  const uint32_t stream = runs.launch_stream[launch];
  listed_.push_back({runs.launch_correlation_id[launch], runs.launch_target[launch], stream,
                     index_->device_of_stream(stream), 1, 0, 0, 0});
}

void LaunchMatching::See(const trace::ChunkRuns& runs, size_t group) {
  const LaunchGroups::Counts& counts = groups_[group];
  if (counts.seen == 0) return;
  const trace::RecordGroup& of = runs.groups[group];
  seen_.push_back({of.correlation_id, of.target, 0, index_->device_of_stream(of.stream), 0,
                   counts.seen, counts.untimed, counts.digest});
}

// Both in the order of their keys; what is of one key becomes one.
void LaunchMatching::MergeSorted(const std::vector<Open>& older, const std::vector<Open>& newer,
                                 std::vector<Open>& merged) {
  merged.clear();
  const auto add = [&merged](const Open& part) {
    if (merged.empty() || Key(merged.back()) != Key(part)) {
      merged.push_back(part);
      return;
    }
    Open& open = merged.back();
    if (part.listed > 0) {
      open.stream = part.stream;
      if (part.device != 0 || part.stream != 0) open.device = part.device;
    } else if (open.stream == 0 && part.device != 0) {
      open.device = part.device;
    }
    open.listed += part.listed;
    open.seen += part.seen;
    open.untimed += part.untimed;
    open.digest += part.digest;
  };
  size_t old = 0, fresh = 0;
  while (old < older.size() || fresh < newer.size()) {
    const bool take_old =
        fresh == newer.size() || (old < older.size() && Key(older[old]) <= Key(newer[fresh]));
    add(take_old ? older[old++] : newer[fresh++]);
  }
}

void LaunchMatching::NoteLatest(const std::vector<Open>& launches, std::vector<uint64_t>& by_stream,
                                uint64_t& anywhere) {
  for (const Open& open : launches) {
    if (open.seen == 0) continue;
    anywhere = std::max(anywhere, open.correlation_id);
    if (open.listed > 0 && open.stream < by_stream.size()) {
      by_stream[open.stream] = std::max(by_stream[open.stream], open.correlation_id);
    }
  }
}

bool LaunchMatching::IsComplete(const Open& open) const {
  const uint32_t executions = index_->ExecutionsOf(open.target);
  return open.listed > 0 && open.seen == uint64_t{open.listed} * executions &&
         open.digest == open.listed * groups_.DigestOf(executions);
}

void LaunchMatching::CloseComplete(size_t most_open) {
  size_t kept = 0;
  // When too many are open, the oldest that can no longer be in flight are settled.
  size_t to_settle = open_.size() > most_open ? open_.size() - most_open / 2 : 0;
  for (const Open& open : open_) {
    const bool settle = to_settle > 0;
    if (settle) --to_settle;
    if (IsComplete(open) || settle) {
      Close(open);
    } else {
      open_[kept++] = open;
    }
  }
  open_.resize(kept);
}

void LaunchMatching::Close(const Open& open) {
  MatchCounts& counts = At(result_.devices, open.device);
  counts.untimed += open.untimed;
  if (open.listed == 0) {
    counts.surplus += open.seen;
    return;
  }
  const uint32_t executions = index_->ExecutionsOf(open.target);
  const uint64_t expected = uint64_t{open.listed} * executions;
  uint64_t recorded = std::min(open.seen, expected);
  if (open.seen == expected && open.digest != open.listed * groups_.DigestOf(executions)) {
    // As many records as nodes, but not one of each: at least one twice and one not at all.
    --recorded;
  }
  counts.expected += expected;
  counts.recorded += recorded;
  counts.surplus += open.seen - recorded;
  const uint64_t missing = expected - recorded;
  const uint64_t last = open.stream != 0 && open.stream < last_recorded_.size()
                            ? last_recorded_[open.stream]
                            : last_recorded_anywhere_;
  (last > open.correlation_id ? counts.lost : counts.in_flight) += missing;
}

LaunchMatching::Result LaunchMatching::Finish(uint64_t counted, bool damaged) && {
  uint64_t listed = result_.Total().expected;
  for (const Open& open : open_) {
    listed += uint64_t{open.listed} * index_->ExecutionsOf(open.target);
  }
  uint64_t unlisted = counted > listed ? counted - listed : 0;
  if (index_->tables().rotated_out.files != 0) TakeRotatedOut(unlisted);
  for (Open& open : open_) {
    // Records of a launch whose entry was lost explain launches that only the counters know.
    const uint64_t expected = index_->ExecutionsOf(open.target);
    if (open.listed == 0 && expected > 0 && expected <= unlisted) {
      open.listed = 1;
      unlisted -= expected;
    }
    Close(open);
  }
  open_.clear();
  if (unlisted > 0) {
    MatchCounts& counts = At(result_.devices, 0);
    counts.expected += unlisted;
    // After a clean end every launch was listed: what is missing went with files that are gone.
    const bool lost =
        damaged || (index_->tables().rotated_out.files != 0 && index_->tables().has_footer);
    (lost ? counts.lost : counts.in_flight) += unlisted;
  }
  return std::move(result_);
}

// Files that are gone held launches and records that are known by number alone. A launch on their
// border, one that is no younger than those that the oldest file lists first, has its entry, or a
// part of its records, there: what is here of it is complete by the records there.
void LaunchMatching::TakeRotatedOut(uint64_t& unlisted) {
  const trace::RotatedOut& gone = index_->tables().rotated_out;
  uint64_t records = gone.records;
  const uint64_t border = border_ != 0 ? border_ : UINT64_MAX;  // no launch is listed here
  for (Open& open : open_) {
    if (open.correlation_id > border) continue;
    // Records of a launch that is listed there.
    if (open.listed != 0 || open.seen > unlisted || !open.target.is_known()) continue;
    MatchCounts& counts = At(result_.devices, open.device);
    counts.expected += open.seen;
    counts.recorded += open.seen;
    counts.untimed += open.untimed;
    unlisted -= open.seen;
    open.seen = open.untimed = 0;
  }
  std::erase_if(open_, [](const Open& open) { return open.listed == 0 && open.seen == 0; });
  MatchCounts& counts = result_.rotated_out;
  counts.expected = counts.recorded = std::min(records, unlisted);
  unlisted -= counts.recorded;
  records -= counts.recorded;
  // More records there than the counters leave for them: of launches that are listed here.
  for (Open& open : open_) {
    if (records == 0) break;
    const uint64_t expected = uint64_t{open.listed} * index_->ExecutionsOf(open.target);
    if (open.correlation_id > border || open.listed == 0 || open.seen >= expected) continue;
    const uint64_t there = std::min(records, expected - open.seen);
    open.seen += there;
    records -= there;
    if (open.seen == expected)
      open.digest = open.listed * groups_.DigestOf(index_->ExecutionsOf(open.target));
  }
  counts.surplus = records;
}

void MatchCounts::Add(const MatchCounts& other) {
  expected += other.expected;
  recorded += other.recorded;
  lost += other.lost;
  in_flight += other.in_flight;
  surplus += other.surplus;
  untimed += other.untimed;
}

MatchCounts LaunchMatching::Result::Total() const {
  MatchCounts total = rotated_out;
  for (const MatchCounts& device : devices) total.Add(device);
  return total;
}

}  // namespace hotproof::analyzers
