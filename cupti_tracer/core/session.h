// The tracer of this process, from InitializeInjection to the end. One object, made once and never
// destroyed: CUPTI's threads may call in while the process is already running its exit handlers.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cupti_tracer/core/buffers.h"
#include "cupti_tracer/core/config.h"
#include "cupti_tracer/core/cupti_api.h"
#include "cupti_tracer/core/flush_thread.h"
#include "cupti_tracer/core/launch_table.h"
#include "cupti_tracer/core/process_info.h"
#include "cupti_tracer/core/records.h"
#include "cupti_tracer/core/sites.h"
#include "cupti_tracer/core/streams.h"
#include "cupti_tracer/core/trace_file.h"
#include "cupti_tracer/graphs/graph_registry.h"
#include "cupti_tracer/ranges/range_paths.h"

namespace hotproof::tracer {

// The trace and what writes into it; made when CUDA starts, all at once.
struct Collection {
  Collection(const std::string& directory, const std::string& stem, const Cupti& cupti,
             const Driver& driver, BufferPool& pool)
      : file(directory, stem),
        ranges(file),
        sites(file, driver, &ranges),
        streams(file, cupti, driver),
        graphs(file, cupti, &ranges),
        records(file, cupti, pool, sites, streams, graphs, launches) {}

  TraceFile file;
  RangePaths ranges;
  Sites sites;
  Streams streams;
  GraphRegistry graphs;
  LaunchTable launches;
  RecordSink records;
};

class Session {
 public:
  // Null until Start; null again in a forked child.
  static Session* Get() { return instance_.load(std::memory_order_acquire); }

  // Called once, by the driver, inside cuInit.
  static void Start(Config config, std::string chained_injection);

  Collection& collection() { return *collection_; }

  // A context exists: counters, the flush thread and timing begin. (An activity kind that is enabled
  // earlier cannot be disabled the first time.) Cheap after the first call.
  void OnContext() {
    if (!has_context()) BeginCounting();
  }
  bool has_context() const { return has_context_.load(std::memory_order_acquire); }

  bool timing() const { return timing_.load(std::memory_order_relaxed); }
  const Cupti& cupti() const { return cupti_; }
  const Driver& driver() const { return driver_; }
  BufferPool& pool() { return pool_; }

  // A point from which a phase may begin, named by the program.
  void Mark(const char* label);
  void AddProblem(ProblemKind kind, const std::string& detail);
  // Another tool is about to register activity buffer callbacks of its own: what CUPTI records from now
  // on goes to it.
  void OnBuffersTakenOver(const std::string& by);
  // A buffer that is not ours was completed to us: another tool records at the same time.
  void OnForeignBuffer();
  // CUPTI has given up: on disk at once, for nothing after this is counted.
  void OnCollectionEnded(const std::string& why);

 private:
  Session(Config config, std::string chained_injection);
  bool Subscribe();
  void EnableCallbacks();
  void WriteHeader();
  void BeginCounting();
  void EnableTiming();
  void EnableOperations(trace::HeaderEntry& header);
  void DisableOperations();
  void AddDevices();
  void FlushOnce(bool last);
  void Finish(const char* reason);
  static void AtExit();
  static void InForkedChild();
  void SayOnce(const std::string& line);
  bool MayWriteToStderr() const;

  static std::atomic<Session*> instance_;

  const Config config_;
  const std::string chained_injection_;
  ProcessInfo process_;
  Cupti cupti_;
  Driver driver_;
  BufferPool pool_;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  uint64_t start_realtime_ns_ = 0;
  struct stat first_stderr_ {};  // zeros: closed

  std::unique_ptr<Collection> collection_;
  std::mutex context_mutex_;
  std::atomic<bool> has_context_{false};

  std::atomic<bool> can_time_{false};  // CUPTI has what timing needs, and full mode is asked for
  std::atomic<bool> timing_{false};
  std::atomic<bool> taken_over_{false};
  // Kinds beside kernels' that are on; written before `timing_` is set.
  std::vector<CUpti_ActivityKind> operation_kinds_;
  std::atomic<bool> said_{false};

  FlushThread flush_thread_;
  // The flush thread's.
  std::atomic<bool> last_flush_ok_{true};
  uint64_t lost_work_reported_ = 0;
  uint64_t last_tick_ns_ = 0, last_tick_bytes_ = 0;
};

}  // namespace hotproof::tracer
