#include "analyzers/launch_matching.h"

#include <algorithm>

namespace hotproof::analyzers {
namespace {

// SplitMix64's mixer (Steele, Lea, Flood 2014): makes sums of node positions tell sets apart.
uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
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

LaunchMatching::LaunchMatching(const TraceIndex& index) : index_(&index) {
  size_t most_nodes = 1;
  for (const trace::GraphTable& graph : index.tables().graphs) {
    most_nodes = std::max(most_nodes, graph.node_sites.size());
  }
  digests_.resize(most_nodes + 1);
  for (size_t n = 0; n < most_nodes; ++n) digests_[n + 1] = digests_[n] + Mix(n);
  last_recorded_.resize(std::max<size_t>(index.tables().streams.size(), 1));
}

std::unique_ptr<Analyzer> LaunchMatching::Init() const {
  return std::make_unique<LaunchMatching>(*index_);
}

void LaunchMatching::FoldInOrder(const Chunk& chunk) {
  arrivals_.clear();
  ListLaunches(chunk.columns);
  CollectRuns(chunk.columns);
  auto earlier = [](const auto& a, const auto& b) { return Key(a) < Key(b); };
  if (!std::is_sorted(arrivals_.begin(), arrivals_.end(), earlier)) {
    std::stable_sort(arrivals_.begin(), arrivals_.end(), earlier);
  }
  MergeIntoOpen();
  CloseComplete();
}

void LaunchMatching::ListLaunches(const trace::ChunkColumns& columns) {
  for (size_t i = 0; i < columns.launch_correlation_id.size(); ++i) {
    const uint32_t stream = columns.launch_stream[i];
    arrivals_.push_back({columns.launch_correlation_id[i], columns.launch_target[i], stream,
                         index_->device_of_stream(stream), 1, 0, 0, 0});
  }
}

// Records of one launch mostly follow each other: one arrival for each such run.
void LaunchMatching::CollectRuns(const trace::ChunkColumns& columns) {
  uint64_t run_id = 0;
  bool in_run = false;
  auto add = [&](uint64_t id, trace::Target target, uint32_t node, uint32_t stream, bool timed) {
    if (!target.is_known()) {
      ++result_.records_without_launch;
      in_run = false;
      return;
    }
    if (!in_run || id != run_id || arrivals_.back().target != target) {
      arrivals_.push_back({id, target, 0, index_->device_of_stream(stream), 0, 0, 0, 0});
      run_id = id;
      in_run = true;
    }
    ++arrivals_.back().seen;
    arrivals_.back().untimed += timed ? 0 : 1;
    arrivals_.back().digest += Mix(node);
  };
  for (size_t i = 0; i < columns.correlation_id.size(); ++i) {
    add(columns.correlation_id[i], columns.target[i], columns.node[i], columns.stream[i], true);
    if (columns.site[i] == 0) ++result_.records_without_site;
  }
  in_run = false;
  for (size_t i = 0; i < columns.untimed_correlation_id.size(); ++i) {
    add(columns.untimed_correlation_id[i], columns.untimed_target[i], columns.untimed_node[i], 0,
        false);
    if (columns.untimed_site[i] == 0) ++result_.records_without_site;
  }
}

void LaunchMatching::MergeIntoOpen() {
  scratch_.clear();
  auto add = [this](const Open& part) {
    if (scratch_.empty() || Key(scratch_.back()) != Key(part)) {
      scratch_.push_back(part);
      return;
    }
    Open& open = scratch_.back();
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
  while (old < open_.size() || fresh < arrivals_.size()) {
    const bool take_old = fresh == arrivals_.size() ||
                          (old < open_.size() && Key(open_[old]) <= Key(arrivals_[fresh]));
    add(take_old ? open_[old++] : arrivals_[fresh++]);
  }
  open_.swap(scratch_);
  for (const Open& open : open_) {
    if (open.seen == 0) continue;
    last_recorded_anywhere_ = std::max(last_recorded_anywhere_, open.correlation_id);
    if (open.listed > 0 && open.stream < last_recorded_.size()) {
      last_recorded_[open.stream] = std::max(last_recorded_[open.stream], open.correlation_id);
    }
  }
}

bool LaunchMatching::IsComplete(const Open& open) const {
  const uint32_t executions = index_->ExecutionsOf(open.target);
  return open.listed > 0 && open.seen == uint64_t{open.listed} * executions &&
         open.digest == open.listed * digests_[executions];
}

void LaunchMatching::CloseComplete() {
  size_t kept = 0;
  // When too many are open, the oldest that can no longer be in flight are settled.
  size_t to_settle = open_.size() > kMaxOpen ? open_.size() - kMaxOpen / 2 : 0;
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
  if (open.seen == expected && open.digest != open.listed * digests_[executions]) {
    // As many records as nodes, but not one of each: at least one twice and one not at all.
    --recorded;
    ++result_.duplicates;
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
    (damaged ? counts.lost : counts.in_flight) += unlisted;
  }
  return std::move(result_);
}

MatchCounts LaunchMatching::Result::Total() const {
  MatchCounts total;
  for (const MatchCounts& device : devices) {
    total.expected += device.expected;
    total.recorded += device.recorded;
    total.lost += device.lost;
    total.in_flight += device.in_flight;
    total.surplus += device.surplus;
    total.untimed += device.untimed;
  }
  return total;
}

}  // namespace hotproof::analyzers
