// Activity records that are no kernels -> trace: memory copies, memsets, synchronizations and event
// records. Fed by RecordSink on CUPTI's threads. Every record is written as CUPTI tells it; none is
// matched with anything here.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "cupti_tracer/core/streams.h"
#include "cupti_tracer/core/trace_file.h"

namespace hotproof::tracer {

class OperationSink {
 public:
  OperationSink(TraceFile& file, uint32_t cupti_version, Streams& streams)
      : file_(file), cupti_version_(cupti_version), streams_(streams) {}

  // The activity kinds of operations, to be enabled.
  static const std::vector<CUpti_ActivityKind>& Kinds();
  static bool IsOperation(CUpti_ActivityKind kind);
  static uint32_t CorrelationId(const CUpti_Activity& record);

  // `correlation_id`: the record's, extended to 64 bits. Trace lock held.
  void AddLocked(const CUpti_Activity& record, uint64_t correlation_id);

 private:
  uint32_t ClassLocked(const trace::OperationClassEntry& entry);
  template <typename Record>
  void AddCopyLocked(const Record& r, trace::OperationClassEntry& of, trace::OperationEntry& entry);

  TraceFile& file_;
  const uint32_t cupti_version_;
  Streams& streams_;
  // Under the trace's lock.
  std::unordered_map<std::string, uint32_t> class_ids_;
  std::string key_;
  std::string last_key_;  // records of one class come in runs
  uint32_t last_id_ = 0;
};

}  // namespace hotproof::tracer
