// How the driver's launch structures are read, once for all of them, and the launch calls that
// programs use all the time, read inline: a repeated launch is compared from registers. Used by
// launch_description.cc, which knows all the other calls, and by the callback of a repeated launch.
#pragma once

#include "cupti_tracer/core/launch_description.h"

namespace hotproof::tracer {

inline void SetDims(uint32_t (&to)[3], uint32_t x, uint32_t y, uint32_t z) {
  to[0] = x;
  to[1] = y;
  to[2] = z;
}

inline void ReadAttributes(const CUlaunchAttribute* attributes, unsigned count,
                           LaunchDescription& d) {
  for (unsigned i = 0; attributes != nullptr && i < count; ++i) {
    const CUlaunchAttributeValue& value = attributes[i].value;
    switch (attributes[i].id) {
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        SetDims(d.cluster, value.clusterDim.x, value.clusterDim.y, value.clusterDim.z);
        break;
      case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        d.cooperative = value.cooperative != 0;
        break;
      case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
        d.programmatic = value.programmaticStreamSerializationAllowed != 0;
        break;
      case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
        d.programmatic = true;
        break;
      case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
        d.device_updatable = value.deviceUpdatableKernelNode.deviceUpdatable != 0;
        break;
      default:
        break;
    }
  }
}

// Every structure in which the driver takes a launch or a node (nodes have no stream,
// configurations neither function nor arguments): what it has, by the names that all of them share.
template <typename Given>
[[gnu::always_inline]] inline void ReadLaunch(const Given& given, LaunchDescription& d) {
  if constexpr (requires { given.config; }) {
    ReadLaunch(*given.config, d);
    ReadAttributes(given.config->attrs, given.config->numAttrs, d);
  }
  if constexpr (requires { given.f; }) d.function = given.f;
  if constexpr (requires { given.function; }) d.function = given.function;
  if constexpr (requires { given.func; }) d.function = given.func;
  if constexpr (requires { given.kern; }) {
    if (d.function == nullptr) d.function = reinterpret_cast<CUfunction>(given.kern);
  }
  if constexpr (requires { given.gridDimX; }) {
    SetDims(d.grid, given.gridDimX, given.gridDimY, given.gridDimZ);
    SetDims(d.block, given.blockDimX, given.blockDimY, given.blockDimZ);
    d.dynamic_shared_bytes = given.sharedMemBytes;
  }
  if constexpr (requires { given.grid_width; }) {  // cuLaunchGrid
    SetDims(d.grid, static_cast<uint32_t>(given.grid_width),
            static_cast<uint32_t>(given.grid_height), 1);
  }
  if constexpr (requires { given.hStream; }) d.stream = given.hStream;
  if constexpr (requires { given.kernelParams; }) d.kernel_params = given.kernelParams;
  if constexpr (requires { given.extra; }) d.extra = given.extra;
}

// A callback's parameters as those of the call they are of.
template <typename Params>
[[gnu::always_inline]] inline void ReadCall(const void* params, LaunchDescription& d) {
  ReadLaunch(*static_cast<const Params*>(params), d);
}

// Fills in what the call says. False: another kind of call; nothing is filled in.
[[gnu::always_inline]] inline bool DescribeUsualLaunch(CUpti_CallbackId cbid, const void* params,
                                                       LaunchDescription& d) {
  switch (cbid) {
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel:
      ReadCall<cuLaunchKernel_params>(params, d);
      return true;
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz:
      ReadCall<cuLaunchKernel_ptsz_params>(params, d);
      d.per_thread_stream = true;
      return true;
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
      ReadCall<cuLaunchKernelEx_params>(params, d);
      return true;
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz:
      ReadCall<cuLaunchKernelEx_ptsz_params>(params, d);
      d.per_thread_stream = true;
      return true;
    default:
      return false;
  }
}

}  // namespace hotproof::tracer
