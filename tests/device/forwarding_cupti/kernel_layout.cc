// Prints where each field of the activity records that hotproof reads lies by the header that this is
// built with, one "record name offset size" a line: what records.py reads must agree with it (checked
// by ctest).
#include <cuda.h>
#include <cupti.h>

#include <cstddef>
#include <cstdio>

#define RECORD(name, type)             \
  const char* const record = name;     \
  using Record = type;                 \
  printf("%s sizeof 0 %zu\n", record, sizeof(Record))
#define FIELD(name)                                                      \
  printf("%s %s %zu %zu\n", record, #name, offsetof(Record, name),       \
         sizeof(static_cast<Record*>(nullptr)->name))

int main() {
  {
    RECORD("Kernel", CUpti_ActivityKernel10);
    FIELD(kind);
    FIELD(cacheConfig);
    FIELD(sharedMemoryConfig);
    FIELD(registersPerThread);
    FIELD(partitionedGlobalCacheRequested);
    FIELD(partitionedGlobalCacheExecuted);
    FIELD(start);
    FIELD(end);
    FIELD(completed);
    FIELD(deviceId);
    FIELD(contextId);
    FIELD(streamId);
    FIELD(gridX);
    FIELD(gridY);
    FIELD(gridZ);
    FIELD(blockX);
    FIELD(blockY);
    FIELD(blockZ);
    FIELD(staticSharedMemory);
    FIELD(dynamicSharedMemory);
    FIELD(localMemoryPerThread);
    FIELD(localMemoryTotal);
    FIELD(correlationId);
    FIELD(gridId);
    FIELD(name);
    FIELD(reserved0);
    FIELD(queued);
    FIELD(submitted);
    FIELD(launchType);
    FIELD(isSharedMemoryCarveoutRequested);
    FIELD(sharedMemoryCarveoutRequested);
    FIELD(padding);
    FIELD(sharedMemoryExecuted);
    FIELD(graphNodeId);
    FIELD(shmemLimitConfig);
    FIELD(graphId);
    FIELD(pAccessPolicyWindow);
    FIELD(channelID);
    FIELD(channelType);
    FIELD(clusterX);
    FIELD(clusterY);
    FIELD(clusterZ);
    FIELD(clusterSchedulingPolicy);
    FIELD(localMemoryTotal_v2);
    FIELD(maxPotentialClusterSize);
    FIELD(maxActiveClusters);
    FIELD(isDeviceLaunched);
    FIELD(padding3);
  }
  {
    RECORD("Memcpy", CUpti_ActivityMemcpy6);
    FIELD(kind);
    FIELD(copyKind);
    FIELD(srcKind);
    FIELD(dstKind);
    FIELD(flags);
    FIELD(bytes);
    FIELD(start);
    FIELD(end);
    FIELD(deviceId);
    FIELD(contextId);
    FIELD(streamId);
    FIELD(correlationId);
    FIELD(runtimeCorrelationId);
    FIELD(pad);
    FIELD(reserved0);
    FIELD(graphNodeId);
    FIELD(graphId);
    FIELD(channelID);
    FIELD(channelType);
    FIELD(isDeviceLaunched);
    FIELD(pad2);
    FIELD(copyCount);
  }
  {
    RECORD("Memcpy2", CUpti_ActivityMemcpyPtoP4);
    FIELD(kind);
    FIELD(copyKind);
    FIELD(srcKind);
    FIELD(dstKind);
    FIELD(flags);
    FIELD(bytes);
    FIELD(start);
    FIELD(end);
    FIELD(deviceId);
    FIELD(contextId);
    FIELD(streamId);
    FIELD(srcDeviceId);
    FIELD(srcContextId);
    FIELD(dstDeviceId);
    FIELD(dstContextId);
    FIELD(correlationId);
    FIELD(reserved0);
    FIELD(graphNodeId);
    FIELD(graphId);
    FIELD(channelID);
    FIELD(channelType);
  }
  {
    RECORD("Memset", CUpti_ActivityMemset4);
    FIELD(kind);
    FIELD(value);
    FIELD(bytes);
    FIELD(start);
    FIELD(end);
    FIELD(deviceId);
    FIELD(contextId);
    FIELD(streamId);
    FIELD(correlationId);
    FIELD(flags);
    FIELD(memoryKind);
    FIELD(pad);
    FIELD(reserved0);
    FIELD(graphNodeId);
    FIELD(graphId);
    FIELD(channelID);
    FIELD(channelType);
    FIELD(isDeviceLaunched);
    FIELD(pad2);
  }
  {
    RECORD("Synchronization", CUpti_ActivitySynchronization2);
    FIELD(kind);
    FIELD(type);
    FIELD(start);
    FIELD(end);
    FIELD(correlationId);
    FIELD(contextId);
    FIELD(streamId);
    FIELD(cudaEventId);
    FIELD(cudaEventSyncId);
    FIELD(returnValue);
    FIELD(pad);
  }
  {
    RECORD("CudaEvent", CUpti_ActivityCudaEvent2);
    FIELD(kind);
    FIELD(correlationId);
    FIELD(contextId);
    FIELD(streamId);
    FIELD(eventId);
    FIELD(pad);
    FIELD(deviceId);
    FIELD(pad2);
    FIELD(reserved0);
    FIELD(deviceTimestamp);
    FIELD(cudaEventSyncId);
  }
  return 0;
}
