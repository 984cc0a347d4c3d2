// Activity records. The model, each rule seen on the H200 (docs/measurements/transcripts):
//  - a thread's first record asks for a buffer, inside the call that makes the work, on that
//  thread;
//    each thread fills buffers of its own;
//  - buffers are handed over on CUPTI's own thread, with no context and a meaningless stream id,
//  also
//    when the client flushes: the flushing thread waits for it;
//  - a full buffer, and that of a thread that ends, is handed over when its last record is
//  finished;
//  - FlushAll(0) withholds a buffer with an unfinished record, a forced flush waits for it;
//  - kernels in the body of a conditional node come with a forced flush alone, in a buffer of their
//  own;
//  - a forked child has no such thread: a flush there never returns.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/fake_cuda/cupti/cupti.h"
#include "tests/fake_cuda/faults.h"

namespace fake_cuda {
namespace {

struct Buffer {
  uint8_t* data = nullptr;
  size_t size = 0, used = 0;
  uint64_t finished_ns = 0;  // when the last of its records ends
};

struct ThreadBuffer {
  std::mutex mutex;  // the owner adds, CUPTI's thread takes away
  Buffer buffer;
};

struct Flush {
  bool forced = false, done = false;
};

// Never destroyed: CUPTI's thread works until the process is gone.
struct State {
  std::atomic<CUpti_BuffersCallbackRequestFunc> request{nullptr};
  std::atomic<CUpti_BuffersCallbackCompleteFunc> complete{nullptr};
  std::atomic<bool> enabled[CUPTI_ACTIVITY_KIND_COUNT] = {};
  std::atomic<bool> all_synchronizations{true};  // queries that found work unfinished, too
  std::atomic<uint64_t> dropped{0};
  std::mutex mutex;
  std::condition_variable wake, flushed;
  std::vector<std::shared_ptr<ThreadBuffer>> threads;
  std::deque<Buffer> full;
  std::deque<std::shared_ptr<Flush>> flushes;
  std::vector<Work> bodies;  // conditional bodies' kernels
  std::atomic<bool> worker_started{false};
};
State& S() {
  static auto& state = *new State;
  return state;
}

void SleepUntil(uint64_t ns) {
  while (Driver()->now_ns() < ns) usleep(20);
}

void Append(Buffer& buffer, const Work& work) {
  uint8_t* at = buffer.data + buffer.used;
  WriteRecord(work, at);
  buffer.used += RecordBytes(work.kind);
  buffer.finished_ns = std::max(buffer.finished_ns, work.end_ns);
}

Buffer RequestBuffer() {
  Buffer buffer;
  size_t max_records = 0;
  S().request.load()(&buffer.data, &buffer.size, &max_records);
  if (buffer.data == nullptr || buffer.size < sizeof(CUpti_ActivityKernel10)) {
    // Before 12.9 the real one crashes here: a client must never do this.
    fprintf(stderr, "fake_cuda: the client gave no activity buffer\n");
    _exit(72);
  }
  return buffer;
}

// Another tool's buffer: memory that ends the process when it is touched.
void CompleteForeignBuffer() {
  static std::atomic<bool> done{false};
  if (!GetFaults().foreign_buffer || done.exchange(true)) return;
  constexpr size_t kPage = 4096;
  auto* pages = static_cast<uint8_t*>(
      mmap(nullptr, 3 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  S().complete.load()(nullptr, 0, pages + kPage, kPage, kPage);
}

void Complete(const Buffer& buffer) {
  CompleteForeignBuffer();
  S().complete.load()(nullptr, 0xdeadbeef, buffer.data, buffer.size, buffer.used);
}

// Takes the buffers that this flush may hand over; unfinished ones stay unless forced.
std::vector<Buffer> TakeBuffers(bool forced) {
  std::vector<Buffer> taken;
  std::vector<std::shared_ptr<ThreadBuffer>> threads;
  {
    std::lock_guard<std::mutex> lock(S().mutex);
    threads = S().threads;
    while (!S().full.empty()) {
      taken.push_back(S().full.front());
      S().full.pop_front();
    }
  }
  const uint64_t now = Driver()->now_ns();
  for (const auto& thread : threads) {
    std::lock_guard<std::mutex> lock(thread->mutex);
    Buffer& buffer = thread->buffer;
    if (buffer.data == nullptr || buffer.used == 0) continue;
    if (!forced && buffer.finished_ns > now) continue;
    taken.push_back(buffer);
    buffer = Buffer();
  }
  return taken;
}

void DoFlush(bool forced) {
  std::vector<Work> bodies;
  if (forced) {
    std::lock_guard<std::mutex> lock(S().mutex);
    bodies.swap(S().bodies);
  }
  Buffer body_buffer;
  std::vector<Buffer> body_buffers;
  for (const Work& work : bodies) {
    if (body_buffer.data == nullptr ||
        body_buffer.used + RecordBytes(work.kind) > body_buffer.size) {
      if (body_buffer.data != nullptr) body_buffers.push_back(body_buffer);
      body_buffer = RequestBuffer();
    }
    Append(body_buffer, work);
  }
  std::vector<Buffer> buffers = TakeBuffers(forced);
  buffers.insert(buffers.end(), body_buffers.begin(), body_buffers.end());
  if (body_buffer.data != nullptr) buffers.push_back(body_buffer);
  for (const Buffer& buffer : buffers) {
    SleepUntil(buffer.finished_ns);
    Complete(buffer);
  }
}

void Work_() {
  std::unique_lock<std::mutex> lock(S().mutex);
  for (;;) {
    S().wake.wait(lock, [] { return !S().full.empty() || !S().flushes.empty(); });
    if (!S().flushes.empty()) {
      const std::shared_ptr<Flush> flush = S().flushes.front();
      S().flushes.pop_front();
      lock.unlock();
      DoFlush(flush->forced);
      lock.lock();
      flush->done = true;
      S().flushed.notify_all();
      continue;
    }
    const Buffer buffer = S().full.front();
    S().full.pop_front();
    lock.unlock();
    SleepUntil(buffer.finished_ns);
    Complete(buffer);
    lock.lock();
  }
}

// Hands the buffer of a thread over when the thread ends; the main thread's waits for a flush.
struct ThreadEnd {
  std::shared_ptr<ThreadBuffer> mine;
  ~ThreadEnd() {
    if (mine == nullptr || gettid() == getpid()) return;
    Buffer last;
    {
      std::lock_guard<std::mutex> lock(mine->mutex);
      std::swap(last, mine->buffer);
    }
    std::lock_guard<std::mutex> lock(S().mutex);
    std::erase(S().threads, mine);
    if (last.data == nullptr) return;
    S().full.push_back(last);
    S().wake.notify_one();
  }
};

ThreadBuffer& ThisThread() {
  static thread_local ThreadEnd thread;
  if (thread.mine == nullptr) {
    thread.mine = std::make_shared<ThreadBuffer>();
    std::lock_guard<std::mutex> lock(S().mutex);
    S().threads.push_back(thread.mine);
  }
  return *thread.mine;
}

// Every k-th, counted over all threads.
bool Every(uint64_t k, std::atomic<uint64_t>& counter) {
  return k != 0 && (counter.fetch_add(1) + 1) % k == 0;
}

// The faults that change or swallow a kernel's record; false: swallowed.
bool ApplyFaults(Work& work) {
  static std::atomic<uint64_t> dropped, lost, zero, late;
  static std::atomic<uint32_t> last_correlation{0};
  if (work.kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) return true;
  const Faults& faults = GetFaults();
  const uint32_t correlation = work.correlation_id, before = last_correlation.exchange(correlation);
  if (Every(faults.dropped_records, dropped)) {
    S().dropped.fetch_add(1);
    return false;
  }
  if (Every(faults.lost_records, lost)) return false;
  if (Every(faults.zero_timestamps, zero)) work.start_ns = work.end_ns = 0;
  if (Every(faults.late_correlation, late) && before != 0) work.correlation_id = before;
  return true;
}

}  // namespace

void OnWork(const Work& asked) {
  State& s = S();
  if (GaveUp() || !s.enabled[asked.kind].load(std::memory_order_relaxed)) return;
  if (s.request.load() == nullptr || s.complete.load() == nullptr) return;
  if (asked.kind == CUPTI_ACTIVITY_KIND_SYNCHRONIZATION && asked.result != CUDA_SUCCESS &&
      !s.all_synchronizations.load())
    return;
  Work work = asked;
  if (!ApplyFaults(work)) return;
  if (work.conditional_body) {
    std::lock_guard<std::mutex> lock(s.mutex);
    s.bodies.push_back(work);
    return;
  }
  ThreadBuffer& mine = ThisThread();
  Buffer full;
  bool need;
  {
    std::lock_guard<std::mutex> lock(mine.mutex);
    if (mine.buffer.data != nullptr &&
        mine.buffer.used + RecordBytes(work.kind) > mine.buffer.size) {
      full = mine.buffer;
      mine.buffer = Buffer();
    }
    need = mine.buffer.data == nullptr;
    if (!need) Append(mine.buffer, work);
  }
  if (full.data != nullptr) {
    std::lock_guard<std::mutex> lock(s.mutex);
    s.full.push_back(full);
    s.wake.notify_one();
  }
  if (!need) return;
  Buffer fresh = RequestBuffer();
  Append(fresh, work);
  std::lock_guard<std::mutex> lock(mine.mutex);
  mine.buffer = fresh;
}

void StopActivities() {
  for (auto& enabled : S().enabled) enabled.store(false);
}

}  // namespace fake_cuda

using namespace fake_cuda;

FAKE_EXPORT CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                                       CUpti_BuffersCallbackCompleteFunc complete) {
  if (request == nullptr || complete == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  S().request.store(request);
  S().complete.store(complete);
  if (!S().worker_started.exchange(true)) std::thread(Work_).detach();
  return CUPTI_SUCCESS;
}

FAKE_EXPORT CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  if (kind <= CUPTI_ACTIVITY_KIND_INVALID || kind >= CUPTI_ACTIVITY_KIND_COUNT)
    return CUPTI_ERROR_INVALID_KIND;
  if (GaveUp()) return CUPTI_ERROR_NOT_INITIALIZED;
  S().enabled[kind].store(true);
  Attach();
  return CUPTI_SUCCESS;
}

FAKE_EXPORT CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  if (kind <= CUPTI_ACTIVITY_KIND_INVALID || kind >= CUPTI_ACTIVITY_KIND_COUNT)
    return CUPTI_ERROR_INVALID_KIND;
  if (GetFaults().disable_deadlocks) _exit(73);
  S().enabled[kind].store(false);
  return CUPTI_SUCCESS;
}

FAKE_EXPORT CUptiResult cuptiActivityEnableContext(CUcontext, CUpti_ActivityKind kind) {
  return cuptiActivityEnable(kind);
}

FAKE_EXPORT CUptiResult cuptiActivityEnableAllSyncRecords(uint8_t enable) {
  S().all_synchronizations.store(enable != 0);
  return CUPTI_SUCCESS;
}

FAKE_EXPORT CUptiResult cuptiActivityFlushAll(uint32_t flag) {
  if (S().complete.load() == nullptr || Driver() == nullptr || GaveUp()) return CUPTI_SUCCESS;
  auto flush = std::make_shared<Flush>();
  flush->forced = (flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != 0;
  std::unique_lock<std::mutex> lock(S().mutex);
  S().flushes.push_back(flush);
  S().wake.notify_one();
  S().flushed.wait(lock, [&] { return flush->done; });
  return CUPTI_SUCCESS;
}

// Full buffers are handed over as soon as they are finished here: a period adds nothing.
FAKE_EXPORT CUptiResult cuptiActivityFlushPeriod(uint32_t) { return CUPTI_SUCCESS; }

FAKE_EXPORT CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid_size,
                                                   CUpti_Activity** record) {
  uint8_t* next = buffer;
  if (*record != nullptr) next = reinterpret_cast<uint8_t*>(*record) + RecordBytes((*record)->kind);
  if (next >= buffer + valid_size) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}

FAKE_EXPORT CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  *dropped = S().dropped.exchange(0);
  return CUPTI_SUCCESS;
}

FAKE_EXPORT CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute, size_t*, void*) {
  return CUPTI_SUCCESS;
}

FAKE_EXPORT CUptiResult cuptiActivityGetAttribute(CUpti_ActivityAttribute attribute, size_t* size,
                                                  void* value) {
  switch (attribute) {  // the H200's defaults
    case CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE:
      *static_cast<size_t*>(value) = 3200000;
      return CUPTI_SUCCESS;
    case CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT:
      *static_cast<size_t*>(value) = 250;
      return CUPTI_SUCCESS;
    case CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER:
      *static_cast<uint8_t*>(value) = 1;
      *size = 1;
      return CUPTI_SUCCESS;
    default:
      return CUPTI_ERROR_NOT_SUPPORTED;
  }
}
