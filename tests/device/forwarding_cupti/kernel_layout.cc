// Prints where each field of CUpti_ActivityKernel10 lies by the header that this is built with, one
// "name offset size" a line: what records.py reads must agree with it (checked by ctest).
#include <cuda.h>
#include <cupti.h>

#include <cstddef>
#include <cstdio>

#define FIELD(name)                                                     \
  printf("%s %zu %zu\n", #name, offsetof(CUpti_ActivityKernel10, name), \
         sizeof(static_cast<CUpti_ActivityKernel10*>(nullptr)->name))

int main() {
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
  printf("sizeof 0 %zu\n", sizeof(CUpti_ActivityKernel10));
  return 0;
}
