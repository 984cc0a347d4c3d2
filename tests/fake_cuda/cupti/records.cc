// Activity records, byte for byte as CUPTI 13.0 lays them out; values that say nothing here are
// those that the H200 showed.
#include <cstring>

#include "tests/fake_cuda/cupti/cupti.h"

namespace fake_cuda {

size_t RecordBytes(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return sizeof(CUpti_ActivitySynchronization2);
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
      return sizeof(CUpti_ActivityCudaEvent2);
    default:
      return 0;
  }
}

namespace {

void WriteKernel(const Work& w, void* at) {
  CUpti_ActivityKernel10 r = {};
  r.kind = w.kind;
  r.registersPerThread = static_cast<uint16_t>(w.registers);
  r.partitionedGlobalCacheRequested = CUPTI_ACTIVITY_PARTITIONED_GLOBAL_CACHE_CONFIG_NOT_SUPPORTED;
  r.partitionedGlobalCacheExecuted = CUPTI_ACTIVITY_PARTITIONED_GLOBAL_CACHE_CONFIG_NOT_SUPPORTED;
  r.start = w.start_ns;
  r.end = w.end_ns;
  r.completed = w.conditional_body ? 0 : w.end_ns;
  r.deviceId = w.device_id;
  r.contextId = w.context_id;
  r.streamId = w.stream_id;
  r.gridX = static_cast<int32_t>(w.grid[0]);
  r.gridY = static_cast<int32_t>(w.grid[1]);
  r.gridZ = static_cast<int32_t>(w.grid[2]);
  r.blockX = static_cast<int32_t>(w.block[0]);
  r.blockY = static_cast<int32_t>(w.block[1]);
  r.blockZ = static_cast<int32_t>(w.block[2]);
  r.dynamicSharedMemory = static_cast<int32_t>(w.dynamic_shared_bytes);
  r.correlationId = w.correlation_id;
  r.gridId = w.grid_id;
  r.name = w.name;
  r.launchType = w.launch_type;
  r.sharedMemoryExecuted = 32768;
  r.graphNodeId = w.graph_node_id;
  r.graphId = w.graph_id;
  r.channelID = w.channel_id;
  r.channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
  r.clusterX = w.cluster[0];
  r.clusterY = w.cluster[1];
  r.clusterZ = w.cluster[2];
  memcpy(at, &r, sizeof r);
}

void WriteMemset(const Work& w, void* at) {
  CUpti_ActivityMemset4 r = {};
  r.kind = w.kind;
  r.value = w.value;
  r.bytes = w.bytes;
  r.start = w.start_ns;
  r.end = w.end_ns;
  r.deviceId = w.device_id;
  r.contextId = w.context_id;
  r.streamId = w.stream_id;
  r.correlationId = w.correlation_id;
  r.flags = w.flags;
  r.memoryKind = 3;
  r.graphNodeId = w.graph_node_id;
  r.graphId = w.graph_id;
  r.channelID = w.channel_id;
  r.channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
  memcpy(at, &r, sizeof r);
}

void WriteMemcpy(const Work& w, void* at) {
  CUpti_ActivityMemcpy6 r = {};
  r.kind = w.kind;
  r.copyKind = w.copy_kind;
  r.srcKind = w.source_kind;
  r.dstKind = w.destination_kind;
  r.flags = w.flags;
  r.bytes = w.bytes;
  r.start = w.start_ns;
  r.end = w.end_ns;
  r.deviceId = w.device_id;
  r.contextId = w.context_id;
  r.streamId = w.stream_id;
  r.correlationId = w.correlation_id;
  r.graphNodeId = w.graph_node_id;
  r.graphId = w.graph_id;
  r.channelID = w.channel_id;
  r.channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
  r.copyCount = 1;
  memcpy(at, &r, sizeof r);
}

// These two as the header describes them: not seen on the H200 yet.
void WriteSynchronization(const Work& w, void* at) {
  CUpti_ActivitySynchronization2 r = {};
  r.kind = w.kind;
  r.type = w.synchronization;
  r.start = w.start_ns;
  r.end = w.end_ns;
  r.correlationId = w.correlation_id;
  r.contextId = w.context_id;
  r.streamId = w.stream_id;
  r.cudaEventId = w.event_id;
  r.cudaEventSyncId = w.event_sync_id;
  r.returnValue = w.result;
  memcpy(at, &r, sizeof r);
}

void WriteEventRecord(const Work& w, void* at) {
  CUpti_ActivityCudaEvent2 r = {};
  r.kind = w.kind;
  r.correlationId = w.correlation_id;
  r.contextId = w.context_id;
  r.streamId = w.stream_id;
  r.eventId = w.event_id;
  r.deviceId = w.device_id;
  r.cudaEventSyncId = w.event_sync_id;
  memcpy(at, &r, sizeof r);
}

}  // namespace

void WriteRecord(const Work& work, void* at) {
  if (work.kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) WriteKernel(work, at);
  if (work.kind == CUPTI_ACTIVITY_KIND_MEMSET) WriteMemset(work, at);
  if (work.kind == CUPTI_ACTIVITY_KIND_MEMCPY) WriteMemcpy(work, at);
  if (work.kind == CUPTI_ACTIVITY_KIND_SYNCHRONIZATION) WriteSynchronization(work, at);
  if (work.kind == CUPTI_ACTIVITY_KIND_CUDA_EVENT) WriteEventRecord(work, at);
}

}  // namespace fake_cuda
