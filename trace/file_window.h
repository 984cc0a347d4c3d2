// Sequential view of a file by pread: no mapping, because a file that shrinks under a mapping ends
// the reader. One owner at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace hotproof::trace {

class File {
 public:
  // Errors: not found, no permission, a folder.
  static absl::StatusOr<std::unique_ptr<File>> Open(const std::string& path);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  uint64_t size_bytes() const { return size_bytes_; }  // when it was opened
  // Reads up to `bytes` at `offset`; fewer at the end of the file or on an I/O error. Any thread.
  size_t ReadAt(uint64_t offset, void* to, size_t bytes) const;

 private:
  File(int fd, uint64_t size_bytes) : fd_(fd), size_bytes_(size_bytes) {}
  int fd_;
  uint64_t size_bytes_;
};

class FileWindow {
 public:
  // How much is read at least: heads are small, and what follows most of them is passed over.
  static constexpr size_t kStepBytes = size_t{16} << 10;
  explicit FileWindow(const File& file) : file_(file) {}
  // The bytes [offset, offset + bytes), fewer at the end of the file. Valid until the next call.
  std::string_view At(uint64_t offset, size_t bytes);
  // All that is there of [offset, ...) without moving anything; what At gives where that is less
  // than `least`. For who goes through a file in small steps.
  std::string_view Rest(uint64_t offset, size_t least);
  // Read or moved within the buffer so far.
  uint64_t bytes_moved() const { return bytes_moved_; }

 private:
  const File& file_;
  std::vector<char> buffer_;
  uint64_t begin_ = 0;
  size_t size_ = 0;
  uint64_t bytes_moved_ = 0;
};

}  // namespace hotproof::trace
