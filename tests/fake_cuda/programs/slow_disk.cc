// A disk that answers no more, for LD_PRELOAD: the first SLOW_DISK_AFTER calls of pwritev go to libc, the
// next never returns. Or one that is full: while the file FULL_DISK_FLAG is there nothing is written, and
// FULL_DISK_FLAG.refused is made.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <string>

extern "C" __attribute__((visibility("default"))) ssize_t pwritev(int fd, const iovec* parts, int count,
                                                                  off_t at) {
  static std::atomic<long> left{getenv("SLOW_DISK_AFTER") == nullptr ? 0 : atol(getenv("SLOW_DISK_AFTER"))};
  if (const char* flag = getenv("FULL_DISK_FLAG"); flag != nullptr) {
    if (access(flag, F_OK) == 0) {
      close(open((std::string(flag) + ".refused").c_str(), O_CREAT | O_WRONLY, 0600));
      return errno = ENOSPC, -1;
    }
  } else {
    while (left.fetch_sub(1) <= 0) pause();
  }
  static auto* const real = reinterpret_cast<decltype(&pwritev)>(dlsym(RTLD_NEXT, "pwritev"));
  return real(fd, parts, count, at);
}
