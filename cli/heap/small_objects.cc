// operator new and delete of the program. A report of a short trace makes 70,000 small objects
// (messages, strings, rows) and frees them within milliseconds: in lists by size, a thread's own,
// that takes a third of malloc's time, and no lock once there are threads. Larger ones are
// malloc's.
//
// Memory comes in spans of objects of one size, so a pointer's span tells its size. What a thread
// has when it ends goes to the others. Nothing is given back to the system: tables do not shrink.
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>

#include "cli/heap/heap.h"

namespace hotproof::cli {
namespace {

constexpr size_t kStepBytes = 16;  // sizes are multiples, and objects are aligned to it
constexpr size_t kLargestBytes = 1024;
constexpr size_t kSizes = kLargestBytes / kStepBytes + 1;
constexpr size_t kSpanBytes = size_t{16} << 10;
constexpr size_t kSpans = size_t{1} << 14;  // 256 MiB of addresses; then all is malloc's
constexpr size_t kLargePageBytes = size_t{2} << 20;

struct FreeObject {
  FreeObject* next;
};

// Of one size: what was freed, and the rest of the span that was taken last.
struct Stock {
  FreeObject* free = nullptr;
  char *at = nullptr, *end = nullptr;

  void Put(void* object) {
    auto* const freed = static_cast<FreeObject*>(object);
    freed->next = free;
    free = freed;
  }
};

char* region = nullptr;                 // null: not had yet, or not to be had
std::array<uint8_t, kSpans> span_size;  // in steps
std::atomic<size_t> spans_taken = 0;
thread_local std::array<Stock, kSizes> stocks;

std::mutex left_mutex;
std::array<FreeObject*, kSizes> left_by_threads;  // guarded by left_mutex

// Made when a thread first runs out of something, so that it ends behind what else the thread has.
struct Testament {
  ~Testament() {
    const std::lock_guard lock(left_mutex);
    for (size_t size = 1; size < kSizes; ++size) {
      Stock& stock = stocks[size];
      for (; stock.at != stock.end; stock.at += size * kStepBytes) stock.Put(stock.at);
      while (FreeObject* const object = stock.free) {
        stock.free = object->next;
        object->next = left_by_threads[size];
        left_by_threads[size] = object;
      }
    }
  }
};

char* TakeRegion() {
  constexpr size_t kBytes = kSpans * kSpanBytes + kLargePageBytes;
  constexpr size_t kInLargePages = size_t{8} << 20;
  void* const taken = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (taken == MAP_FAILED) return nullptr;
  const uintptr_t aligned = (reinterpret_cast<uintptr_t>(taken) + kLargePageBytes - 1) /
                            kLargePageBytes * kLargePageBytes;
  char* const begin = reinterpret_cast<char*>(aligned);
  madvise(begin, kInLargePages, MADV_HUGEPAGE);
  return begin;
}

void* Malloc(size_t bytes) {
  if (void* const object = std::malloc(bytes)) return object;
  throw std::bad_alloc();
}

// Where the thread has none of this size.
__attribute__((noinline)) void* TakeMore(size_t size) {
  thread_local Testament testament;
  static const bool once = ((region = TakeRegion()), true);
  static_cast<void>(once);
  static_cast<void>(&testament);
  Stock& stock = stocks[size];
  {
    const std::lock_guard lock(left_mutex);
    std::swap(stock.free, left_by_threads[size]);
  }
  const size_t bytes = size * kStepBytes;
  if (FreeObject* const object = stock.free) {
    stock.free = object->next;
    return object;
  }
  if (region == nullptr || spans_taken.load(std::memory_order_relaxed) >= kSpans)
    return Malloc(bytes);
  const size_t span = spans_taken.fetch_add(1, std::memory_order_relaxed);
  if (span >= kSpans) return Malloc(bytes);
  span_size[span] = static_cast<uint8_t>(size);
  char* const object = region + span * kSpanBytes;
  stock.at = object + bytes;
  stock.end = object + kSpanBytes / bytes * bytes;
  return object;
}

}  // namespace

size_t SmallObjectBytes() {
  return std::min(spans_taken.load(std::memory_order_relaxed), kSpans) * kSpanBytes;
}

}  // namespace hotproof::cli

void* operator new(size_t bytes) {
  using namespace hotproof::cli;
  if (bytes > kLargestBytes) return Malloc(bytes);
  const size_t size = bytes == 0 ? 1 : (bytes + kStepBytes - 1) / kStepBytes;
  Stock& stock = stocks[size];
  if (FreeObject* const object = stock.free) {
    stock.free = object->next;
    return object;
  }
  if (stock.at == stock.end) return TakeMore(size);
  char* const object = stock.at;
  stock.at += size * kStepBytes;
  return object;
}

void operator delete(void* object) noexcept {
  using namespace hotproof::cli;
  // One comparison: what lies below the region wraps. Without a region all is malloc's.
  const auto offset = reinterpret_cast<uintptr_t>(object) - reinterpret_cast<uintptr_t>(region);
  if (region == nullptr || offset >= kSpans * kSpanBytes) return std::free(object);
  stocks[span_size[offset / kSpanBytes]].Put(object);
}

void operator delete(void* object, size_t) noexcept { operator delete(object); }
