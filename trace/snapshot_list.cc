#include "trace/snapshot_list.h"

#include <tuple>
#include <utility>

#include "trace/format.h"

namespace hotproof::trace {
namespace {

// What readers ask of snapshots: the last steady mark, the first replay behind the last capture, and how
// many there were of each. Marks of other names decide nothing.
enum Kind : size_t { kCapture, kReplay, kSteady, kOther, kKinds };

Kind KindOf(const ListedSnapshot& snapshot) {
  if (snapshot.reason == kEndCaptureSnapshot) return kCapture;
  if (snapshot.reason == kFirstReplaySnapshot || snapshot.reason == kReplayAfterCaptureSnapshot) {
    return kReplay;
  }
  return IsSteadyMark(snapshot.reason, snapshot.label) ? kSteady : kOther;
}

constexpr size_t kNone = ~size_t{0};

// Of each kind the position of the one that stands for those that are left out.
struct Deciding {
  size_t at[kKinds] = {kNone, kNone, kNone, kNone};
  explicit Deciding(const std::vector<ListedSnapshot>& snapshots) {
    bool behind_capture = false;
    for (size_t i = 0; i < snapshots.size(); ++i) {
      const Kind kind = KindOf(snapshots[i]);
      if (kind == kReplay && std::exchange(behind_capture, true)) continue;  // of several the first
      if (kind == kCapture) behind_capture = false;
      at[kind] = i;
    }
  }
};

size_t IncrementsOf(const ListedSnapshot& snapshot) {
  return snapshot.sites.size() + snapshot.graphs.size();
}

}  // namespace

void SnapshotList::Add(ListedSnapshot snapshot) {
  const size_t increments = IncrementsOf(snapshot);
  snapshots_.push_back(std::move(snapshot));
  increments_ += increments;
  if (snapshots_.size() > max_snapshots_ || increments_ > kMaxIncrements) {
    CutTo(max_snapshots_ / 2, kMaxIncrements / 2);
  }
}

void SnapshotList::Append(SnapshotList&& other) {
  for (ListedSnapshot& snapshot : other.snapshots_) Add(std::move(snapshot));
  other.Clear();
}

void SnapshotList::Clear() {
  snapshots_.clear();
  increments_ = 0;
}

void SnapshotList::CutTo(size_t most, size_t most_increments) {
  if (snapshots_.size() <= most && increments_ <= most_increments) return;
  const Deciding deciding(snapshots_);
  size_t left = snapshots_.size(), increments = 0, not_yet_seen = increments_;
  uint64_t left_out[kKinds] = {};
  std::vector<size_t> kept;
  std::vector<std::pair<SlotCounts, SlotCounts>> counts;  // of those kept
  SlotCounts sites, graphs;  // of those left out since the last that was kept
  for (size_t i = 0; i < snapshots_.size(); ++i) {
    const ListedSnapshot& snapshot = snapshots_[i];
    const Kind kind = KindOf(snapshot);
    sites.insert(sites.end(), snapshot.sites.begin(), snapshot.sites.end());
    graphs.insert(graphs.end(), snapshot.graphs.begin(), snapshot.graphs.end());
    not_yet_seen -= IncrementsOf(snapshot);
    const bool too_many = left > most || increments + sites.size() + graphs.size() + not_yet_seen >
                                             most_increments;
    // What comes next has its increments since the newest.
    if (too_many && i != deciding.at[kind] && i + 1 != snapshots_.size()) {
      left_out[kind] += 1 + snapshot.repeats;
      --left;
      continue;
    }
    Normalise(sites);
    Normalise(graphs);
    increments += sites.size() + graphs.size();
    kept.push_back(i);
    counts.emplace_back(std::exchange(sites, {}), std::exchange(graphs, {}));
  }
  // Memory has not run out: from here on nothing fails.
  for (size_t kind = 0; kind < kKinds; ++kind) {
    if (left_out[kind] != 0) snapshots_[deciding.at[kind]].repeats += left_out[kind];
  }
  for (size_t to = 0; to < kept.size(); ++to) {
    if (kept[to] != to) snapshots_[to] = std::move(snapshots_[kept[to]]);
    std::tie(snapshots_[to].sites, snapshots_[to].graphs) = std::move(counts[to]);
  }
  snapshots_.resize(kept.size());
  increments_ = increments;
}

}  // namespace hotproof::trace
