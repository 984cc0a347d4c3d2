// Numbers that tell a thread's cached answers from stale ones. A cache entry keeps the generation it was
// made in; an owner that takes a new one makes all entries of the old one miss. Unique in the process.
#pragma once

#include <atomic>
#include <cstdint>

namespace hotproof::tracer {

inline uint32_t NewGeneration() {
  static std::atomic<uint32_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace hotproof::tracer
