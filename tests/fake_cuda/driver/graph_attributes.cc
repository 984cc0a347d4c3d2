// Attributes of kernel nodes, and what the driver tells about a node. No transcript shows these calls
// yet: they report themselves alone, like cuGraphKernelNodeSetParams.
#include <algorithm>
#include <cstring>

#include "tests/fake_cuda/driver/driver.h"

using namespace fake_cuda;

FAKE_EXPORT CUresult cuGraphKernelNodeSetAttribute(CUgraphNode node, CUkernelNodeAttrID attribute,
                                                   const CUkernelNodeAttrValue* value) {
  FAKE_CALL(cuGraphKernelNodeSetAttribute, node, attribute, value);
  if (node->type != CU_GRAPH_NODE_TYPE_KERNEL) return call.Return(CUDA_ERROR_INVALID_VALUE);
  switch (attribute) {
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      node->cluster[0] = value->clusterDim.x;
      node->cluster[1] = value->clusterDim.y;
      node->cluster[2] = value->clusterDim.z;
      break;
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
      node->cooperative = value->cooperative != 0;
      break;
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
      node->device_updatable = value->deviceUpdatableKernelNode.deviceUpdatable != 0;
      break;
    default:
      break;
  }
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuGraphKernelNodeGetAttribute(CUgraphNode node, CUkernelNodeAttrID attribute,
                                                   CUkernelNodeAttrValue* value) {
  FAKE_CALL(cuGraphKernelNodeGetAttribute, node, attribute, value);
  if (node->type != CU_GRAPH_NODE_TYPE_KERNEL) return call.Return(CUDA_ERROR_INVALID_VALUE);
  *value = {};
  switch (attribute) {
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      value->clusterDim = {node->cluster[0], node->cluster[1], node->cluster[2]};
      break;
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
      value->cooperative = node->cooperative;
      break;
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
      value->deviceUpdatableKernelNode.deviceUpdatable = node->device_updatable;
      break;
    default:
      return call.Return(CUDA_ERROR_INVALID_VALUE);
  }
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from) {
  FAKE_CALL(cuGraphKernelNodeCopyAttributes, to, from);
  if (to->type != CU_GRAPH_NODE_TYPE_KERNEL || from->type != CU_GRAPH_NODE_TYPE_KERNEL)
    return call.Return(CUDA_ERROR_INVALID_VALUE);
  memcpy(to->cluster, from->cluster, sizeof to->cluster);
  to->cooperative = from->cooperative;
  return call.Return(CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node,
                                                   CUDA_KERNEL_NODE_PARAMS* kernel) {
  FAKE_CALL(cuGraphKernelNodeGetParams_v2, node, kernel);
  if (node->type != CU_GRAPH_NODE_TYPE_KERNEL) return call.Return(CUDA_ERROR_INVALID_VALUE);
  *kernel = node->kernel;
  const std::vector<Parameter>& parameters = node->kernel.func->info->parameters;
  if (parameters.size() > std::size(node->given_parameters))
    return call.Return(CUDA_ERROR_NOT_SUPPORTED);
  for (size_t i = 0; i < parameters.size(); ++i)
    node->given_parameters[i] = node->arguments.data() + parameters[i].offset;
  kernel->kernelParams = parameters.empty() ? nullptr : node->given_parameters;
  return call.Return(CUDA_SUCCESS);
}
