// A disk that answers no more, for LD_PRELOAD: the first SLOW_DISK_AFTER calls of pwritev go to libc, the
// next never returns.
#include <dlfcn.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

extern "C" __attribute__((visibility("default"))) ssize_t pwritev(int fd, const iovec* parts, int count,
                                                                  off_t at) {
  static std::atomic<long> left{getenv("SLOW_DISK_AFTER") == nullptr ? 0 : atol(getenv("SLOW_DISK_AFTER"))};
  while (left.fetch_sub(1) <= 0) pause();
  static auto* const real = reinterpret_cast<decltype(&pwritev)>(dlsym(RTLD_NEXT, "pwritev"));
  return real(fd, parts, count, at);
}
