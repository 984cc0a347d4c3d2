#include "trace/file_window.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace hotproof::trace {

absl::StatusOr<std::unique_ptr<File>> File::Open(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a FIFO must not block
  if (fd < 0) {
    const int error = errno;
    return absl::ErrnoToStatus(error, absl::StrCat(path, ": cannot be opened"));
  }
  struct stat status;
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(fd);
    return absl::InvalidArgumentError(absl::StrCat(path, ": not a regular file"));
  }
  return std::unique_ptr<File>(new File(fd, static_cast<uint64_t>(status.st_size)));
}

File::~File() { close(fd_); }

size_t File::ReadAt(uint64_t offset, void* to, size_t bytes) const {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t got =
        pread(fd_, static_cast<char*>(to) + done, bytes - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

std::string_view FileWindow::At(uint64_t offset, size_t bytes) {
  if (offset >= file_.size_bytes()) return {};
  bytes = std::min<uint64_t>(bytes, file_.size_bytes() - offset);
  if (offset < begin_ || offset + bytes > begin_ + size_) {
    size_t kept = 0;
    if (offset >= begin_ && offset < begin_ + size_) {
      kept = begin_ + size_ - offset;
      std::memmove(buffer_.data(), buffer_.data() + (offset - begin_), kept);
    }
    const size_t want =
        std::min<uint64_t>(std::max(bytes, kStepBytes), file_.size_bytes() - offset);
    if (buffer_.size() < want) buffer_.resize(want);
    if (kept < want) kept += file_.ReadAt(offset + kept, buffer_.data() + kept, want - kept);
    bytes_moved_ += kept;
    begin_ = offset;
    size_ = kept;
  }
  const size_t skip = offset - begin_;
  return {buffer_.data() + skip, std::min(bytes, size_ - skip)};
}

std::string_view FileWindow::Rest(uint64_t offset, size_t least) {
  if (offset >= file_.size_bytes()) return {};
  least = std::min<uint64_t>(least, file_.size_bytes() - offset);
  if (offset < begin_ || offset + least > begin_ + size_)
    return At(offset, std::max(least, kStepBytes));
  const size_t skip = offset - begin_;
  return {buffer_.data() + skip, size_ - skip};
}

}  // namespace hotproof::trace
