// The launch calls that programs use all the time, read inline: a repeated launch is compared from
// registers. Used by launch_description.cc, which knows all the others, and by the callback of a
// repeated launch.
#pragma once

#include "cupti_tracer/core/launch_description.h"

namespace hotproof::tracer {

inline void SetDims(uint32_t (&to)[3], uint32_t x, uint32_t y, uint32_t z) {
  to[0] = x;
  to[1] = y;
  to[2] = z;
}

// cuLaunchKernel, its cooperative form and their _ptsz twins have these members in common.
template <typename Params>
void FromPlainLaunch(const void* params, LaunchDescription& d) {
  const auto& p = *static_cast<const Params*>(params);
  d.function = p.f;
  SetDims(d.grid, p.gridDimX, p.gridDimY, p.gridDimZ);
  SetDims(d.block, p.blockDimX, p.blockDimY, p.blockDimZ);
  d.dynamic_shared_bytes = p.sharedMemBytes;
  d.stream = p.hStream;
  d.kernel_params = p.kernelParams;
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

template <typename Params>
void FromExtendedLaunch(const void* params, LaunchDescription& d) {
  const auto& p = *static_cast<const Params*>(params);
  const CUlaunchConfig& config = *p.config;
  d.function = p.f;
  SetDims(d.grid, config.gridDimX, config.gridDimY, config.gridDimZ);
  SetDims(d.block, config.blockDimX, config.blockDimY, config.blockDimZ);
  d.dynamic_shared_bytes = config.sharedMemBytes;
  d.stream = config.hStream;
  d.kernel_params = p.kernelParams;
  d.extra = p.extra;
  ReadAttributes(config.attrs, config.numAttrs, d);
}

// Fills in what the call says. False: another kind of call; nothing is filled in.
[[gnu::always_inline]] inline bool DescribeUsualLaunch(CUpti_CallbackId cbid, const void* params,
                                                       LaunchDescription& d) {
  switch (cbid) {
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel:
      FromPlainLaunch<cuLaunchKernel_params>(params, d);
      d.extra = static_cast<const cuLaunchKernel_params*>(params)->extra;
      return true;
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz:
      FromPlainLaunch<cuLaunchKernel_ptsz_params>(params, d);
      d.extra = static_cast<const cuLaunchKernel_ptsz_params*>(params)->extra;
      d.per_thread_stream = true;
      return true;
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
      FromExtendedLaunch<cuLaunchKernelEx_params>(params, d);
      return true;
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz:
      FromExtendedLaunch<cuLaunchKernelEx_ptsz_params>(params, d);
      d.per_thread_stream = true;
      return true;
    default:
      return false;
  }
}

}  // namespace hotproof::tracer
