#include "analyzers/exclusive_time.h"

#include <algorithm>

namespace hotproof::analyzers {

uint64_t ExclusiveTime::Add(uint32_t device_id, uint64_t start_ns, uint64_t end_ns,
                            uint64_t earliest_later_start_ns) {
  if (device_id >= devices_.size()) devices_.resize(device_id + 1);
  Device& device = devices_[device_id];
  uint64_t exclusive_ns = 0;
  if (start_ns < device.frontier_ns) {
    if (!device.gaps.empty()) {
      exclusive_ns = FillGaps(device, start_ns, std::min(end_ns, device.frontier_ns));
    }
  } else if (start_ns > device.frontier_ns && start_ns > earliest_later_start_ns) {
    RememberGap(device, {device.frontier_ns, start_ns}, earliest_later_start_ns);
  }
  if (end_ns > device.frontier_ns) {
    exclusive_ns += end_ns - std::max(start_ns, device.frontier_ns);
    device.frontier_ns = end_ns;
    frontier_ns_ = std::max(frontier_ns_, end_ns);
  }
  device.busy_ns += exclusive_ns;
  return exclusive_ns;
}

void ExclusiveTime::Cover(uint32_t device_id, uint64_t end_ns, uint64_t busy_ns) {
  if (device_id >= devices_.size()) devices_.resize(device_id + 1);
  Device& device = devices_[device_id];
  device.frontier_ns = std::max(device.frontier_ns, end_ns);
  frontier_ns_ = std::max(frontier_ns_, end_ns);
  device.busy_ns += busy_ns;
}

uint64_t ExclusiveTime::FillGaps(Device& device, uint64_t start_ns, uint64_t end_ns) {
  auto first = std::partition_point(device.gaps.begin(), device.gaps.end(),
                                    [&](const Gap& gap) { return gap.end_ns <= start_ns; });
  uint64_t filled_ns = 0;
  std::vector<Gap> left;
  auto gap = first;
  for (; gap != device.gaps.end() && gap->start_ns < end_ns; ++gap) {
    const uint64_t from = std::max(gap->start_ns, start_ns), to = std::min(gap->end_ns, end_ns);
    filled_ns += to - from;
    if (gap->start_ns < from) left.push_back({gap->start_ns, from});
    if (to < gap->end_ns) left.push_back({to, gap->end_ns});
  }
  const auto at = device.gaps.erase(first, gap);
  device.gaps.insert(at, left.begin(), left.end());
  return filled_ns;
}

void ExclusiveTime::RememberGap(Device& device, Gap gap, uint64_t earliest_later_start_ns) {
  if (device.gaps.size() >= kMaxGaps) {
    // First those that nothing can fill any more, then the oldest half.
    const auto useful =
        std::partition_point(device.gaps.begin(), device.gaps.end(),
                             [&](const Gap& old) { return old.end_ns <= earliest_later_start_ns; });
    device.gaps.erase(device.gaps.begin(), useful);
    if (device.gaps.size() >= kMaxGaps) {
      forgotten_gaps_ += kMaxGaps / 2;
      device.gaps.erase(device.gaps.begin(), device.gaps.begin() + kMaxGaps / 2);
    }
  }
  device.gaps.push_back(gap);
}

uint64_t ExclusiveTime::total_busy_ns() const {
  uint64_t total_ns = 0;
  for (const Device& device : devices_) total_ns += device.busy_ns;
  return total_ns;
}

}  // namespace hotproof::analyzers
