#include "cupti_tracer/core/trace_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace hotproof::tracer {
namespace {

// A vLLM server start to end used 1,946 sites (docs/measurements/).
constexpr uint32_t kSiteSlots = 1 << 16;
constexpr uint32_t kGraphSlots = 1 << 14;

uint64_t ReadClock(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000000000u + static_cast<uint64_t>(time.tv_nsec);
}

}  // namespace

uint64_t RealtimeNs() { return ReadClock(CLOCK_REALTIME); }
uint64_t MonotonicNs() { return ReadClock(CLOCK_MONOTONIC); }

TraceFile::TraceFile(const std::string& directory, const std::string& stem)
    : path_(directory + "/" + stem + ".hpt"), counters_name_(stem + ".hpc") {
  if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    error_ = "cannot make folder " + directory + ": " + std::strerror(errno);
    return;
  }
  folder_ = open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (folder_ < 0) {
    error_ = "cannot open folder " + directory + ": " + std::strerror(errno);
    return;
  }
  const int file = openat(folder_, (stem + ".hpt").c_str(),
                          O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file >= 0) {
    writer_ = std::make_unique<trace::Writer>(file);
  } else {
    error_ = "cannot create " + path_ + ": " + std::strerror(errno);
  }
}

TraceFile::~TraceFile() {
  if (folder_ >= 0) close(folder_);
}

void TraceFile::OpenCounters(uint32_t pid, uint64_t process_start_ticks) {
  std::lock_guard lock(mutex_);
  counters_ = std::make_unique<trace::CounterTable>(folder_, counters_name_.c_str(), kSiteSlots,
                                                    kGraphSlots, pid, process_start_ticks);
}

std::string TraceFile::counters_file_name() const {
  return counters_ != nullptr && counters_->on_disk() ? counters_name_ : "";
}

bool TraceFile::NoteLocked(trace::WriteResult result) {
  if (result == trace::WriteResult::kOk) return true;
  disk_failed_.store(true);
  // Tried again with every later flush, so it is in the trace as soon as there is room.
  CountProblemLocked(ProblemKind::kDiskFull,
                     result == trace::WriteResult::kNoSpace ? "no space"
                     : result == trace::WriteResult::kSlow  ? "too slow"
                                                            : "write error");
  return false;
}

void TraceFile::FlushTablesLocked() {
  if (writer_ != nullptr) NoteLocked(writer_->FlushTables(CounterViewNow()));
}

bool TraceFile::FlushLocked() {
  if (writer_ == nullptr) return true;
  WriteProblemCountsLocked();
  const bool ok = NoteLocked(writer_->Flush(CounterViewNow()));
  if (counters_ != nullptr) counters_->header()->records_written = writer_->records_written();
  return ok;
}

bool TraceFile::Flush() {
  bool ok, tried = false;
  {
    std::lock_guard lock(mutex_);
    ok = FlushLocked();
    if (ok) tried = RotateIfDueLocked();
  }
  if (tried) rotation_->TrimFolder();
  return ok;
}

void TraceFile::SetRotation(const RotationLimits& limits) {
  std::lock_guard lock(mutex_);
  if (writer_ == nullptr || !limits.any()) return;
  const std::string name = path_.substr(path_.rfind('/') + 1);
  rotation_ = std::make_unique<Rotation>(limits, folder_, name.substr(0, name.rfind('.')), MonotonicNs());
  writer_->KeepForNextFile();
}

bool TraceFile::RotateIfDueLocked() {
  const uint64_t now_ns = MonotonicNs();
  if (rotation_ == nullptr || !rotation_->Due(*writer_, now_ns)) return false;
  if (!rotation_->Rotate(*writer_, now_ns)) {
    CountProblemLocked(ProblemKind::kRotationFailed, rotation_->why());
  }
  return true;
}

void TraceFile::SnapshotLocked(SnapshotReason reason, uint64_t correlation_id, uint32_t graph_id,
                               std::string_view label) {
  if (writer_ == nullptr) return;
  writer_->AddSnapshot({.reason = static_cast<uint32_t>(reason),
                        .label = label,
                        .realtime_ns = RealtimeNs(),
                        .correlation_id = correlation_id,
                        .graph_id = graph_id},
                       CounterViewNow());
  FlushTablesLocked();
}

void TraceFile::CountProblemLocked(ProblemKind kind, std::string_view detail) {
  const bool room = problem_counts_.size() < kMaxProblemDetails;
  auto found = problem_counts_.find({kind, std::string(detail)});
  if (found == problem_counts_.end()) {
    found = problem_counts_.try_emplace({kind, std::string(room ? detail : "(others)")}).first;
  }
  ++found->second.count;
}

void TraceFile::CountProblem(ProblemKind kind, std::string_view detail) {
  std::lock_guard lock(mutex_);
  CountProblemLocked(kind, detail);
  // The first is known at once, should the process be killed.
  WriteProblemCountsLocked();
}

void TraceFile::WriteProblemCountsLocked() {
  for (auto& [key, problem] : problem_counts_) {
    if (problem.written == problem.count) continue;
    problem.written = problem.count;
    AddProblemLocked(key.first, problem.count, key.second);
  }
}

void TraceFile::AddProblemLocked(ProblemKind kind, uint64_t count, std::string_view detail) {
  if (writer_ == nullptr) return;
  writer_->AddProblem({.kind = static_cast<uint32_t>(kind),
                       .count = count,
                       .detail = detail,
                       .realtime_ns = RealtimeNs()});
}

void TraceFile::AddProblem(ProblemKind kind, uint64_t count, std::string_view detail) {
  std::lock_guard lock(mutex_);
  AddProblemLocked(kind, count, detail);
}

}  // namespace hotproof::tracer
