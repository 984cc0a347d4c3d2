#include "cupti_tracer/core/operations.h"

#include <type_traits>

namespace hotproof::tracer {
namespace {

// CUPTI_API_VERSION from which records have what this reads at their end: the ids that relate waits
// to event records, a synchronization's result, how many copies a record stands for (12.8); whether
// the device launched it (13.0).
constexpr uint32_t kSecondForms = 26;
constexpr uint32_t kDeviceLaunched = 130000;

template <typename Record>
const Record& As(const CUpti_Activity& record) {
  return reinterpret_cast<const Record&>(record);
}

template <typename Record>
void TakeTimes(const Record& r, trace::OperationEntry& entry) {
  entry.start_ns = r.start;
  entry.end_ns = r.end;
}

}  // namespace

const std::vector<CUpti_ActivityKind>& OperationSink::Kinds() {
  static const auto& kinds = *new std::vector<CUpti_ActivityKind>{
      CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET,
      CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, CUPTI_ACTIVITY_KIND_CUDA_EVENT};
  return kinds;
}

bool OperationSink::IsOperation(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_MEMCPY:
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
    case CUPTI_ACTIVITY_KIND_MEMSET:
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
      return true;
    default:
      return false;
  }
}

uint32_t OperationSink::CorrelationId(const CUpti_Activity& record) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return As<CUpti_ActivityMemcpy6>(record).correlationId;
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return As<CUpti_ActivityMemcpyPtoP4>(record).correlationId;
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return As<CUpti_ActivityMemset4>(record).correlationId;
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return As<CUpti_ActivitySynchronization2>(record).correlationId;
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
      return As<CUpti_ActivityCudaEvent2>(record).correlationId;
    default:
      return 0;
  }
}

uint32_t OperationSink::ClassLocked(const trace::OperationClassEntry& entry) {
  const uint32_t fields[] = {entry.kind,
                             entry.copy_kind,
                             entry.source_memory,
                             entry.destination_memory,
                             entry.flags,
                             entry.channel_type,
                             entry.device_launched ? 1u : 0u,
                             entry.peer ? 1u : 0u,
                             entry.source_device,
                             entry.source_context,
                             entry.destination_device,
                             entry.destination_context,
                             entry.synchronization_type,
                             entry.return_value};
  key_.assign(reinterpret_cast<const char*>(fields), sizeof fields);
  if (key_ == last_key_) return last_id_;
  auto found = class_ids_.find(key_);
  if (found == class_ids_.end()) {
    trace::OperationClassEntry with_id = entry;
    with_id.id = static_cast<uint32_t>(class_ids_.size() + 1);
    found = class_ids_.emplace(key_, with_id.id).first;
    file_.writer_locked()->AddOperationClass(with_id);
  }
  last_key_ = key_;
  last_id_ = found->second;
  return last_id_;
}

// What memcpy, peer copy and memset records have in common.
template <typename Record>
void OperationSink::AddCopyLocked(const Record& r, trace::OperationClassEntry& of,
                                  trace::OperationEntry& entry) {
  of.flags = r.flags;
  of.channel_type = static_cast<uint32_t>(r.channelType);
  TakeTimes(r, entry);
  entry.stream = streams_.InternLocked(r.deviceId, r.contextId, r.streamId);
  entry.node_id = r.graphNodeId;
  entry.amount = r.bytes;
  if constexpr (!std::is_same_v<Record, CUpti_ActivityMemset4>) {
    of.kind = trace::kMemcpyOperation;
    of.copy_kind = r.copyKind;
    of.source_memory = r.srcKind;
    of.destination_memory = r.dstKind;
  }
  if constexpr (!std::is_same_v<Record, CUpti_ActivityMemcpyPtoP4>) {
    of.device_launched = cupti_version_ >= kDeviceLaunched && r.isDeviceLaunched != 0;
  }
}

void OperationSink::AddLocked(const CUpti_Activity& record, uint64_t correlation_id) {
  trace::Writer* writer = file_.writer_locked();
  if (writer == nullptr) return;
  trace::OperationClassEntry of;
  trace::OperationEntry entry;
  entry.correlation_id = correlation_id;
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& r = As<CUpti_ActivityMemcpy6>(record);
      AddCopyLocked(r, of, entry);
      if (cupti_version_ >= kSecondForms) entry.detail = r.copyCount;
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY2: {
      const auto& r = As<CUpti_ActivityMemcpyPtoP4>(record);
      AddCopyLocked(r, of, entry);
      of.peer = true;
      of.source_device = r.srcDeviceId;
      of.source_context = r.srcContextId;
      of.destination_device = r.dstDeviceId;
      of.destination_context = r.dstContextId;
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto& r = As<CUpti_ActivityMemset4>(record);
      AddCopyLocked(r, of, entry);
      of.kind = trace::kMemsetOperation;
      of.destination_memory = r.memoryKind;
      entry.detail = r.value;
      break;
    }
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: {
      const auto& r = As<CUpti_ActivitySynchronization2>(record);
      of.kind = trace::kSynchronizationOperation;
      of.synchronization_type = static_cast<uint32_t>(r.type);
      TakeTimes(r, entry);
      entry.stream = streams_.InternOfContextLocked(r.contextId, r.streamId);
      entry.amount = r.cudaEventId;
      if (cupti_version_ >= kSecondForms) {
        of.return_value = r.returnValue;
        entry.detail = r.cudaEventSyncId;
      }
      break;
    }
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT: {
      const auto& r = As<CUpti_ActivityCudaEvent2>(record);
      of.kind = trace::kEventRecordOperation;
      entry.amount = r.eventId;
      if (cupti_version_ >= kSecondForms) {
        entry.stream = streams_.InternLocked(r.deviceId, r.contextId, r.streamId);
        entry.start_ns = entry.end_ns = r.deviceTimestamp;  // 0: not collected
        entry.detail = r.cudaEventSyncId;
      } else {
        entry.stream = streams_.InternOfContextLocked(r.contextId, r.streamId);
      }
      break;
    }
    default:
      return;
  }
  entry.operation_class = ClassLocked(of);
  writer->AddOperation(entry);
}

}  // namespace hotproof::tracer
