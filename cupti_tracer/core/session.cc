#include "cupti_tracer/core/session.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "cupti_tracer/core/callbacks.h"
#include "cupti_tracer/core/guard.h"
#include "cupti_tracer/core/trace_header.h"
#include "trace/own_descriptor.h"
#include "trace/quirks.h"
#include "trace/untraced_mark.h"

namespace hotproof::tracer {
namespace {

// How long a process's end may wait for the last flush: it blocks while the GPU is still working.
constexpr unsigned kExitDeadlineMs = 3000;
constexpr CUpti_ActivityKind kTimedKind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;

}  // namespace

std::atomic<Session*> Session::instance_{nullptr};

Session::Session(Config config, std::string chained_injection)
    : config_(std::move(config)),
      chained_injection_(std::move(chained_injection)),
      process_(ProcessInfo::Read()),
      cupti_(Cupti::Load(config_)),
      driver_(Driver::Load()),
      start_realtime_ns_(RealtimeNs()),
      collection_(std::make_unique<Collection>(config_.out_directory, TraceFileStem(process_),
                                               cupti_, driver_, pool_)),
      flush_thread_(config_.flush_period_ms, {.begin = [this] { AddDevices(); },
                                              .flush = [this](bool last) { FlushOnce(last); }}) {
  if (fstat(STDERR_FILENO, &first_stderr_) != 0) first_stderr_ = {};
}

void Session::Start(Config config, std::string chained_injection) {
  if (Get() != nullptr) return;
  auto* session = new Session(std::move(config), std::move(chained_injection));
  instance_.store(session, std::memory_order_release);
  pthread_atfork(nullptr, nullptr, &Session::InForkedChild);
  std::atexit(&Session::AtExit);
  if (!session->collection_->file.ok()) {
    session->SayOnce(session->collection_->file.error() + "; the process runs on untraced");
    // Held until the process ends: hotproof run sees it there.
    [[maybe_unused]] const int mark =
        trace::OutOfTheWay(memfd_create(trace::kUntracedMark, MFD_CLOEXEC));
  }
  session->collection_->file.SetRotation(session->config_.rotation);
  session->WriteHeader();
  if (!session->config_.rotation_error.empty()) {
    session->SayOnce(session->config_.rotation_error + " is no whole number; it counts as not set");
  }
  if (!session->config_.mode_error.empty()) {
    session->SayOnce("HOTPROOF_MODE=" + session->config_.mode_error +
                     " is neither full nor count; full is used");
  }
  if (!session->config_.record_error.empty()) {
    session->SayOnce("HOTPROOF_RECORD=" + session->config_.record_error +
                     " is neither kernels nor operations; kernels is used");
  }
  session->Subscribe();
  std::lock_guard lock(session->collection_->file.mutex());
  session->collection_->file.FlushTablesLocked();
}

bool Session::Subscribe() {
  if (cupti_.path.empty()) {
    AddProblem(ProblemKind::kCuptiMissing, cupti_.load_error);
    SayOnce("CUPTI was not found (" + cupti_.load_error +
            "); nothing is collected; set HOTPROOF_CUPTI");
    return false;
  }
  for (const std::string& symbol : cupti_.missing_required) {
    AddProblem(ProblemKind::kSymbolMissing, symbol);
  }
  for (const std::string& symbol : cupti_.missing_timing) {
    AddProblem(ProblemKind::kSymbolMissing, symbol);
  }
  for (const std::string& symbol : cupti_.missing_useful) {
    AddProblem(ProblemKind::kSymbolMissing, symbol);
  }
  if (!cupti_.CanCount()) {
    SayOnce(cupti_.path + " lacks " + cupti_.missing_required[0] + "; nothing is collected");
    return false;
  }
  char holder[128] = {};
  CUptiResult result;
  if (cupti_.SubscribeV2 != nullptr) {
    CUpti_SubscriberParams params{};
    params.structSize = sizeof params;
    params.subscriberName = "hotproof";
    params.oldSubscriberName = holder;
    params.oldSubscriberSize = sizeof holder;
    result = cupti_.SubscribeV2(&subscriber_, &OnCallback, this, &params);
  } else {
    result = cupti_.Subscribe(&subscriber_, &OnCallback, this);
  }
  if (result != CUPTI_SUCCESS) {
    const std::string name = holder[0] != '\0' ? holder : "unknown";
    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
      AddProblem(ProblemKind::kOtherSubscriber, name);
      SayOnce("another tool uses CUPTI in this process (" + name + "); nothing is collected");
    } else {
      AddProblem(ProblemKind::kCuptiError,
                 std::string("cuptiSubscribe: ") + cupti_.ResultName(result));
      SayOnce(std::string("cuptiSubscribe failed: ") + cupti_.ResultName(result) +
              "; nothing is collected");
    }
    return false;
  }
  EnableCallbacks();
  // Records of a version that is not known are not read: their layout may be another.
  const bool known_layout = cupti_.version >= trace::kOldestSupportedCupti &&
                            cupti_.version <= trace::kNewestSupportedCupti;
  if (!known_layout) AddProblem(ProblemKind::kNewerCupti, std::to_string(cupti_.version));
  if (config_.mode == Mode::kFull && cupti_.CanTime() && known_layout) {
    can_time_.store(true);  // before: whoever registers next takes over
    const CUptiResult registered =
        cupti_.ActivityRegisterCallbacks(&OnBufferRequested, &OnBufferCompleted);
    if (registered != CUPTI_SUCCESS) {
      can_time_.store(false);
      AddProblem(ProblemKind::kCuptiError,
                 std::string("cuptiActivityRegisterCallbacks: ") + cupti_.ResultName(registered));
    }
  }
  return true;
}

void Session::EnableCallbacks() {
  for (const CallbackId& callback : CallbacksToEnable()) {
    const CUptiResult result = cupti_.EnableCallback(1, subscriber_, callback.domain, callback.id);
    if (result != CUPTI_SUCCESS && IsCallbackRequired(callback)) {
      AddProblem(ProblemKind::kCuptiError,
                 "cuptiEnableCallback " + std::to_string(callback.domain) + " " +
                     std::to_string(callback.id) + ": " + cupti_.ResultName(result));
    }
  }
}

void Session::BeginCounting() {
  {
    std::lock_guard lock(context_mutex_);
    if (has_context_.load(std::memory_order_relaxed)) return;
    TraceFile& file = collection_->file;
    file.OpenCounters(process_.pid, process_.start_ticks);
    std::lock_guard file_lock(file.mutex());
    if (trace::Writer* writer = file.writer_locked()) {
      trace::HeaderEntry header;
      header.counters_file = file.counters_file_name();
      writer->AddHeader(header);
      if (!file.counters().on_disk()) {
        file.AddProblemLocked(ProblemKind::kCountersNotOnDisk, 1,
                              std::strerror(file.counters().error()));
      }
      file.FlushTablesLocked();
    }
    has_context_.store(true, std::memory_order_release);
  }
  // One thread comes here; no lock of ours is held across what follows.
  if (flush_thread_.Start()) {
    EnableTiming();
  } else {
    AddProblem(ProblemKind::kCuptiError, "the flush thread could not be started: nothing is timed");
  }
}

void Session::WriteHeader() {
  const trace::HeaderEntry header =
      DescribeProcess(config_, process_, cupti_, chained_injection_, start_realtime_ns_);
  std::lock_guard lock(collection_->file.mutex());
  if (trace::Writer* writer = collection_->file.writer_locked()) writer->AddHeader(header);
}

// On the flush thread: the driver is asked outside of its own callbacks.
void Session::AddDevices() {
  const trace::HeaderEntry header = DescribeDevices(driver_);
  std::lock_guard lock(collection_->file.mutex());
  if (trace::Writer* writer = collection_->file.writer_locked()) writer->AddHeader(header);
}

void Session::EnableTiming() {
  if (!can_time_.load() || taken_over_.load()) return;
  trace::HeaderEntry header;
  if (config_.record == Record::kOperations) EnableOperations(header);
  // Last: between this and `timing_` other threads' kernels have records that no launch explains.
  const CUptiResult result = cupti_.ActivityEnable(kTimedKind);
  if (result != CUPTI_SUCCESS) {
    DisableOperations();
    AddProblem(ProblemKind::kCuptiError,
               std::string("cuptiActivityEnable: ") + cupti_.ResultName(result));
    return;
  }
  header.activity_kinds.insert(header.activity_kinds.begin(), kTimedKind);
  timing_.store(true);
  if (taken_over_.load()) timing_.store(false);  // meanwhile
  std::lock_guard lock(collection_->file.mutex());
  if (trace::Writer* writer = collection_->file.writer_locked()) writer->AddHeader(header);
}

// A kind that this CUPTI refuses says nothing against the kernels: the header lists it, no problem
// does.
void Session::EnableOperations(trace::HeaderEntry& header) {
  // A program that asks an event again and again whether it is done would fill the trace.
  if (cupti_.EnableAllSyncRecords != nullptr) cupti_.EnableAllSyncRecords(0);
  for (const CUpti_ActivityKind kind : OperationSink::Kinds()) {
    if (cupti_.ActivityEnable(kind) == CUPTI_SUCCESS) {
      operation_kinds_.push_back(kind);
      header.activity_kinds.push_back(kind);
    } else {
      header.refused_activity_kinds.push_back(kind);
    }
  }
}

void Session::DisableOperations() {
  if (trace::QuirkApplies("disable_deadlock", cupti_.version)) return;
  for (const CUpti_ActivityKind kind : operation_kinds_) cupti_.ActivityDisable(kind);
}

void Session::Mark(const char* label) {
  if (label == nullptr) return;
  TraceFile& file = collection_->file;
  std::lock_guard lock(file.mutex());
  const uint64_t boundary = collection_->records.ExtendLocked(collection_->launches.newest() + 1);
  file.SnapshotLocked(SnapshotReason::kMark, boundary, 0, label);
}

void Session::AddProblem(ProblemKind kind, const std::string& detail) {
  collection_->file.CountProblem(kind, detail);
}

void Session::OnBuffersTakenOver(const std::string& by) {
  if (!can_time_.load() || taken_over_.exchange(true)) return;
  // What is finished still comes to us. The kernels' kind stays on: the other tool may want it. The
  // others go: it enables what it wants after this, and would be given the rest for ever.
  if (timing_.exchange(false)) {
    cupti_.ActivityFlushAll(CUPTI_ACTIVITY_FLAG_NONE);
    DisableOperations();
  }
  collection_->file.CountProblem(ProblemKind::kOtherSubscriber,
                                 "activity buffers taken over by " + by);
  SayOnce(by +
          " took over CUPTI's activity buffers; launches are still counted, but no longer timed");
}

void Session::OnForeignBuffer() {
  collection_->file.CountProblem(ProblemKind::kOtherSubscriber, "activity buffers of another tool");
}

void Session::OnCollectionEnded(const std::string& why) {
  timing_.store(false);
  TraceFile& file = collection_->file;
  std::lock_guard lock(file.mutex());
  file.AddProblemLocked(ProblemKind::kCollectionEnded, 1, why);
  file.FlushTablesLocked();
}

void Session::FlushOnce(bool last) {
  Collection& collection = *collection_;
  // Before records are asked for: they are thrown away while the disk takes nothing.
  if (collection.file.disk_failed()) collection.file.Flush();
  if (timing_.load()) {
    const CUptiResult result =
        cupti_.ActivityFlushAll(last ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : CUPTI_ACTIVITY_FLAG_NONE);
    last_flush_ok_.store(result == CUPTI_SUCCESS);
    if (result != CUPTI_SUCCESS) {
      AddProblem(ProblemKind::kCuptiError,
                 std::string("cuptiActivityFlushAll: ") + cupti_.ResultName(result));
    }
    trace::ClockPairEntry clocks;
    if (cupti_.GetTimestamp != nullptr && cupti_.GetTimestamp(&clocks.cupti_ns) == CUPTI_SUCCESS) {
      clocks.realtime_ns = RealtimeNs();
      clocks.monotonic_ns = MonotonicNs();
      // Kept only while something is timed: an idle server's file does not grow.
      std::lock_guard lock(collection.file.mutex());
      trace::Writer* writer = collection.file.writer_locked();
      if (writer != nullptr &&
          (writer->pending_records() > 0 || writer->pending_operations() > 0 || last)) {
        writer->AddClockPair(clocks);
      }
    }
  }
  collection.records.Tick(last);
  const uint64_t lost_work = LostWork().load(std::memory_order_relaxed);
  if (lost_work != lost_work_reported_) {
    lost_work_reported_ = lost_work;
    collection.file.AddProblem(ProblemKind::kInternal, lost_work,
                               "callbacks could not finish: no memory");
  }
  if (!collection.file.Flush()) {
    SayOnce(collection.file.descriptor_lost()
                ? "the program has closed the descriptor of " + collection.file.path() +
                      ", which cannot be opened again; launches are counted, but not timed"
                : "the trace cannot be written (disk full or too slow?); launches are counted, but not "
                  "timed, until it can");
  }
  if (const std::string notice = collection.file.TakeNotice(); !notice.empty()) SayOnce(notice);
  const uint64_t now_ns = MonotonicNs(), bytes = collection.records.bytes_received();
  if (last_tick_ns_ != 0 && now_ns > last_tick_ns_) {
    pool_.SetRate(static_cast<double>(bytes - last_tick_bytes_) * 1e9 /
                  static_cast<double>(now_ns - last_tick_ns_));
  }
  last_tick_ns_ = now_ns;
  last_tick_bytes_ = bytes;
}

void Session::AtExit() {
  Session* session = Get();
  if (session != nullptr && static_cast<uint32_t>(getpid()) == session->process_.pid) {
    Guarded([session] { session->Finish("exit"); });
  }
}

void Session::Finish(const char* reason) {
  const uint64_t deadline_ns = MonotonicNs() + uint64_t{kExitDeadlineMs} * 1000000;
  const FlushThread::LastFlush last = flush_thread_.Stop(deadline_ns);
  if (last == FlushThread::LastFlush::kNotAsked) return;
  const bool flushed = last == FlushThread::LastFlush::kDone && last_flush_ok_.load();
  Collection& collection = *collection_;
  std::unique_lock lock = LockBy(collection.file.mutex(), deadline_ns);
  if (!lock.owns_lock()) return;  // no footer: readers call the end unfinished
  trace::Writer* writer = collection.file.writer_locked();
  if (writer == nullptr) return;
  trace::FooterEntry footer;
  footer.realtime_ns = RealtimeNs();
  footer.reason = reason;
  if (collection.file.has_counters()) {
    footer.launches = collection.graphs.LaunchesAskedLocked(collection.file.counters());
  }
  footer.records = writer->records_written() + writer->pending_records();
  footer.dropped = collection.records.dropped();
  footer.discarded = collection.records.discarded();
  footer.flushed = flushed;
  writer->AddFooter(footer);
  collection.file.FlushLocked();
  lock.unlock();
  const uint64_t now_ns = MonotonicNs();
  if (now_ns < deadline_ns)
    writer->AwaitWritten(static_cast<unsigned>((deadline_ns - now_ns) / 1000000));
}

void Session::InForkedChild() {
  // The child has none of our threads and may not use the parent's CUDA: it is not traced.
  instance_.store(nullptr, std::memory_order_release);
}

// A program that closed its stderr may have a file of its own under that number.
bool Session::MayWriteToStderr() const {
  struct stat now;
  return fstat(STDERR_FILENO, &now) == 0 && now.st_dev == first_stderr_.st_dev &&
         now.st_ino == first_stderr_.st_ino;
}

void Session::SayOnce(const std::string& line) {
  if (!MayWriteToStderr() || said_.exchange(true)) return;
  const std::string text = "hotproof: " + line + "\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace hotproof::tracer
