#include "cupti_tracer/core/rotation.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace hotproof::tracer {
namespace {

constexpr uint64_t kRetryNs = 60'000'000'000;
// Where only the folder is bounded: a bound is kept with files of this part of it, but not smaller
// ones.
constexpr uint64_t kFilesOfFolder = 16;
constexpr uint64_t kSmallestFileBytes = 1 << 20;

}  // namespace

Rotation::Rotation(const RotationLimits& limits, int folder_fd, std::string stem, uint64_t now_ns)
    : limits_(limits), folder_(folder_fd), stem_(std::move(stem)), began_ns_(now_ns) {
  if (limits_.folder_bytes != 0 && limits_.file_bytes == 0) {
    limits_.file_bytes = std::max(limits_.folder_bytes / kFilesOfFolder, kSmallestFileBytes);
  }
}

bool Rotation::Due(const trace::Writer& writer, uint64_t now_ns) const {
  // A file that holds nothing of its own is not closed: an idle server makes no files.
  const uint64_t bytes = writer.bytes_written();
  if (now_ns < not_before_ns_ || bytes <= head_bytes_) return false;
  // The first head is that of the file before and a little more: where it is large, a file goes on
  // until it holds as much of its own.
  const uint64_t wanted =
      std::max(limits_.file_bytes - std::min(limits_.file_bytes, head_bytes_), head_bytes_);
  return (limits_.file_bytes != 0 && bytes - head_bytes_ >= wanted) ||
         (limits_.file_ns != 0 && now_ns - began_ns_ >= limits_.file_ns);
}

bool Rotation::Fail(const char* what, int error) {
  why_ = std::string(what) + ": " + std::strerror(error);
  return false;
}

bool Rotation::Rotate(trace::Writer& writer, uint64_t now_ns) {
  not_before_ns_ = now_ns + kRetryNs;  // unless it succeeds
  const std::string new_name = stem_ + ".hpt.new";
  unlinkat(folder_, new_name.c_str(), 0);  // of a try that failed
  const int file =
      openat(folder_, new_name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return Fail("cannot create the next file", errno);
  why_.clear();
  const trace::WriteResult result = writer.StartFile(file, [&] { return Publish(new_name); });
  if (result != trace::WriteResult::kOk) {
    if (result == trace::WriteResult::kTooLarge) {
      why_ = "the tables of the trace have become too large to begin another file with";
      not_before_ns_ = UINT64_MAX;
    } else if (why_.empty()) {
      Fail("cannot write the next file", result == trace::WriteResult::kNoSpace ? ENOSPC
                                         : result == trace::WriteResult::kSlow  ? EAGAIN
                                                                                : EIO);
    }
    unlinkat(folder_, new_name.c_str(), 0);
    return false;
  }
  ++segment_;
  began_ns_ = now_ns;
  not_before_ns_ = 0;
  head_bytes_ = writer.bytes_written();
  return true;
}

// <stem>.hpt is there at every moment: first the present file gets its second name, then the new
// one takes its first.
bool Rotation::Publish(const std::string& new_name) {
  char number[32];
  std::snprintf(number, sizeof number, ".%06u.hps", segment_);
  const std::string name = stem_ + ".hpt", closed_name = stem_ + number;
  if (linkat(folder_, name.c_str(), folder_, closed_name.c_str(), 0) != 0) {
    return Fail("cannot give the closed file a second name", errno);  // a file system without links
  }
  if (renameat(folder_, new_name.c_str(), folder_, name.c_str()) == 0) return true;
  const int error = errno;
  unlinkat(folder_, closed_name.c_str(), 0);
  return Fail("cannot name the next file", error);
}

void Rotation::TrimFolder() const {
  if (limits_.folder_bytes == 0) return;
  const int fd = openat(folder_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const folder = fd < 0 ? nullptr : fdopendir(fd);
  if (folder == nullptr) {
    if (fd >= 0) close(fd);
    return;
  }
  struct Closed {
    int64_t seconds, nanoseconds;
    std::string name;
    uint64_t bytes;
    auto Age() const { return std::tie(seconds, nanoseconds, name); }
  };
  std::vector<Closed> closed;
  uint64_t bytes = 0;
  while (const dirent* entry = readdir(folder)) {
    struct stat status;
    if (fstatat(folder_, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(status.st_mode)) {
      continue;
    }
    // Of a process that rotates, or was killed as it did: soon gone, or no more than a head.
    if (std::string_view(entry->d_name).ends_with(".hpt.new")) continue;
    const auto on_disk = static_cast<uint64_t>(status.st_blocks) * 512;
    bytes += on_disk;
    // With a second link it is a trace's newest file, too: of one that was killed as it rotated.
    if (std::string_view(entry->d_name).ends_with(".hps") && status.st_nlink == 1) {
      closed.push_back({status.st_mtim.tv_sec, status.st_mtim.tv_nsec, entry->d_name, on_disk});
    }
  }
  closedir(folder);
  std::sort(closed.begin(), closed.end(),
            [](const Closed& a, const Closed& b) { return a.Age() < b.Age(); });
  for (const Closed& file : closed) {
    if (bytes <= limits_.folder_bytes) break;
    // Gone already: another process trims the same folder.
    if (unlinkat(folder_, file.name.c_str(), 0) == 0 || errno == ENOENT) bytes -= file.bytes;
  }
}

}  // namespace hotproof::tracer
