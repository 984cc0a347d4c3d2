#include "cupti_tracer/core/rotation.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
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
// A file that is begun has its name within a second.
constexpr uint64_t kAbandonedNs = 600'000'000'000;

uint64_t NsOf(const timespec& time) {
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}
uint64_t RealtimeOfFiles() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return NsOf(now);
}

constexpr uint64_t kBegun = 0;  // the number of a file that was begun and never got its name

struct ClosedFile {
  std::string trace;
  uint64_t number, time_ns;
  std::string name;
  uint64_t bytes;
};

// "<trace>.<number>.hps"
std::string TraceOf(std::string_view name) {
  name = name.substr(0, name.rfind('.'));
  return std::string(name.substr(0, name.rfind('.')));
}
uint64_t NumberOf(std::string_view name) {
  name = name.substr(0, name.rfind('.'));
  name = name.substr(name.rfind('.') + 1);
  uint64_t number = 0;
  std::from_chars(name.data(), name.data() + name.size(), number);
  return number;
}

// Oldest first, each trace's in their order: an earlier one is of no use without those behind it, and a
// clock that was set back gives later ones earlier times.
void SortByAge(std::vector<ClosedFile>& files) {
  const auto by = [&files](auto key) {
    std::sort(files.begin(), files.end(),
              [key](const ClosedFile& a, const ClosedFile& b) { return key(a) < key(b); });
  };
  by([](const ClosedFile& file) { return std::tie(file.trace, file.number); });
  for (size_t i = 1; i < files.size(); ++i) {
    if (files[i].trace != files[i - 1].trace || files[i - 1].number == kBegun) continue;
    files[i].time_ns = std::max(files[i].time_ns, files[i - 1].time_ns);
  }
  by([](const ClosedFile& file) { return std::tie(file.time_ns, file.trace, file.number); });
}

}  // namespace

Rotation::Rotation(const RotationLimits& limits, const trace::OwnDescriptor& folder, std::string stem,
                   uint64_t now_ns)
    : limits_(limits), folder_(folder), stem_(std::move(stem)), began_ns_(now_ns) {
  if (limits_.folder_bytes != 0 && limits_.file_bytes == 0) {
    limits_.file_bytes = std::max(limits_.folder_bytes / kFilesOfFolder, kSmallestFileBytes);
  }
  struct stat status;
  if (fstatat(folder_.Ours(), file_name_.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
    device_ = status.st_dev;
    inode_ = status.st_ino;
  }
}

bool Rotation::Due(const trace::Writer& writer, uint64_t now_ns) const {
  // A file that holds nothing of its own is not closed: an idle server makes no files.
  const uint64_t bytes = writer.bytes_written();
  if (!limits_.any() || !MayTry(now_ns) || bytes <= head_bytes_) return false;
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

bool Rotation::Rotate(trace::Writer& writer, uint64_t now_ns) { return Begin(writer, now_ns, true); }

bool Rotation::BeginAgain(trace::Writer& writer, uint64_t now_ns) {
  return Begin(writer, now_ns, false);
}

bool Rotation::FileStands(const trace::Writer& writer) const {
  if (writer.file_cut_off()) return false;
  const uint64_t bytes = writer.bytes_written();  // before the file is looked at: it grows
  struct stat status;
  if (fstatat(folder_.Ours(), file_name_.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno != ENOENT && errno != ENOTDIR;
  }
  // There are file systems where a file's inode number does not stay.
  return (status.st_dev == device_ && status.st_ino == inode_) ||
         static_cast<uint64_t>(status.st_size) >= bytes;
}

bool Rotation::Begin(trace::Writer& writer, uint64_t now_ns, bool old_file_stands) {
  not_before_ns_ = now_ns + kRetryNs;  // unless it succeeds
  const std::string new_name = stem_ + ".hpt.new";
  unlinkat(folder_.Ours(), new_name.c_str(), 0);  // of a try that failed
  const int file =
      openat(folder_.Ours(), new_name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return Fail("cannot create the next file", errno);
  struct stat status{};
  fstat(file, &status);
  why_.clear();
  const trace::WriteResult result =
      writer.StartFile(file, [&] { return Publish(new_name, old_file_stands); });
  if (result != trace::WriteResult::kOk) {
    if (result == trace::WriteResult::kTooLarge) {
      why_ = "the tables of the trace have become too large to begin another file with";
      not_before_ns_ = UINT64_MAX;
    } else if (why_.empty()) {
      Fail("cannot write the next file", result == trace::WriteResult::kNoSpace ? ENOSPC
                                         : result == trace::WriteResult::kSlow  ? EAGAIN
                                                                                : EIO);
    }
    unlinkat(folder_.Ours(), new_name.c_str(), 0);
    return false;
  }
  ++segment_;
  began_ns_ = now_ns;
  not_before_ns_ = 0;
  head_bytes_ = writer.bytes_written();
  device_ = status.st_dev;
  inode_ = status.st_ino;
  return true;
}

// <stem>.hpt is there at every moment: first the present file gets its second name, then the new
// one takes its first. Where files have one name alone the highest closed one speaks for the trace
// between the two.
bool Rotation::Publish(const std::string& new_name, bool old_file_stands) {
  char number[32];
  std::snprintf(number, sizeof number, ".%06u.hps", segment_);
  const std::string name = stem_ + ".hpt", closed_name = stem_ + number;
  bool moved = false;
  if (old_file_stands && !CloseOld(name, closed_name, moved)) return false;
  if (renameat(folder_.Ours(), new_name.c_str(), folder_.Ours(), name.c_str()) == 0) return true;
  const int error = errno;
  if (moved) {
    renameat(folder_.Ours(), closed_name.c_str(), folder_.Ours(), name.c_str());
  } else if (old_file_stands) {
    unlinkat(folder_.Ours(), closed_name.c_str(), 0);
  }
  return Fail("cannot name the next file", error);
}

// `moved`: it has its second name alone.
bool Rotation::CloseOld(const std::string& name, const std::string& closed_name, bool& moved) {
  if (linkat(folder_.Ours(), name.c_str(), folder_.Ours(), closed_name.c_str(), 0) == 0) return true;
  const int error = errno;
  struct stat status;
  const bool seen = fstatat(folder_.Ours(), closed_name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  const bool taken = seen || errno != ENOENT;
  // By itself: a try that failed could not take the name away again.
  if (seen && status.st_dev == device_ && status.st_ino == inode_) return true;
  if (taken || (error != EPERM && error != EOPNOTSUPP && error != ENOSYS && error != EMLINK)) {
    return Fail("cannot give the closed file a second name", error);
  }
  moved = renameat(folder_.Ours(), name.c_str(), folder_.Ours(), closed_name.c_str()) == 0;
  return moved || Fail("cannot rename the closed file", errno);
}

void Rotation::TrimFolder() const {
  if (limits_.folder_bytes == 0) return;
  const int fd =
      trace::OutOfTheWay(openat(folder_.Ours(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DIR* const folder = fd < 0 ? nullptr : fdopendir(fd);
  if (folder == nullptr) {
    if (fd >= 0) close(fd);
    return;
  }
  std::vector<ClosedFile> closed;
  uint64_t bytes = 0;
  while (const dirent* entry = readdir(folder)) {
    struct stat status;
    if (fstatat(folder_.Ours(), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(status.st_mode)) {
      continue;
    }
    const std::string_view name = entry->d_name;
    const uint64_t time_ns = NsOf(status.st_mtim);
    // Of a process that is just rotating, or was killed as it did: then no more than a head, and never read.
    const bool begun = name.ends_with(".hpt.new");
    if (begun && RealtimeOfFiles() < time_ns + kAbandonedNs) continue;
    const auto on_disk = static_cast<uint64_t>(status.st_blocks) * 512;
    bytes += on_disk;
    // With a second link it is a trace's newest file, too: of one that was killed as it rotated.
    if (begun || (name.ends_with(".hps") && status.st_nlink == 1)) {
      closed.push_back({TraceOf(name), begun ? kBegun : NumberOf(name), time_ns, entry->d_name, on_disk});
    }
  }
  closedir(folder);
  SortByAge(closed);
  for (const ClosedFile& file : closed) {
    if (bytes <= limits_.folder_bytes) break;
    // Gone already: another process trims the same folder.
    if (unlinkat(folder_.Ours(), file.name.c_str(), 0) == 0 || errno == ENOENT) bytes -= file.bytes;
  }
}

}  // namespace hotproof::tracer
