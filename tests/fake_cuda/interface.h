// What the stand-in driver and the stand-in CUPTI say to each other. The driver knows its objects
// and when something happens; CUPTI turns that into callbacks and activity records. CUPTI finds the
// driver by dlsym(libcuda.so.1, "fake_cuda_driver"); a program that no CUPTI client watches never
// loads CUPTI.
#pragma once

#include <cuda.h>
#include <cupti.h>

#include <cstdint>

namespace fake_cuda {

// One piece of work for the GPU, told at the moment its launch call accepts it. Times are those of
// the model's GPU in CLOCK_REALTIME's nanoseconds and may lie in the future: unfinished until then.
struct Work {
  CUpti_ActivityKind kind;  // CONCURRENT_KERNEL, MEMCPY, MEMSET, SYNCHRONIZATION or CUDA_EVENT
  uint64_t start_ns, end_ns;
  uint32_t device_id, context_id, stream_id, correlation_id, channel_id;
  uint64_t graph_node_id;  // 0 outside graphs
  uint32_t graph_id;
  // Kernels.
  const char* name;  // lives as long as the process
  uint32_t grid[3], block[3], cluster[3];
  uint32_t dynamic_shared_bytes, registers;
  uint8_t launch_type;
  int64_t grid_id;
  // In the body of a conditional node: CUPTI keeps its record to itself until a forced flush.
  bool conditional_body;
  // Memory.
  uint64_t bytes;
  uint32_t value;
  uint8_t copy_kind, source_kind, destination_kind, flags;
  // Synchronizations and event records: not work, but CUPTI tells of them in the same buffers.
  CUpti_ActivitySynchronizationType synchronization;
  CUresult result;
  uint32_t event_id;       // CUPTI_SYNCHRONIZATION_INVALID_VALUE: none
  uint64_t event_sync_id;  // of the event's last record; the same value: none
};

// The client's side of the driver, given by CUPTI. All functions are called on the thread that
// makes the API call, with no lock of the driver's held.
struct Tracer {
  // Whether anyone wants this callback: false saves the driver the work of making it.
  bool (*wants)(CUpti_CallbackDomain domain, CUpti_CallbackId id);
  void (*api)(CUpti_CallbackId id, const CUpti_CallbackData* data);
  void (*resource)(CUpti_CallbackId id, const CUpti_ResourceData* data);
  void (*work)(const Work& work);
};

// The driver's side of CUPTI.
struct DriverInterface {
  void (*set_tracer)(const Tracer* tracer);  // null: none
  CUptiResult (*graph_id)(CUgraph graph, uint32_t* id);
  CUptiResult (*graph_node_id)(CUgraphNode node, uint64_t* id);
  CUptiResult (*graph_exec_id)(CUgraphExec exec, uint32_t* id);
  CUptiResult (*stream_id)(CUcontext context, CUstream stream, bool per_thread, uint32_t* id);
  CUptiResult (*context_id)(CUcontext context, uint32_t* id);
  CUptiResult (*device_id)(CUcontext context, uint32_t* id);
  uint64_t (*now_ns)();  // the model's clock: CLOCK_REALTIME
};

}  // namespace fake_cuda
