// Questions about ids, time and version.
#include "tests/fake_cuda/cupti/cupti.h"
#include "tests/fake_cuda/faults.h"

using namespace fake_cuda;

FAKE_EXPORT CUptiResult cuptiGetVersion(uint32_t* version) {
  *version = static_cast<uint32_t>(GetFaults().cupti_version);
  return CUPTI_SUCCESS;
}

FAKE_EXPORT CUptiResult cuptiGetLastError() { return CUPTI_SUCCESS; }

FAKE_EXPORT CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
  switch (result) {
    case CUPTI_SUCCESS:
      *text = "CUPTI_SUCCESS";
      break;
    case CUPTI_ERROR_INVALID_PARAMETER:
      *text = "CUPTI_ERROR_INVALID_PARAMETER";
      break;
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
      *text = "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED";
      break;
    default:
      *text = "CUPTI_ERROR_UNKNOWN";
  }
  return CUPTI_SUCCESS;
}

FAKE_EXPORT CUptiResult cuptiGetTimestamp(uint64_t* timestamp) {
  if (Driver() == nullptr) return CUPTI_ERROR_NOT_INITIALIZED;
  *timestamp = Driver()->now_ns();
  return CUPTI_SUCCESS;
}

FAKE_EXPORT CUptiResult cuptiGetGraphId(CUgraph graph, uint32_t* id) {
  return Driver() == nullptr ? CUPTI_ERROR_NOT_INITIALIZED : Driver()->graph_id(graph, id);
}

FAKE_EXPORT CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t* id) {
  return Driver() == nullptr ? CUPTI_ERROR_NOT_INITIALIZED : Driver()->graph_node_id(node, id);
}

FAKE_EXPORT CUptiResult cuptiGetGraphExecId(CUgraphExec exec, uint32_t* id) {
  return Driver() == nullptr ? CUPTI_ERROR_NOT_INITIALIZED : Driver()->graph_exec_id(exec, id);
}

FAKE_EXPORT CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t per_thread,
                                           uint32_t* id) {
  return Driver() == nullptr ? CUPTI_ERROR_NOT_INITIALIZED
                             : Driver()->stream_id(context, stream, per_thread != 0, id);
}

FAKE_EXPORT CUptiResult cuptiGetStreamId(CUcontext context, CUstream stream, uint32_t* id) {
  return cuptiGetStreamIdEx(context, stream, 0, id);
}

FAKE_EXPORT CUptiResult cuptiGetContextId(CUcontext context, uint32_t* id) {
  return Driver() == nullptr ? CUPTI_ERROR_NOT_INITIALIZED : Driver()->context_id(context, id);
}

FAKE_EXPORT CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t* id) {
  return Driver() == nullptr ? CUPTI_ERROR_NOT_INITIALIZED : Driver()->device_id(context, id);
}
