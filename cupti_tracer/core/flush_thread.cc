#include "cupti_tracer/core/flush_thread.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>

#include "cupti_tracer/core/guard.h"
#include "cupti_tracer/core/trace_file.h"

namespace hotproof::tracer {

std::unique_lock<std::mutex> LockBy(std::mutex& mutex, uint64_t deadline_ns) {
  std::unique_lock lock(mutex, std::defer_lock);
  while (!lock.try_lock() && MonotonicNs() < deadline_ns) usleep(1000);
  return lock;
}

bool FlushThread::Start() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the program's signals are not for our thread
  pthread_t thread;
  const bool started = pthread_create(&thread, nullptr, &FlushThread::Run, this) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (started) pthread_detach(thread);
  running_.store(started);
  return started;
}

void* FlushThread::Run(void* thread) {
  pthread_setname_np(pthread_self(), "hotproof");
  static_cast<FlushThread*>(thread)->Loop();
  return nullptr;
}

void FlushThread::Loop() {
  Guarded([this] { work_.begin(); });
  std::unique_lock lock(mutex_);
  while (!stop_requested_) {
    wake_.wait_for(lock, std::chrono::milliseconds(period_ms_));
    if (stop_requested_) break;
    lock.unlock();
    Guarded([this] { work_.flush(/*last=*/false); });
    lock.lock();
  }
  lock.unlock();
  Guarded([this] { work_.flush(/*last=*/true); });
  lock.lock();
  stopped_ = true;
  wake_.notify_all();
}

FlushThread::LastFlush FlushThread::Stop(uint64_t deadline_ns) {
  if (!running_.load()) return LastFlush::kDone;
  std::unique_lock lock = LockBy(mutex_, deadline_ns);
  if (!lock.owns_lock()) return LastFlush::kNotAsked;
  stop_requested_ = true;
  wake_.notify_all();
  const uint64_t now_ns = MonotonicNs();
  const std::chrono::nanoseconds left(now_ns < deadline_ns ? deadline_ns - now_ns : 0);
  return wake_.wait_for(lock, left, [this] { return stopped_; }) ? LastFlush::kDone
                                                                 : LastFlush::kNotInTime;
}

}  // namespace hotproof::tracer
