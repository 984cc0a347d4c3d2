// Not compiled with coverage itself: what it defines is what counts.
#include "tests/catalog/work_count.h"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {
thread_local uint64_t g_work = 0;
}  // namespace

namespace hotproof::catalog {
uint64_t WorkDone() { return g_work; }
}  // namespace hotproof::catalog

extern "C" {

void __sanitizer_cov_trace_pc() { ++g_work; }

// The linker's --wrap=NAME gives these the calls to NAME.
void* __real_memcpy(void* to, const void* from, size_t n);
void* __real_memmove(void* to, const void* from, size_t n);
void* __real_memset(void* to, int c, size_t n);
int __real_memcmp(const void* a, const void* b, size_t n);
void* __real_memchr(const void* text, int c, size_t n);
size_t __real_strlen(const char* text);

void* __wrap_memcpy(void* to, const void* from, size_t n) {
  g_work += n;
  return __real_memcpy(to, from, n);
}
void* __wrap_memmove(void* to, const void* from, size_t n) {
  g_work += n;
  return __real_memmove(to, from, n);
}
void* __wrap_memset(void* to, int c, size_t n) {
  g_work += n;
  return __real_memset(to, c, n);
}
int __wrap_memcmp(const void* a, const void* b, size_t n) {
  const auto* x = static_cast<const unsigned char*>(a);
  const auto* y = static_cast<const unsigned char*>(b);
  size_t same = 0;
  while (same < n && x[same] == y[same]) ++same;
  g_work += same;
  return __real_memcmp(a, b, n);
}
void* __wrap_memchr(const void* text, int c, size_t n) {
  void* const found = __real_memchr(text, c, n);
  g_work += found == nullptr
                ? n
                : static_cast<size_t>(static_cast<char*>(found) - static_cast<const char*>(text));
  return found;
}
size_t __wrap_strlen(const char* text) {
  const size_t n = __real_strlen(text);
  g_work += n;
  return n;
}
}

void* operator new(size_t size) {
  g_work += size;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  g_work += size;
  return std::malloc(size == 0 ? 1 : size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
