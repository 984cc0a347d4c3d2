// How long a device was busy, split among overlapping kernels so that the parts add up to the union
// of their intervals.
//
// An instant at which several kernels of a device ran belongs to the one whose record comes first:
// within a chunk the one that started first (of equal starts, the one stored first), across chunks
// the one of the earlier chunk. Under programmatic dependent launch a kernel starts while its
// predecessor still runs and waits for it, so the waiting is charged to the predecessor.
//
// Owned by one analyzer, called in the order of the trace on one thread at a time. Memory: idle
// gaps that a later record could still fill, at most kMaxGaps a device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hotproof::analyzers {

class ExclusiveTime {
 public:
  static constexpr size_t kMaxGaps = 1 << 20;

  // Adds [start_ns, end_ns) of a kernel on `device` and returns the part of it that no earlier call
  // covered. `earliest_later_start_ns`: no record of a later chunk starts before.
  uint64_t Add(uint32_t device, uint64_t start_ns, uint64_t end_ns,
               uint64_t earliest_later_start_ns);

  // Takes over many kernels of `device` that do not overlap with any earlier one: they cover
  // `busy_ns` in all and end by `end_ns`, and no later kernel fills a gap between them.
  void Cover(uint32_t device, uint64_t end_ns, uint64_t busy_ns);

  // The end of all that was covered, on any device.
  uint64_t frontier_ns() const { return frontier_ns_; }
  uint64_t busy_ns(uint32_t device) const {
    return device < devices_.size() ? devices_[device].busy_ns : 0;
  }
  uint64_t total_busy_ns() const;
  // Gaps given up for lack of room: a record that would have filled one got too little.
  uint64_t forgotten_gaps() const { return forgotten_gaps_; }

 private:
  struct Gap {
    uint64_t start_ns, end_ns;
  };
  struct Device {
    uint64_t frontier_ns = 0;  // end of all that was covered
    uint64_t busy_ns = 0;
    std::vector<Gap> gaps;  // idle before the frontier; sorted, disjoint
  };
  uint64_t FillGaps(Device& device, uint64_t start_ns, uint64_t end_ns);
  void RememberGap(Device& device, Gap gap, uint64_t earliest_later_start_ns);

  std::vector<Device> devices_;
  uint64_t frontier_ns_ = 0;
  uint64_t forgotten_gaps_ = 0;
};

}  // namespace hotproof::analyzers
