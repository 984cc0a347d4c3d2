// The tracer's thread: calls work each period, and a last time when the process ends. Owned by
// Session, made once and never destroyed; Start and Stop are called on the program's threads.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

namespace hotproof::tracer {

class FlushThread {
 public:
  // Called on the thread: `begin` first, then `flush`, with true the last time. What they throw is
  // counted.
  struct Work {
    std::function<void()> begin;
    std::function<void(bool last)> flush;
  };
  FlushThread(unsigned period_ms, Work work) : period_ms_(period_ms), work_(std::move(work)) {}

  // False: there is no thread.
  bool Start();

  enum class LastFlush {
    kDone,       // or there is no thread
    kNotInTime,  // it goes on
    kNotAsked,   // by the deadline somebody held the lock, perhaps this very thread
  };
  // From exit(). `deadline_ns`: as of MonotonicNs().
  LastFlush Stop(uint64_t deadline_ns);

 private:
  static void* Run(void* thread);
  void Loop();

  const unsigned period_ms_;
  const Work work_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_requested_ = false, stopped_ = false;
  std::atomic<bool> running_{false};
};

// A lock that is held if it could be had by then. exit() may be a signal handler's, on a thread
// that holds the lock: only ever try.
std::unique_lock<std::mutex> LockBy(std::mutex& mutex, uint64_t deadline_ns);

}  // namespace hotproof::tracer
