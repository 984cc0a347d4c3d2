// Tensor maps that the process encoded: 128 opaque bytes -> the dims they were made from. Encoding and
// finding are lock-free on any thread; the number of different shapes and of remembered encodings is
// bounded (old encodings are overwritten, then a launch that uses one shows no map).
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>

#include <xxhash.h>

namespace hotproof::tracer {

class TensorMaps {
 public:
  static constexpr uint32_t kBytes = 128;

  // `id`: of the interned description (>= 1).
  void Remember(const void* map_bytes, uint32_t id) {
    const uint64_t hash = Hash(map_bytes);
    entries_[hash % kEntries].store((hash & ~kIdMask) | id, std::memory_order_release);
    any_.store(true, std::memory_order_relaxed);
  }
  // The description's id, 0 if these bytes are no map that is remembered.
  uint32_t Find(const void* map_bytes) const {
    const uint64_t hash = Hash(map_bytes);
    const uint64_t entry = entries_[hash % kEntries].load(std::memory_order_acquire);
    return entry != 0 && (entry & ~kIdMask) == (hash & ~kIdMask)
               ? static_cast<uint32_t>(entry & kIdMask)
               : 0;
  }
  bool empty() const { return !any_.load(std::memory_order_relaxed); }

  static constexpr uint32_t kMaxDescriptions = 0xffff;

 private:
  // An entry holds the hash's upper 48 bits and a 16-bit id; its place gives 16 more bits of the hash.
  static constexpr uint64_t kIdMask = 0xffff;
  static constexpr size_t kEntries = 1 << 16;
  static uint64_t Hash(const void* bytes) { return XXH3_64bits(bytes, kBytes); }

  std::unique_ptr<std::atomic<uint64_t>[]> entries_{new std::atomic<uint64_t>[kEntries]()};
  std::atomic<bool> any_{false};
};

}  // namespace hotproof::tracer
