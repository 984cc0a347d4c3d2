// Interns the ranges around a launch into the trace: a tree of paths, each its parent and one range more.
// Current is called on the launching thread, without the trace's lock; it takes that for ranges that this
// thread has not launched in before.
//
// Bounded, and honest about it: a range with more than kMaxChildren different ones directly inside, or a
// process with more than kMaxPaths, gives the others one path that says 'many'; of one range at most
// kMaxPayloads payloads are told apart.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>

#include "cupti_tracer/core/generation.h"
#include "cupti_tracer/core/trace_file.h"
#include "cupti_tracer/ranges/range_ids.h"
#include "cupti_tracer/ranges/range_stack.h"

namespace hotproof::tracer {

class RangePaths {
 public:
  static constexpr size_t kMaxPaths = 16384, kMaxChildren = 512, kMaxPayloads = 16;
  // Of the ranges open in the process, the first so many are told.
  static constexpr size_t kMaxProcessRanges = 8;

  explicit RangePaths(TraceFile& file) : file_(file) { paths_.emplace_back(); }

  RangeIds Current() {
    RangeIds ids;
    return FindCurrent(ids) ? ids : CurrentSlow();
  }
  // False where something has to be interned first: ask Current. Never waits, never throws.
  bool FindCurrent(RangeIds& ids) const noexcept {
    return !ranges_in_use.load(std::memory_order_relaxed) || FindInThread(ids);
  }

  // Stands for every path; for who can keep no more of them apart. Trace lock held.
  RangeIds ManyLocked() { return {ManyLocked(0), 0}; }
  size_t payload_counters() const { return payloads_.size(); }  // for tests

 private:
  struct Path {
    uint32_t children = 0;
    uint32_t many = 0;  // the child that stands for further ones; 0: none yet
    bool is_many = false;
  };
  bool FindInThread(RangeIds& ids) const noexcept;
  RangeIds CurrentSlow();
  uint32_t ProcessPath(ThreadRanges& thread);
  uint32_t Intern(uint32_t parent, const Range& range);
  uint32_t InternLocked(uint32_t parent, const Range& range);
  uint32_t AddLocked(uint32_t parent, const Range& range);
  uint32_t ManyLocked(uint32_t parent);

  TraceFile& file_;
  const uint32_t instance_ = NewGeneration();
  // Under the trace's lock.
  bool names_reported_ = false;
  std::deque<Path> paths_;  // by id
  std::unordered_map<uint64_t, uint32_t> ids_;       // by hash of parent and range
  std::unordered_map<uint64_t, uint32_t> payloads_;  // how many of a range, by hash of the rest of it
};

}  // namespace hotproof::tracer
