// One launch (or kernel node) as the driver was asked for it, whatever entry point was used. Filled
// inside a CUPTI callback; its pointers are valid there only.
#pragma once

#include <cuda.h>
#include <cupti.h>

#include <cstdint>

#include "cupti_tracer/core/cupti_api.h"
#include "cupti_tracer/ranges/range_ids.h"

namespace hotproof::tracer {

// Launch attributes that are part of a site. A graph node keeps them when its parameters change.
struct KernelAttributes {
  uint32_t cluster[3] = {};
  bool cooperative = false, programmatic = false;
  bool device_updatable = false;  // a graph node that kernels may change
};

struct LaunchDescription : KernelAttributes {
  // Member by member: g++ would clear the whole by `rep stos`, what is set right after it included.
  LaunchDescription() {}

  CUfunction function = nullptr;
  const char* symbol_name = nullptr;     // mangled; null for graph nodes built by hand
  uint32_t grid[3] = {}, block[3] = {};  // block 0, 0, 0: not known (IsLegacyLaunch)
  uint32_t dynamic_shared_bytes = 0;
  bool captured = false;
  RangeIds ranges;  // of an eager launch; those of a node are the node's
  void** kernel_params = nullptr;
  void** extra = nullptr;
  uint32_t cbid = 0;
  CUstream stream = nullptr;
  bool per_thread_stream = false;  // a *_ptsz entry point
};

// The driver entry points that launch kernels, eagerly or into a capture, but for the two that
// nearly everyone uses.
bool IsKernelLaunchSlow(CUpti_CallbackId cbid);
// All of them.
inline bool IsKernelLaunch(CUpti_CallbackId cbid) {
  return cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel ||
         cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx || IsKernelLaunchSlow(cbid);
}
// Of them, those that take block and shared memory from calls made before (cuFuncSetBlockShape).
bool IsLegacyLaunch(CUpti_CallbackId cbid);
bool IsGraphLaunch(CUpti_CallbackId cbid);
// Entry points that add a kernel node to a graph by hand.
bool IsKernelNodeCall(CUpti_CallbackId cbid);

// Kernel launches asked for by one call: 1, but for cuLaunchCooperativeKernelMultiDevice.
uint32_t LaunchesOfCall(CUpti_CallbackId cbid, const void* params);
// `params`, `symbol_name`: of the callback's data; `index` below LaunchesOfCall.
LaunchDescription DescribeLaunch(CUpti_CallbackId cbid, const void* params, const char* symbol_name,
                                 uint32_t index);
// False when the node of this call is no kernel node.
bool DescribeKernelNode(CUpti_CallbackId cbid, const void* params, LaunchDescription& description);

// The kernel node `node` of a graph as the driver knows it now, attributes included but for
// `programmatic`, which is no attribute of nodes. False when the driver does not tell. Calls the
// driver; the description is valid until the node changes.
bool DescribeKernelNode(const Driver& driver, CUgraphNode node, LaunchDescription& description);

}  // namespace hotproof::tracer
