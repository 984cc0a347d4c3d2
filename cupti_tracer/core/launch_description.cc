#include "cupti_tracer/core/launch_description.h"

#include "cupti_tracer/core/launch_params.h"

namespace hotproof::tracer {

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
      ReadCall<cuLaunchCooperativeKernel_params>(params, d);
      d.cooperative = true;
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz:
      ReadCall<cuLaunchCooperativeKernel_ptsz_params>(params, d);
      d.cooperative = d.per_thread_stream = true;
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernelMultiDevice: {
      const auto& all = *static_cast<const cuLaunchCooperativeKernelMultiDevice_params*>(params);
      ReadLaunch(all.launchParamsList[index], d);
      d.cooperative = true;
      if (all.numDevices > 1) d.symbol_name = nullptr;  // the callback names one of several
      break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuLaunch:
      ReadCall<cuLaunch_params>(params, d);
      SetDims(d.grid, 1, 1, 1);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchGrid:
      ReadCall<cuLaunchGrid_params>(params, d);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchGridAsync:
      ReadCall<cuLaunchGridAsync_params>(params, d);
      break;
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
  ReadLaunch(params, d);
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
  // Whatever the call names the node's parameters' type.
  const auto read_node = [&d]<typename Params>(const Params* call) {
    const auto* node = call->nodeParams;
    if (node == nullptr) return false;
    if constexpr (requires { node->kernel; }) {
      if (node->type != CU_GRAPH_NODE_TYPE_KERNEL) return false;
      ReadLaunch(node->kernel, d);
    } else {
      ReadLaunch(*node, d);
    }
    return true;
  };
#define NODE_CALL(name)                \
  case CUPTI_DRIVER_TRACE_CBID_##name: \
    return read_node(static_cast<const name##_params*>(params))
  switch (cbid) {
    NODE_CALL(cuGraphAddKernelNode);
    NODE_CALL(cuGraphAddKernelNode_v2);
    NODE_CALL(cuGraphExecKernelNodeSetParams);
    NODE_CALL(cuGraphExecKernelNodeSetParams_v2);
    NODE_CALL(cuGraphKernelNodeSetParams);
    NODE_CALL(cuGraphKernelNodeSetParams_v2);
    NODE_CALL(cuGraphAddNode);
    NODE_CALL(cuGraphAddNode_v2);
    NODE_CALL(cuGraphNodeSetParams);
    NODE_CALL(cuGraphExecNodeSetParams);
    default:
      return false;
  }
#undef NODE_CALL
}

}  // namespace hotproof::tracer
