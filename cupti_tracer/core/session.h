// The tracer of this process, from InitializeInjection to the end. One object, made once and never
// destroyed: CUPTI's threads may call in while the process is already running its exit handlers.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cupti_tracer/core/buffers.h"
#include "cupti_tracer/core/config.h"
#include "cupti_tracer/core/cupti_api.h"
#include "cupti_tracer/core/launch_table.h"
#include "cupti_tracer/core/process_info.h"
#include "cupti_tracer/core/records.h"
#include "cupti_tracer/core/sites.h"
#include "cupti_tracer/core/streams.h"
#include "cupti_tracer/core/trace_file.h"
#include "cupti_tracer/graphs/graph_registry.h"

namespace hotproof::tracer {

// What needs a trace file to exist; made with the first CUDA context, all at once.
struct Collection {
  Collection(const std::string& directory, const std::string& stem, const ProcessInfo& process,
             const Cupti& cupti, const Driver& driver, BufferPool& pool)
      : file(directory, stem, process.pid, process.start_ticks),
        sites(file, driver),
        streams(file, cupti),
        graphs(file, cupti),
        records(file, cupti, pool, sites, streams, graphs, launches) {}

  TraceFile file;
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

  // The process made a context: from here on there is something to trace. Cheap after the first call.
  Collection& Begin();
  Collection* collection() { return collection_.load(std::memory_order_acquire); }

  bool timing() const { return timing_.load(std::memory_order_relaxed); }
  const Cupti& cupti() const { return cupti_; }
  BufferPool& pool() { return pool_; }

  // A point from which a phase may begin, named by the program.
  void Mark(const char* label);
  void AddProblem(ProblemKind kind, const std::string& detail);
  // A context exists: activity kinds can be enabled (before that, the first disable would fail).
  void EnableTiming();

 private:
  Session(Config config, std::string chained_injection);
  bool Subscribe();
  void EnableCallbacks();
  void WriteHeader(Collection& collection);
  void AddDevices(Collection& collection);
  static void* FlushThread(void* session);
  void FlushLoop();
  void FlushOnce(bool last);
  void StopTiming(const char* why);
  void Finish(const char* reason);
  static void AtExit();
  static void InForkedChild();
  void SayOnce(const std::string& line);

  static std::atomic<Session*> instance_;

  const Config config_;
  const std::string chained_injection_;
  ProcessInfo process_;
  Cupti cupti_;
  Driver driver_;
  BufferPool pool_;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  uint64_t start_realtime_ns_ = 0;

  std::mutex begin_mutex_;
  std::atomic<Collection*> collection_{nullptr};
  std::vector<std::pair<ProblemKind, std::string>> early_problems_;  // before Begin; begin_mutex_
  std::vector<std::string> early_marks_;

  std::atomic<bool> can_time_{false};  // CUPTI has what timing needs, and full mode is asked for
  std::atomic<bool> timing_{false};
  std::atomic<bool> timing_requested_{false};
  std::atomic<bool> said_{false};

  // The flush thread.
  std::mutex flush_mutex_;
  std::condition_variable_any* flush_wake_ = nullptr;
  bool stop_requested_ = false, stopped_ = false;
  bool thread_running_ = false;
  uint64_t last_tick_ns_ = 0, last_tick_records_ = 0;
};

}  // namespace hotproof::tracer
