// Which file it is, whatever its name. Used by the tracer, which asks whether a file is still its own, and by
// readers, which ask whether it is a copy. Any thread.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cstdint>

namespace hotproof::trace {

struct FileIdentity {
  uint64_t device = 0, inode = 0;  // st_dev, st_ino
  int64_t born_ns = 0;  // an inode number is given again; 0: not known
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

// False, and `identity` as it was: fstat failed.
inline bool Identify(int fd, FileIdentity& identity) {
  struct statx more;
  if (statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &more) == 0) {
    identity = {makedev(more.stx_dev_major, more.stx_dev_minor), more.stx_ino, 0};
    if (more.stx_mask & STATX_BTIME) {
      identity.born_ns = more.stx_btime.tv_sec * int64_t{1'000'000'000} + more.stx_btime.tv_nsec;
    }
    return true;
  }
  struct stat status;  // there are sandboxes without statx
  if (fstat(fd, &status) != 0) return false;
  identity = {status.st_dev, status.st_ino, 0};
  return true;
}

}  // namespace hotproof::trace
