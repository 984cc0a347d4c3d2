#include "cli/heap.h"

#include <malloc.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>

namespace hotproof::cli {

void TakeMemoryFast() {
  // Buffers of a few MB are freed and taken again and again: kept, their pages fault once.
  constexpr int kKeptBytes = 32 << 20;  // the most that glibc takes for a threshold
  mallopt(M_TRIM_THRESHOLD, kKeptBytes);
  mallopt(M_MMAP_THRESHOLD, kKeptBytes);
  mallopt(M_TOP_PAD, 1 << 20);
  // A second thread's own heap would grow by one page a call.
  mallopt(M_ARENA_MAX, 1);
  // The heap's first part in pages of 2 MB, where the machine has such. Only what is used is taken.
  constexpr size_t kLargePageBytes = 2 << 20;
  constexpr size_t kHeapBytes = 24 << 20;
  if (void* const heap = std::malloc(kHeapBytes)) {
    const auto begin = reinterpret_cast<uintptr_t>(heap);
    const uintptr_t aligned = (begin + kLargePageBytes - 1) / kLargePageBytes * kLargePageBytes;
    madvise(reinterpret_cast<void*>(aligned), begin + kHeapBytes - aligned, MADV_HUGEPAGE);
    std::free(heap);
  }
}

}  // namespace hotproof::cli
