#include "trace/own_descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace hotproof::trace {

int OutOfTheWay(int fd) {
  if (fd < 0) return -1;
  int moved = -1;
  // The usual limit is 1,024 (RLIMIT_NOFILE).
  for (const int least : {512, 64, 3}) {
    moved = fcntl(fd, F_DUPFD_CLOEXEC, least);
    if (moved >= 0) break;
  }
  if (moved < 0 && fd > STDERR_FILENO) return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return moved;
}

OwnDescriptor::OwnDescriptor(int fd) : fd_(OutOfTheWay(fd)) {
  if (fd_ >= 0) Identify(fd_, identity_);
}

OwnDescriptor::OwnDescriptor(OwnDescriptor&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), identity_(other.identity_) {}

OwnDescriptor& OwnDescriptor::operator=(OwnDescriptor&& other) noexcept {
  if (this == &other) return *this;
  Close();
  fd_ = std::exchange(other.fd_, -1);
  identity_ = other.identity_;
  return *this;
}

int OwnDescriptor::Ours() const {
  FileIdentity now;
  return fd_ >= 0 && Identify(fd_, now) && now == identity_ ? fd_ : -1;
}

bool OwnDescriptor::TakeAgain(int fd) {
  OwnDescriptor again(fd);
  if (again.Ours() < 0 || again.identity_ != identity_) return false;
  *this = std::move(again);
  return true;
}

void OwnDescriptor::Close() {
  const int ours = Ours();
  fd_ = -1;
  if (ours >= 0) close(ours);
}

}  // namespace hotproof::trace
