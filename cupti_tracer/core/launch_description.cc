#include "cupti_tracer/core/launch_description.h"

#include "cupti_tracer/core/launch_params.h"

namespace hotproof::tracer {
namespace {

// All versions of CUDA_KERNEL_NODE_PARAMS begin with these members.
template <typename NodeParams>
void FromNodeParams(const NodeParams& p, LaunchDescription& d) {
  d.function = p.func;
  if constexpr (requires { p.kern; }) {
    if (d.function == nullptr) d.function = reinterpret_cast<CUfunction>(p.kern);
  }
  SetDims(d.grid, p.gridDimX, p.gridDimY, p.gridDimZ);
  SetDims(d.block, p.blockDimX, p.blockDimY, p.blockDimZ);
  d.dynamic_shared_bytes = p.sharedMemBytes;
  d.kernel_params = p.kernelParams;
  d.extra = p.extra;
}

}  // namespace

bool IsKernelLaunchSlow(CUpti_CallbackId cbid) {
  switch (cbid) {
    case CUPTI_DRIVER_TRACE_CBID_cuLaunch:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchGrid:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchGridAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernelMultiDevice:
      return true;
    default:
      return false;
  }
}

bool IsLegacyLaunch(CUpti_CallbackId cbid) {
  return cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunch || cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchGrid ||
         cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchGridAsync;
}

bool IsGraphLaunch(CUpti_CallbackId cbid) {
  return cbid == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch ||
         cbid == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz;
}

bool IsKernelNodeCall(CUpti_CallbackId cbid) {
  switch (cbid) {
    case CUPTI_DRIVER_TRACE_CBID_cuGraphAddKernelNode:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphAddKernelNode_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphAddNode:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphAddNode_v2:
      return true;
    default:
      return false;
  }
}

uint32_t LaunchesOfCall(CUpti_CallbackId cbid, const void* params) {
  if (cbid != CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernelMultiDevice) return 1;
  return static_cast<const cuLaunchCooperativeKernelMultiDevice_params*>(params)->numDevices;
}

LaunchDescription DescribeLaunch(CUpti_CallbackId cbid, const void* params, const char* symbol_name,
                                 uint32_t index) {
  LaunchDescription d;
  d.symbol_name = symbol_name;
  d.cbid = cbid;
  if (DescribeUsualLaunch(cbid, params, d)) return d;
  switch (cbid) {
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel:
      FromPlainLaunch<cuLaunchCooperativeKernel_params>(params, d);
      d.cooperative = true;
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz:
      FromPlainLaunch<cuLaunchCooperativeKernel_ptsz_params>(params, d);
      d.cooperative = d.per_thread_stream = true;
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernelMultiDevice: {
      const auto& all = *static_cast<const cuLaunchCooperativeKernelMultiDevice_params*>(params);
      const CUDA_LAUNCH_PARAMS& p = all.launchParamsList[index];
      d.function = p.function;
      SetDims(d.grid, p.gridDimX, p.gridDimY, p.gridDimZ);
      SetDims(d.block, p.blockDimX, p.blockDimY, p.blockDimZ);
      d.dynamic_shared_bytes = p.sharedMemBytes;
      d.stream = p.hStream;
      d.kernel_params = p.kernelParams;
      d.cooperative = true;
      if (all.numDevices > 1) d.symbol_name = nullptr;  // the callback names one of several
      break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuLaunch:
      d.function = static_cast<const cuLaunch_params*>(params)->f;
      SetDims(d.grid, 1, 1, 1);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchGrid: {
      const auto& p = *static_cast<const cuLaunchGrid_params*>(params);
      d.function = p.f;
      SetDims(d.grid, static_cast<uint32_t>(p.grid_width), static_cast<uint32_t>(p.grid_height), 1);
      break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchGridAsync: {
      const auto& p = *static_cast<const cuLaunchGridAsync_params*>(params);
      d.function = p.f;
      SetDims(d.grid, static_cast<uint32_t>(p.grid_width), static_cast<uint32_t>(p.grid_height), 1);
      d.stream = p.hStream;
      break;
    }
    default:
      break;
  }
  return d;
}

bool DescribeKernelNode(const Driver& driver, CUgraphNode node, LaunchDescription& d) {
  d = LaunchDescription();
  d.captured = true;
  CUDA_KERNEL_NODE_PARAMS params{};
  if (driver.GraphKernelNodeGetParams == nullptr || driver.GraphKernelNodeGetAttribute == nullptr ||
      driver.GraphKernelNodeGetParams(node, &params) != CUDA_SUCCESS) {
    return false;
  }
  FromNodeParams(params, d);
  for (const CUlaunchAttributeID id :
       {CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
        CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE}) {
    CUlaunchAttribute attribute{};
    attribute.id = id;
    // An attribute that this driver does not know was not set either.
    if (driver.GraphKernelNodeGetAttribute(node, id, &attribute.value) == CUDA_SUCCESS) {
      ReadAttributes(&attribute, 1, d);
    }
  }
  return true;
}

bool DescribeKernelNode(CUpti_CallbackId cbid, const void* params, LaunchDescription& d) {
  d = LaunchDescription();
  d.cbid = cbid;
  d.captured = true;
  const auto from_any_node = [&d](const CUgraphNodeParams* node) {
    if (node == nullptr || node->type != CU_GRAPH_NODE_TYPE_KERNEL) return false;
    const CUDA_KERNEL_NODE_PARAMS_v3& p = node->kernel;
    FromNodeParams(p, d);
    return true;
  };
  const auto from_kernel_node = [&d](const auto* node) {
    if (node == nullptr) return false;
    FromNodeParams(*node, d);
    return true;
  };
  switch (cbid) {
    case CUPTI_DRIVER_TRACE_CBID_cuGraphAddKernelNode:
      return from_kernel_node(static_cast<const cuGraphAddKernelNode_params*>(params)->nodeParams);
    case CUPTI_DRIVER_TRACE_CBID_cuGraphAddKernelNode_v2:
      return from_kernel_node(static_cast<const cuGraphAddKernelNode_v2_params*>(params)->nodeParams);
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecKernelNodeSetParams:
      return from_kernel_node(
          static_cast<const cuGraphExecKernelNodeSetParams_params*>(params)->nodeParams);
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecKernelNodeSetParams_v2:
      return from_kernel_node(
          static_cast<const cuGraphExecKernelNodeSetParams_v2_params*>(params)->nodeParams);
    case CUPTI_DRIVER_TRACE_CBID_cuGraphKernelNodeSetParams:
      return from_kernel_node(
          static_cast<const cuGraphKernelNodeSetParams_params*>(params)->nodeParams);
    case CUPTI_DRIVER_TRACE_CBID_cuGraphKernelNodeSetParams_v2:
      return from_kernel_node(
          static_cast<const cuGraphKernelNodeSetParams_v2_params*>(params)->nodeParams);
    case CUPTI_DRIVER_TRACE_CBID_cuGraphAddNode:
      return from_any_node(static_cast<const cuGraphAddNode_params*>(params)->nodeParams);
    case CUPTI_DRIVER_TRACE_CBID_cuGraphAddNode_v2:
      return from_any_node(static_cast<const cuGraphAddNode_v2_params*>(params)->nodeParams);
    case CUPTI_DRIVER_TRACE_CBID_cuGraphNodeSetParams:
      return from_any_node(static_cast<const cuGraphNodeSetParams_params*>(params)->nodeParams);
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecNodeSetParams:
      return from_any_node(static_cast<const cuGraphExecNodeSetParams_params*>(params)->nodeParams);
    default:
      return false;
  }
}

}  // namespace hotproof::tracer
