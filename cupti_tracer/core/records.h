// Activity records -> trace. OnBufferCompleted is called on CUPTI's threads, the rest on the flush
// thread. Every record that CUPTI delivers is written, attributed or not; what a record says is compared
// with what its launch asked for, and a disagreement is written as such.
#pragma once

#include <cupti.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "cupti_tracer/core/buffers.h"
#include "cupti_tracer/core/cupti_api.h"
#include "cupti_tracer/core/launch_table.h"
#include "cupti_tracer/core/operations.h"
#include "cupti_tracer/core/sites.h"
#include "cupti_tracer/core/streams.h"
#include "cupti_tracer/core/trace_file.h"
#include "cupti_tracer/graphs/graph_registry.h"

namespace hotproof::tracer {

class RecordSink {
 public:
  RecordSink(TraceFile& file, const Cupti& cupti, BufferPool& pool, Sites& sites, Streams& streams,
             GraphRegistry& graphs, LaunchTable& launches)
      : file_(file), cupti_(cupti), pool_(pool), sites_(sites), streams_(streams), graphs_(graphs),
        launches_(launches), operations_(file, cupti.version, streams) {}

  void OnBufferCompleted(uint8_t* buffer, size_t valid_bytes);

  // Lists new launches, retries records that came before their launch call returned, reports losses.
  // `last`: nothing more will come, write what is left as unattributed.
  void Tick(bool last);

  // The 64-bit form of a correlation id. Trace lock held.
  uint64_t ExtendLocked(uint32_t correlation_id) { return extender_.Extend(correlation_id); }

  uint64_t records_written() const { return records_.load(std::memory_order_relaxed); }
  uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }
  // For want of buffers, and because the disk took nothing.
  uint64_t discarded() const {
    return discarded_.load(std::memory_order_relaxed) +
           not_written_.load(std::memory_order_relaxed);
  }
  // Of every kind, discarded ones too: what buffers are sized by.
  uint64_t bytes_received() const { return bytes_.load(std::memory_order_relaxed); }
  uint64_t launches_listed() const { return launches_listed_; }

 private:
  static constexpr size_t kRecordsPerChunk = 1 << 16;
  static constexpr size_t kMaxWaiting = 1 << 14;

  void AddLocked(const CUpti_ActivityKernel10& record, bool final_try);
  void ListLaunchesLocked();
  bool AgreesLocked(SiteInfo& site, const CUpti_ActivityKernel10& record,
                    bool name_outlives_call) const;
  uint32_t UnattributedSiteLocked(const CUpti_ActivityKernel10& record);
  uint32_t AttributesLocked(SiteInfo& site, const CUpti_ActivityKernel10& record);

  TraceFile& file_;
  const Cupti& cupti_;
  BufferPool& pool_;
  Sites& sites_;
  Streams& streams_;
  GraphRegistry& graphs_;
  LaunchTable& launches_;
  OperationSink operations_;

  std::atomic<uint64_t> records_{0}, dropped_{0}, discarded_{0}, not_written_{0};
  std::atomic<uint64_t> operations_discarded_{0}, bytes_{0};

  // What one buffer holds. Kept for the next one, so that records cost no request for memory.
  struct Contents {
    std::vector<const CUpti_ActivityKernel10*> kernels;
    std::vector<const CUpti_Activity*> operations;
  };
  Contents TakeContents();
  void KeepContents(Contents contents);
  std::mutex contents_mutex_;
  Contents contents_;

  // Under the trace's lock.
  struct Waiting {
    CUpti_ActivityKernel10 record;
    const std::string* name = nullptr;  // of waiting_names_: the record's own pointer may die with its module
    uint32_t ticks = 0;
  };
  std::vector<Waiting> waiting_, tried_again_;  // the second one: for its memory
  std::set<std::string, std::less<>> waiting_names_;
  std::unordered_map<std::string, uint32_t> attribute_ids_;
  CorrelationExtender extender_;
  uint64_t launches_listed_ = 0;
  uint64_t unattributed_ = 0, unattributed_reported_ = 0;
  uint64_t dropped_reported_ = 0, discarded_reported_ = 0, unlisted_reported_ = 0;
  uint64_t not_written_reported_ = 0;
  uint64_t operations_discarded_reported_ = 0;
};

}  // namespace hotproof::tracer
