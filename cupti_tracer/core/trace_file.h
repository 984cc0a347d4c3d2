// The trace being written: the .hpt writer and the counters beside it, behind one lock. The .hpt is
// made when CUDA starts (a process that never gets further is then known to have launched nothing),
// the counters with the first context. Rule of this lock: never held across a call into CUPTI or the
// driver.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cupti_tracer/core/rotation.h"
#include "trace/counters.h"
#include "trace/own_descriptor.h"
#include "trace/writer.h"

namespace hotproof::tracer {

// Values of trace.proto's enums; tests/tracer checks that they agree.
enum class SnapshotReason : uint32_t {
  kMark = 1,
  kEndCapture = 2,
  kFirstReplay = 3,
  kReplayAfterCapture = 4,
};
enum class ProblemKind : uint32_t {
  kCuptiDroppedRecords = 1,
  kRecordsDiscarded = 2,
  kOtherSubscriber = 3,
  kCuptiMissing = 4,
  kSymbolMissing = 5,
  kCuptiError = 6,
  kCollectionEnded = 7,
  kCountersNotOnDisk = 8,
  kDiskFull = 9,
  kSlotsExhausted = 10,
  kUnattributedRecords = 11,
  kArgumentSetsOverflowed = 12,
  kDeviceLaunchPossible = 13,
  kLaunchEntriesDropped = 15,
  kInternal = 16,
  kNewerCupti = 17,
  kOperationsDiscarded = 18,
  kRangesNotKept = 19,
  kRotationFailed = 20,
};

uint64_t RealtimeNs();
uint64_t MonotonicNs();

class TraceFile {
 public:
  // Creates `<directory>/<stem>.hpt` (the directory too, if it is missing). On failure ok() is false
  // and error() one line; counting goes on in memory all the same.
  TraceFile(const std::string& directory, const std::string& stem);

  // Before anything is written.
  void SetRotation(const RotationLimits& limits);
  // Creates `<stem>.hpc` beside it; once, before anything is counted.
  void OpenCounters(uint32_t pid, uint64_t process_start_ticks);

  bool ok() const { return writer_ != nullptr; }
  const std::string& error() const { return error_; }
  const std::string& path() const { return path_; }
  // "" when there are no counters yet or they are in anonymous memory.
  std::string counters_file_name() const;

  std::mutex& mutex() { return mutex_; }
  trace::CounterTable& counters() { return *counters_; }
  bool has_counters() const { return counters_ != nullptr; }

  // Methods below that end in Locked want mutex() held; the others take it.
  // Null when there is no file: callers skip what they would have written.
  trace::Writer* writer_locked() { return writer_.get(); }
  void FlushTablesLocked();
  // Called from the flush thread, which alone finds out that the disk takes something again. False: what
  // is recorded meanwhile cannot be kept (disk full or failing).
  bool Flush();
  bool FlushLocked();
  // Something the user should hear of once, if there is news; else "".
  std::string TakeNotice() { return std::exchange(notice_, {}); }

  // Snapshots the counters into the trace and puts it on disk at once.
  void SnapshotLocked(SnapshotReason reason, uint64_t correlation_id, uint32_t graph_id,
                      std::string_view label);
  // One more of (kind, detail); the sum is in the trace with the next flush.
  void CountProblemLocked(ProblemKind kind, std::string_view detail);
  void CountProblem(ProblemKind kind, std::string_view detail);
  // For who counts himself: `count` is cumulative for its (kind, detail).
  void AddProblemLocked(ProblemKind kind, uint64_t count, std::string_view detail);
  void AddProblem(ProblemKind kind, uint64_t count, std::string_view detail);

  // Set by a capture's end, taken by the first replay after it.
  std::atomic<bool> replay_snapshot_armed{false};

  bool disk_failed() const { return disk_failed_.load(std::memory_order_relaxed); }
  // The program has closed the trace's descriptor, and the file cannot be opened anew.
  bool descriptor_lost() const { return descriptor_lost_.load(std::memory_order_relaxed); }

 private:
  trace::CounterView CounterViewNow() const {
    if (counters_ == nullptr) return {};
    return {counters_->sites(), counters_->graphs()};
  }
  bool NoteLocked(trace::WriteResult result);
  void WriteProblemCountsLocked();
  bool RotateIfDueLocked();  // whether it was tried
  void GoOnElsewhere();
  bool OpenFolder();
  void OpenLostFolder();
  void OpenLostFileLocked();
  bool CountersStand() const;

  std::mutex mutex_;
  std::unique_ptr<trace::Writer> writer_;
  std::unique_ptr<trace::CounterTable> counters_;
  std::unique_ptr<Rotation> rotation_;
  trace::OwnDescriptor folder_;
  std::string folder_path_, path_, counters_name_, error_;
  std::atomic<bool> disk_failed_{false}, descriptor_lost_{false};
  // Of the flush thread.
  std::string notice_;
  bool moved_said_ = false;
  uint64_t renew_not_before_ns_ = 0;
  // Set before anything runs.
  bool rotates_ = false;
  bool counters_on_disk_ = false;
  // Under the lock.
  uint64_t launches_unlisted_reported_ = 0;
  struct ProblemCount {
    uint64_t count = 0, written = 0;
  };
  static constexpr size_t kMaxProblemDetails = 256;
  std::map<std::pair<ProblemKind, std::string>, ProblemCount> problem_counts_;
};

}  // namespace hotproof::tracer
