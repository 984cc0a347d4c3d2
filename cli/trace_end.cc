#include "cli/trace_end.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/process_stat.h"
#include "trace/counter_file.h"
#include "trace/file_identity.h"
#include "trace/format.h"
#include "trace/segments.h"

namespace hotproof::cli {
namespace {

// Whether this counter file is the one that a process of that boot counted in, on this machine
// since then: not a copy, which may be of any moment. False also where it can't be told.
bool IsItsCounterFile(const std::string& path, const std::string& boot_id) {
  if (boot_id.empty() || boot_id != BootId()) return false;
  const int fd = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return false;
  trace::CountersHeader header{};
  trace::FileIdentity file;
  const bool read =
      pread(fd, &header, sizeof header, 0) == sizeof header && trace::Identify(fd, file);
  close(fd);
  if (!read || header.file_inode == 0 || header.file_inode != file.inode) return false;
  // A snapshot of a file system keeps the inode and its birth time, which is not known everywhere.
  const bool born_alike =
      header.file_born_ns == file.born_ns || header.file_born_ns == 0 || file.born_ns == 0;
  return header.file_device == file.device && born_alike;
}

}  // namespace

std::optional<bool> IsBeingWritten(const std::string& trace_path) {
  // Again where the trace went on in another file between open and flock.
  for (int tries = 0; tries < 5; ++tries) {
    const int fd = open(trace_path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return std::nullopt;
    // Shared: two readers do not take each other for the tracer.
    const int error = flock(fd, LOCK_SH | LOCK_NB) == 0 ? 0 : errno;
    struct stat opened, named;
    const bool same = fstat(fd, &opened) == 0 && stat(trace_path.c_str(), &named) == 0 &&
                      opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
    close(fd);
    if (error == EWOULDBLOCK) return true;
    if (error != 0) return std::nullopt;
    if (same) return false;
  }
  return std::nullopt;
}

bool IsRunning(const std::string& trace) {
  const auto file = trace::File::Open(trace);
  if (!file.ok()) return false;
  const auto start = trace::StartOf(**file);
  return start && IsSeenRunning(start->pid, start->process_start_ticks, start->boot_id);
}

bool IsEndSeen(const trace::TraceReader& reader, const std::vector<trace::Manifest>& manifests,
               bool closed) {
  const trace::Header& header = reader.tables().header;
  if (reader.tables().has_footer || header.format_major() == 0) return true;
  if (analyzers::HasEnded(manifests, header)) return true;
  const std::string counters = trace::CounterFileBeside(reader.path(), header);
  return closed && !counters.empty() && IsItsCounterFile(counters, header.boot_id());
}

}  // namespace hotproof::cli
