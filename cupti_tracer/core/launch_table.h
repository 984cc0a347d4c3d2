// The launches of the recent past by correlation id: what each asked for, until its records have come
// and it has been listed in the trace. Publish is lock-free, from launch callbacks; the rest runs on
// the record side under the trace's lock.
//
// A ring indexed by correlation id: CUPTI gives every API call a new 32-bit id, ascending, so a slot is
// reused only after kSlots further calls. A call that launches on several devices has its launches in a
// small table beside the ring.
//
// Publisher and lister meet without a lock. A call that is the newest moves `newest_` on to itself after its
// slot is stored: a lister that comes so far has seen `newest_`, and with it the slot. A call that returns after
// a newer one stores its slot and then reads how far the lister has come, the lister stores how far it
// comes and then reads the slots. Were these not sequentially consistent, each could miss the other (a
// store may be delayed past a later load, on x86 too) and the launch would never be listed; so all four
// accesses are, and one of the two sees it.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "trace/format.h"

namespace hotproof::tracer {

class LaunchTable {
 public:
  static constexpr uint32_t kSlots = 1 << 20;

  struct Launch {
    uint32_t correlation_id = 0;
    trace::Target target;
    uint32_t stream = 0;
    uint64_t enter_ns = 0;  // of the call, CLOCK_MONOTONIC
    uint32_t call_ns = 0;   // how long it took
  };

  // At most this many calls with several launches are remembered at a time.
  static constexpr size_t kMaxSeveral = 1 << 12;

  // After a launch call has returned successfully and was counted.
  void Publish(uint32_t correlation_id, trace::Target target, uint32_t stream,
               uint64_t enter_ns = 0, uint32_t call_ns = 0) {
    if (!Store(correlation_id, target, stream, enter_ns, call_ns)) AddLate(correlation_id);
  }
  // The same in two steps, of which the first never waits. False: AddLate has to follow.
  bool Store(uint32_t correlation_id, trace::Target target, uint32_t stream, uint64_t enter_ns,
             uint32_t call_ns) noexcept {
    Slot& slot = slots_[correlation_id % kSlots];
    slot.enter_ns.store(enter_ns, std::memory_order_relaxed);
    slot.call_ns.store(call_ns, std::memory_order_relaxed);
    return StoreSlot(correlation_id, target.wire(), stream);
  }
  void AddLate(uint32_t correlation_id) {
    std::lock_guard lock(rare_mutex_);
    late_.push_back(correlation_id);
  }
  // A call that will publish has begun: its slot was last touched kSlots calls ago.
  void Prepare(uint32_t correlation_id) const {
    __builtin_prefetch(&slots_[correlation_id % kSlots], /*rw=*/1);
  }
  // The same for a call that launched more than once, on a stream each.
  void PublishSeveral(uint32_t correlation_id, std::vector<Launch> launches) {
    {
      std::lock_guard lock(rare_mutex_);
      if (several_.size() >= kMaxSeveral) several_.erase(several_.begin());
      several_[correlation_id] = std::move(launches);
    }
    if (!StoreSlot(correlation_id, kSeveral, 0)) AddLate(correlation_id);
  }

  // What the launch `correlation_id` asked for; of a call with several, on `stream`. Unknown if it is
  // not (or no longer) here.
  Launch Find(uint32_t correlation_id, uint32_t stream = 0) const {
    const Slot& slot = slots_[correlation_id % kSlots];
    const uint64_t packed = slot.launch.load(std::memory_order_acquire);
    if (static_cast<uint32_t>(packed >> 32) != correlation_id) return {};
    const uint32_t target = static_cast<uint32_t>(packed) & kTargetMask;
    if (target != kSeveral) {
      return {correlation_id, trace::Target::FromWire(target),
              slot.stream.load(std::memory_order_relaxed)};
    }
    std::lock_guard lock(rare_mutex_);
    const auto found = several_.find(correlation_id);
    if (found == several_.end()) return {};
    for (const Launch& launch : found->second) {
      if (launch.stream == stream) return launch;
    }
    return {};
  }

  // Calls `list(Launch)` once for each published launch that has not been listed: ascending ids, then
  // those whose call returned late.
  template <typename List>
  void ListNew(List&& list) {
    const uint32_t until = newest_.load(std::memory_order_acquire) + 1;
    uint32_t from = listed_until_.load(std::memory_order_relaxed);
    if (!started_) {
      from = until - std::min<uint32_t>(until, kSlots);
      started_ = until > 1;
    }
    if (until - from > kSlots) {
      dropped_possible_ += until - from - kSlots;
      from = until - kSlots;
    }
    listed_until_.store(until, std::memory_order_seq_cst);
    for (uint32_t id = from; id != until; ++id) ListOne(id, list);
    std::vector<uint32_t> late;
    {
      std::lock_guard lock(rare_mutex_);
      late.swap(late_);
    }
    for (uint32_t id : late) ListOne(id, list);
  }

  uint32_t newest() const { return newest_.load(std::memory_order_relaxed); }
  // Ids that went by unlisted because more than kSlots calls were made between two listings.
  uint64_t dropped_possible() const { return dropped_possible_; }

 private:
  static constexpr uint32_t kListedBit = 1u << 31;
  static constexpr uint32_t kTargetMask = kListedBit - 1;
  static constexpr uint32_t kSeveral = kTargetMask;  // no target: ids do not reach so far
  struct Slot {
    std::atomic<uint64_t> launch{0};  // correlation id << 32 | listed << 31 | target
    std::atomic<uint64_t> enter_ns{0};
    std::atomic<uint32_t> stream{0}, call_ns{0};
  };
  // False: the lister may have passed this id while the call was still running.
  bool StoreSlot(uint32_t correlation_id, uint32_t target, uint32_t stream) noexcept {
    Slot& slot = slots_[correlation_id % kSlots];
    slot.stream.store(stream, std::memory_order_relaxed);
    slot.launch.store(static_cast<uint64_t>(correlation_id) << 32 | target,
                      std::memory_order_release);
    uint32_t newest = newest_.load(std::memory_order_relaxed);
    while (newest == 0 || static_cast<int32_t>(correlation_id - newest) > 0) {
      if (newest_.compare_exchange_weak(newest, correlation_id, std::memory_order_acq_rel)) return true;
    }
    slot.launch.fetch_or(0, std::memory_order_seq_cst);  // stored in that order, listed or not
    const uint32_t listed_until = listed_until_.load(std::memory_order_seq_cst);
    return static_cast<int32_t>(correlation_id - listed_until) >= 0;
  }
  template <typename List>
  void ListOne(uint32_t id, List& list) {
    Slot& slot = slots_[id % kSlots];
    const uint64_t packed = slot.launch.load(std::memory_order_seq_cst);
    if (static_cast<uint32_t>(packed >> 32) != id || (packed & kListedBit) != 0 || packed == 0) return;
    // Both the lister and a late call may come here: the first to set the bit lists it.
    if ((slot.launch.fetch_or(kListedBit, std::memory_order_acq_rel) & kListedBit) != 0) return;
    const uint32_t target = static_cast<uint32_t>(packed) & kTargetMask;
    if (target != kSeveral) {
      list(Launch{id, trace::Target::FromWire(target), slot.stream.load(std::memory_order_relaxed),
                  slot.enter_ns.load(std::memory_order_relaxed),
                  slot.call_ns.load(std::memory_order_relaxed)});
      return;
    }
    std::vector<Launch> launches;
    {
      std::lock_guard lock(rare_mutex_);
      const auto found = several_.find(id);
      if (found != several_.end()) launches = found->second;
    }
    for (const Launch& launch : launches) list(launch);
  }

  std::unique_ptr<Slot[]> slots_{new Slot[kSlots]()};
  std::atomic<uint32_t> newest_{0};
  std::atomic<uint32_t> listed_until_{0};
  bool started_ = false;
  uint64_t dropped_possible_ = 0;
  mutable std::mutex rare_mutex_;  // of what follows
  std::vector<uint32_t> late_;
  std::map<uint32_t, std::vector<Launch>> several_;
};

// Extends 32-bit correlation ids to 64 bits across a wrap-around: the value nearest to the last one.
class CorrelationExtender {
 public:
  uint64_t Extend(uint32_t id) {
    const int32_t step = static_cast<int32_t>(id - static_cast<uint32_t>(last_));
    if (step >= 0 || last_ >= static_cast<uint64_t>(-static_cast<int64_t>(step))) {
      const uint64_t value = last_ + static_cast<int64_t>(step);
      if (step > 0) last_ = value;
      return value;
    }
    return id;
  }

 private:
  uint64_t last_ = 0;
};

}  // namespace hotproof::tracer
