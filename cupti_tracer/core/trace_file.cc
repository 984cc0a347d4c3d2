#include "cupti_tracer/core/trace_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace hotproof::tracer {
namespace {

// A vLLM server start to end used 1,946 sites (docs/measurements/).
constexpr uint32_t kSiteSlots = 1 << 16;
constexpr uint32_t kGraphSlots = 1 << 14;

constexpr uint64_t kRenewRetryNs = 60'000'000'000;

// The program may change its folder.
std::string Absolute(const std::string& path) {
  std::error_code unknown;
  const std::filesystem::path absolute = std::filesystem::absolute(path, unknown);
  return unknown ? path : absolute.string();
}

uint64_t ReadClock(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000000000u + static_cast<uint64_t>(time.tv_nsec);
}

}  // namespace

uint64_t RealtimeNs() { return ReadClock(CLOCK_REALTIME); }
uint64_t MonotonicNs() { return ReadClock(CLOCK_MONOTONIC); }

TraceFile::TraceFile(const std::string& directory, const std::string& stem)
    : folder_path_(Absolute(directory)),
      path_(directory + "/" + stem + ".hpt"),
      counters_name_(stem + ".hpc") {
  if (!OpenFolder()) return;
  const int file = openat(folder_.Ours(), (stem + ".hpt").c_str(),
                          O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file >= 0) {
    writer_ = std::make_unique<trace::Writer>(file);
  } else {
    error_ = "cannot create " + path_ + ": " + std::strerror(errno);
  }
}

bool TraceFile::OpenFolder() {
  if (mkdir(folder_path_.c_str(), 0700) != 0 && errno != EEXIST) {
    error_ = "cannot make folder " + folder_path_ + ": " + std::strerror(errno);
    return false;
  }
  trace::OwnDescriptor folder(open(folder_path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid()) {
    error_ = "cannot open folder " + folder_path_ + ": " + std::strerror(errno);
    return false;
  }
  folder_ = std::move(folder);
  return true;
}

// The program has closed what it did not know, as one does that becomes a daemon. On the flush thread.
void TraceFile::OpenLostFolder() {
  if (folder_.Ours() < 0) folder_.TakeAgain(open(folder_path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

void TraceFile::OpenLostFileLocked() {
  if (writer_->holds_file()) return;
  const std::string name = path_.substr(path_.rfind('/') + 1), path = folder_path_ + "/" + name;
  constexpr int kFlags = O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  int file = openat(folder_.Ours(), name.c_str(), kFlags);
  if (file < 0) file = open(path.c_str(), kFlags);
  const bool again = writer_->TakeFileAgain(file);
  descriptor_lost_.store(!again);
}

void TraceFile::OpenCounters(uint32_t pid, uint64_t process_start_ticks) {
  std::lock_guard lock(mutex_);
  counters_ = std::make_unique<trace::CounterTable>(folder_.Ours(), counters_name_.c_str(), kSiteSlots,
                                                    kGraphSlots, pid, process_start_ticks);
  counters_on_disk_ = counters_->on_disk();
}

std::string TraceFile::counters_file_name() const {
  return counters_ != nullptr && counters_->on_disk() ? counters_name_ : "";
}

bool TraceFile::NoteLocked(trace::WriteResult result) {
  if (result == trace::WriteResult::kOk) return true;
  // The disk is in order. What is known without an entry, nobody can say; launches are counted without records.
  if (result == trace::WriteResult::kEntryLost) {
    CountProblemLocked(ProblemKind::kInternal, "entries were lost: no memory");
    return true;
  }
  if (result == trace::WriteResult::kRecordLost) {
    CountProblemLocked(ProblemKind::kInternal, "records were lost: no room in a chunk, or no memory");
    return true;
  }
  disk_failed_.store(true);
  // Tried again with every later flush, so it is in the trace as soon as there is room.
  CountProblemLocked(ProblemKind::kDiskFull,
                     result == trace::WriteResult::kNoSpace ? "no space"
                     : result == trace::WriteResult::kSlow  ? "too slow"
                     : result == trace::WriteResult::kDescriptorLost
                         ? "the program closed the tracer's descriptor"
                                                            : "write error");
  return false;
}

void TraceFile::FlushTablesLocked() {
  // Each launch of a new kernel would try again, on the program's own thread.
  if (writer_ == nullptr || disk_failed()) return;
  OpenLostFileLocked();
  NoteLocked(writer_->FlushTables(CounterViewNow()));
}

bool TraceFile::FlushLocked() {
  if (writer_ == nullptr) return true;
  OpenLostFileLocked();
  WriteProblemCountsLocked();
  const bool ok = NoteLocked(writer_->Flush(CounterViewNow()));
  if (counters_ != nullptr) counters_->SetRecordsWritten(writer_->records_written());
  return ok;
}

bool TraceFile::Flush() {
  bool ok, tried = false;
  {
    std::lock_guard lock(mutex_);
    OpenLostFolder();
    ok = FlushLocked();
    if (ok) {
      disk_failed_.store(false);
      tried = RotateIfDueLocked();
    }
  }
  if (tried) rotation_->TrimFolder();
  if (rotation_ != nullptr && !(rotation_->FileStands(*writer_) && CountersStand())) GoOnElsewhere();
  return ok;
}

void TraceFile::SetRotation(const RotationLimits& limits) {
  std::lock_guard lock(mutex_);
  if (writer_ == nullptr) return;
  const std::string name = path_.substr(path_.rfind('/') + 1);
  rotation_ = std::make_unique<Rotation>(limits, folder_, name.substr(0, name.rfind('.')), MonotonicNs());
  rotates_ = limits.any();
  if (rotates_) writer_->KeepForNextFile();
}

bool TraceFile::RotateIfDueLocked() {
  const uint64_t now_ns = MonotonicNs();
  if (rotation_ == nullptr || !rotation_->Due(*writer_, now_ns)) return false;
  // Taken away: another's file must not get the closed one's name.
  if (!rotation_->FileStands(*writer_)) return false;
  if (!rotation_->Rotate(*writer_, now_ns)) {
    CountProblemLocked(ProblemKind::kRotationFailed, rotation_->why());
  }
  return true;
}

bool TraceFile::CountersStand() const {
  return !counters_on_disk_ || counters_->Stands(folder_.Ours(), counters_name_.c_str());
}

// Somebody has taken files away under our hands, or the whole folder. One that rotates knows all that
// a new file has to begin with.
void TraceFile::GoOnElsewhere() {
  if (!rotates_) {
    if (std::exchange(moved_said_, true)) return;
    notice_ = path_ + " or its counters were removed or replaced; what comes is not kept in them (--rotate-size would begin anew)";
    return;
  }
  const uint64_t now_ns = MonotonicNs();
  std::lock_guard lock(mutex_);
  struct stat folder;
  if (fstat(folder_.Ours(), &folder) != 0 || folder.st_nlink == 0) OpenFolder();
  // Whatever hinders a new trace: counts are what a killed process leaves.
  if (!CountersStand() && now_ns >= renew_not_before_ns_ &&
      counters_->Renew(folder_.Ours(), counters_name_.c_str()) != 0) {
    renew_not_before_ns_ = now_ns + kRenewRetryNs;
  }
  const bool trace_gone = !rotation_->FileStands(*writer_);
  if (trace_gone && rotation_->MayTry(now_ns)) {
    if (!FlushLocked()) return;  // what came since the last: a new file wants nothing pending
    if (!rotation_->BeginAgain(*writer_, now_ns)) {
      CountProblemLocked(ProblemKind::kRotationFailed, rotation_->why());
    }
  }
  if (std::exchange(moved_said_, true)) return;
  if (!trace_gone) {
    notice_ = path_ + (CountersStand() ? ": its counters were removed or replaced; all are in a new file"
                                       : ": its counters were removed or replaced, and no new file can "
                                         "be made; it is tried again");
    return;
  }
  const bool again = rotation_->FileStands(*writer_) && CountersStand();
  notice_ = path_ + (again ? " was removed; the trace goes on in a new file, the old one's times are lost"
                           : " was removed, and no new file can be begun; it is tried again");
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
  const uint64_t unlisted = writer_ == nullptr ? 0 : writer_->launches_unlisted();
  if (unlisted != launches_unlisted_reported_) {
    launches_unlisted_reported_ = unlisted;
    AddProblemLocked(ProblemKind::kLaunchEntriesDropped, unlisted, "not written");
  }
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
