// Where the outside world calls in: nothing may be thrown back into C frames. What could not be done
// (memory ran out) is remembered, and the flush thread says so.
#pragma once

#include <pthread.h>

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
  // A cancelled thread unwinds through us: not while we hold a lock, and never into catch (...).
  int cancel_state = PTHREAD_CANCEL_ENABLE;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
  try {
    std::forward<Work>(work)();
  } catch (...) {
    LostWork().fetch_add(1, std::memory_order_relaxed);
  }
  pthread_setcancelstate(cancel_state, nullptr);
}

}  // namespace hotproof::tracer
