// The named ranges that launches happen in: a stack for each thread (pushed and popped) and a set for the
// process (started by one thread, ended by any). Fed by the NVTX handlers and hotproof_range_push on any
// thread, before CUDA starts, too; read when a launch's site is resolved (range_paths.h), on its thread.
//
// Pushing and popping is plain copying in the thread's own memory: no lock, nothing thrown. What is kept is
// bounded: names of kMaxNameBytes, kMaxDepth ranges of a thread, kMaxOpen of the process.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

#include "cupti_tracer/core/thread_cache.h"

namespace hotproof::tracer {

// Values of trace.proto's enums; tests/tracer checks that they agree.
enum class RangeSource : uint8_t { kPushPop = 1, kStartEnd = 2, kHotproof = 3 };
enum class PayloadKind : uint8_t { kNone = 0, kUnsigned = 1, kSigned = 2, kDouble = 3, kVaries = 4 };

// What a program says of a range; valid during its call.
struct RangeLabel {
  std::string_view name;
  uint32_t domain = 0;  // range_domains.h; 0: NVTX's default domain
  RangeSource source = RangeSource::kPushPop;
  PayloadKind payload_kind = PayloadKind::kNone;
  uint64_t payload = 0;  // its bits
};

// What is kept of it. Plain memory.
struct Range {
  static constexpr size_t kMaxNameBytes = 255;
  uint64_t hash;  // of all below
  uint64_t payload;
  uint32_t domain;
  RangeSource source;
  PayloadKind payload_kind;
  uint8_t name_bytes;
  char text[kMaxNameBytes];

  std::string_view name() const { return {text, name_bytes}; }
  void Set(const RangeLabel& label);
};

// The stack of one thread, and what range_paths.h made of it. Plain, zeroed memory, made by the thread's
// first range.
struct ThreadRanges {
  static constexpr uint32_t kMaxDepth = 64;
  // Of ranges begun while kMaxDepth are kept, so many are known by what ends them; more are taken
  // to end in order.
  static constexpr uint32_t kMaxDeeper = 448;
  struct Frame {
    Range range;
    uint32_t level;  // in its domain
    uint32_t path;   // RangePath id; valid below `resolved`
  };
  struct Deeper {
    uint32_t domain;
    uint32_t level;
    RangeSource source;
  };
  uint32_t kept;      // frames in use
  uint32_t deeper;    // ranges that are open inside those and not kept
  uint32_t resolved;  // frames from the bottom whose path is known to `instance`
  uint32_t instance;  // of RangePaths
  uint32_t deeper_path;  // stands for the deeper ones; 0: not known yet
  uint32_t process_path;
  uint64_t process_version;  // that `process_path` is of
  Frame frames[kMaxDepth];
  Deeper deeper_ranges[kMaxDeeper];

  // Null: this thread has had no range. Made when asked for; null then means no memory.
  static ThreadRanges* Find() { return ThreadCacheOf<ThreadRanges>::Find(); }
  static ThreadRanges* Get() { return ThreadCacheOf<ThreadRanges>::Get(); }
};

// False until the first range of the process, true ever after: what a launch pays where there is none.
inline constinit std::atomic<bool> ranges_in_use{false};

// The level of the range in its domain, from 0, as NVTX's push and pop return it; -1: no memory, it
// is not kept.
int PushRange(const RangeLabel& label) noexcept;
// Ends the innermost range of this thread with that source and domain; negative if there is none.
int PopRange(RangeSource source, uint32_t domain) noexcept;

// The open ranges of the process. Starting and ending take a lock and may run out of memory.
class ProcessRanges {
 public:
  static constexpr size_t kMaxOpen = 4096;

  // Before the first of what follows, on one thread: a child that is forked while another thread makes the
  // state would wait for it for ever.
  static void Prepare();
  static uint64_t NewId();
  static void Start(uint64_t id, const RangeLabel& label);
  static void End(uint64_t id);
  // Another number whenever something changed; 0: nothing was ever started.
  static uint64_t Version() { return version_.load(std::memory_order_acquire); }
  // The first ones started, at most `most`; `others`: how many more are open.
  struct Open {
    uint64_t version = 0;
    std::vector<Range> first;
    uint64_t others = 0;
  };
  static Open Get(size_t most);

 private:
  static inline constinit std::atomic<uint64_t> version_{0};
};

}  // namespace hotproof::tracer
