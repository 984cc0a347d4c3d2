// What one thread launched lately, and the site of each: a launch that repeats one of them is
// recognised by comparing, in place, the bytes that make its site. Owned by its thread, zeroed
// memory at first; nothing here waits, allocates or throws.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

#include "cupti_tracer/core/arguments.h"
#include "cupti_tracer/core/callback_data.h"
#include "cupti_tracer/core/launch_description.h"
#include "cupti_tracer/core/streams.h"
#include "cupti_tracer/core/tensor_maps.h"
#include "cupti_tracer/core/thread_cache.h"

namespace hotproof::tracer {

// What of a launch is part of its site, its kernel and evidence aside. Without padding: it is
// hashed and compared as bytes.
struct LaunchConstants {
  uint32_t grid[3], block[3], cluster[3];
  uint32_t dynamic_shared_bytes;
  uint32_t flags;
  RangeIds ranges;
};

inline uint32_t FlagsOf(const LaunchDescription& d) {
  return (d.captured ? 1u : 0) | (d.cooperative ? 2u : 0) | (d.programmatic ? 4u : 0);
}

inline LaunchConstants ConstantsOf(const LaunchDescription& d) {
  LaunchConstants constants;
  std::memcpy(constants.grid, d.grid, sizeof constants.grid);
  std::memcpy(constants.block, d.block, sizeof constants.block);
  std::memcpy(constants.cluster, d.cluster, sizeof constants.cluster);
  constants.dynamic_shared_bytes = d.dynamic_shared_bytes;
  constants.flags = FlagsOf(d);
  constants.ranges = d.ranges;
  return constants;
}

// From registers, where the description was just read: no copy is made first.
inline bool SameConstants(const LaunchConstants& c, const LaunchDescription& d) {
  uint32_t differences = c.dynamic_shared_bytes ^ d.dynamic_shared_bytes;
  for (int i = 0; i < 3; ++i) {
    differences |=
        (c.grid[i] ^ d.grid[i]) | (c.block[i] ^ d.block[i]) | (c.cluster[i] ^ d.cluster[i]);
  }
  return (differences | (c.flags ^ FlagsOf(d)) | (c.ranges.thread ^ d.ranges.thread) |
          (c.ranges.process ^ d.ranges.process)) == 0;
}

class LaunchCache {
 public:
  struct Entry {
    CUfunction function;
    uint64_t call_hash;  // of the library call around it; 0: none
    const std::atomic<const ArgumentLayout*>* current_layout;  // the kernel's
    const ArgumentLayout* layout;  // that `arguments` are of; stale when it is not the current one
    const ArgumentSet* arguments;  // null: the site has none
    uint32_t generation;           // 0: empty
    uint32_t site;
    LaunchConstants constants;
  };

  // Null: not among them. Inline: the description stays in registers.
  [[gnu::always_inline]] const Entry* Find(const LaunchDescription& d, uint64_t call_hash,
                                           uint32_t generation,
                                           const TensorMaps& tensor_maps) const {
    for (const Entry& entry : sets_[SetOf(d, call_hash)].entries) {
      if (entry.function != d.function || entry.generation != generation ||
          entry.call_hash != call_hash || !SameConstants(entry.constants, d) ||
          entry.current_layout->load(std::memory_order_acquire) != entry.layout) {
        continue;
      }
      const bool same =
          !entry.layout->IsEvidence() ||
          (entry.arguments != nullptr &&
           entry.layout->Matches(d.kernel_params, d.extra, *entry.arguments, tensor_maps));
      if (same) return &entry;
    }
    return nullptr;
  }

  // In place of the oldest of its set.
  void Insert(const LaunchDescription& d, const Entry& entry) {
    Set& set = sets_[SetOf(d, entry.call_hash)];
    set.entries[set.next++ % kWays] = entry;
  }

 private:
  // A kernel that runs at several shapes on one grid, as persistent ones do, has them all in one
  // set.
  static constexpr size_t kSets = 128, kWays = 4;
  struct Set {
    Entry entries[kWays];
    uint32_t next;
  };
  static size_t SetOf(const LaunchDescription& d, uint64_t call_hash) {
    uint64_t mixed = reinterpret_cast<uintptr_t>(d.function) ^ call_hash;
    mixed ^=
        uint64_t{d.grid[0]} << 20 ^ uint64_t { d.grid[1] } << 36 ^ uint64_t { d.grid[2] } << 52;
    mixed ^= (uint64_t{d.ranges.process} << 32 | d.ranges.thread) * 0xd6e8feb86659fd93u;
    return (mixed * 0x9e3779b97f4a7c15u >> 40) % kSets;
  }

  Set sets_[kSets];
};

// What a thread launched lately and on which streams. Zeroed memory at first.
struct LaunchMemory {
  LaunchCache launches;
  StreamCache streams;
  static LaunchMemory* Get() { return ThreadCacheOf<LaunchMemory>::Get(); }  // null: no memory
  static LaunchMemory*& Slot() { return callback_thread.launches; }
};

}  // namespace hotproof::tracer
