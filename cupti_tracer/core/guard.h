// Where the outside world calls in: nothing may be thrown back into C frames. What could not be done
// (memory ran out) is remembered, and the flush thread says so.
#pragma once

#include <cxxabi.h>

#include <atomic>
#include <cstdint>
#include <utility>

namespace hotproof::tracer {

inline std::atomic<uint64_t>& LostWork() {
  static std::atomic<uint64_t> count{0};
  return count;
}

template <typename Work>
void Guarded(Work&& work) {
  try {
    std::forward<Work>(work)();
  } catch (const abi::__forced_unwind&) {
    throw;  // the thread is being cancelled
  } catch (...) {
    LostWork().fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace hotproof::tracer
