#include "tests/device/forwarding_cupti/callback_log.h"

#include <cstdio>
#include <cstring>
#include <string>

#include "tests/device/forwarding_cupti/log.h"
#include "tests/device/forwarding_cupti/real_cupti.h"
#include "tests/device/forwarding_cupti/safe_read.h"

namespace forwarder {
namespace {

std::string Id(uint64_t handle, CUptiResult result, uint64_t id) {
  char text[80];
  snprintf(text, sizeof text, "[\"0x%llx\",%d,%llu]", static_cast<unsigned long long>(handle),
           static_cast<int>(result), static_cast<unsigned long long>(id));
  return text;
}

// [handle, CUptiResult, id]
std::string GraphId(CUgraph graph) {
  uint32_t id = 0;
  const CUptiResult r = REAL(cuptiGetGraphId)(graph, &id);
  return Id(reinterpret_cast<uint64_t>(graph), r, id);
}
std::string NodeId(CUgraphNode node) {
  uint64_t id = 0;
  const CUptiResult r = REAL(cuptiGetGraphNodeId)(node, &id);
  return Id(reinterpret_cast<uint64_t>(node), r, id);
}
std::string ExecId(CUgraphExec exec) {
  uint32_t id = 0;
  const CUptiResult r = REAL(cuptiGetGraphExecId)(exec, &id);
  return Id(reinterpret_cast<uint64_t>(exec), r, id);
}
std::string StreamId(CUcontext context, CUstream stream, bool per_thread) {
  uint32_t id = 0;
  const CUptiResult r = REAL(cuptiGetStreamIdEx)(context, stream, per_thread, &id);
  return Id(reinterpret_cast<uint64_t>(stream), r, id);
}

void LogLaunchConfig(Line& line, const CUlaunchConfig& c) {
  char text[160];
  snprintf(text, sizeof text, "[%u,%u,%u,%u,%u,%u,%u]", c.gridDimX, c.gridDimY, c.gridDimZ,
           c.blockDimX, c.blockDimY, c.blockDimZ, c.sharedMemBytes);
  line.Raw("launch", text);
  line.Hex("stream_handle", reinterpret_cast<uint64_t>(c.hStream));
  std::string attributes = "[";
  for (unsigned i = 0; i < c.numAttrs; ++i) {
    uint64_t words[2];
    memcpy(words, &c.attrs[i].value, sizeof words);
    snprintf(text, sizeof text, "%s[%d,\"0x%llx\",\"0x%llx\"]", i ? "," : "", c.attrs[i].id,
             static_cast<unsigned long long>(words[0]), static_cast<unsigned long long>(words[1]));
    attributes += text;
  }
  line.Raw("attributes", attributes + "]");
}

void LogDriverCall(Line& line, CUpti_CallbackId id, const CUpti_CallbackData& data) {
  const void* p = data.functionParams;
  const bool enter = data.callbackSite == CUPTI_API_ENTER;
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz: {
      const auto& a = *static_cast<const cuLaunchKernel_params*>(p);
      CUlaunchConfig c = {a.gridDimX,  a.gridDimY,       a.gridDimZ, a.blockDimX, a.blockDimY,
                          a.blockDimZ, a.sharedMemBytes, a.hStream,  nullptr,     0};
      LogLaunchConfig(line, c);
      if (enter)
        line.Raw("stream", StreamId(data.context, a.hStream,
                                    id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz));
      break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz: {
      const auto& a = *static_cast<const cuLaunchKernelEx_params*>(p);
      LogLaunchConfig(line, *a.config);
      break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz: {
      const auto& a = *static_cast<const cuGraphLaunch_params*>(p);
      line.Raw("exec", ExecId(a.hGraph));
      if (enter)
        line.Raw("stream", StreamId(data.context, a.hStream,
                                    id == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz));
      break;
    }
    default:
      break;
  }
}

void LogGraphData(Line& line, CUpti_CallbackId id, const CUpti_GraphData& g) {
  uint64_t words[7];
  static_assert(sizeof g == sizeof words);
  memcpy(words, &g, sizeof words);
  line.Words("raw", words, 7);  // fields that this callback does not document hold anything
  switch (id) {
    case CUPTI_CBID_RESOURCE_GRAPH_CREATED:
    case CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING:
    case CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING:
      line.Raw("graph", GraphId(g.graph));
      break;
    case CUPTI_CBID_RESOURCE_GRAPH_CLONED:
      line.Raw("graph", GraphId(g.graph)).Raw("original", GraphId(g.originalGraph));
      break;
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CREATE_STARTING:
      line.Raw("graph", GraphId(g.graph)).Int("node_type", g.nodeType);
      break;
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED:
    case CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING:
      line.Raw("graph", GraphId(g.graph)).Raw("node", NodeId(g.node)).Int("node_type", g.nodeType);
      break;
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED:
      line.Raw("graph", GraphId(g.graph)).Raw("original", GraphId(g.originalGraph));
      line.Raw("node", NodeId(g.node)).Raw("original_node", NodeId(g.originalNode));
      line.Int("node_type", g.nodeType);
      break;
    case CUPTI_CBID_RESOURCE_GRAPHNODE_DEPENDENCY_CREATED:
    case CUPTI_CBID_RESOURCE_GRAPHNODE_DEPENDENCY_DESTROY_STARTING:
      line.Raw("node", NodeId(g.node)).Raw("dependency", NodeId(g.dependency));
      break;
    case CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED:
      line.Raw("graph", GraphId(g.graph)).Raw("exec", ExecId(g.graphExec));
      break;
    case CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING:
      line.Raw("exec", ExecId(g.graphExec));
      break;
    default:
      break;
  }
}

void LogModule(Line& line, const void* descriptor, bool with_hash) {
  const auto m = SafeLoad<CUpti_ModuleResourceData>(descriptor);
  if (!m) return;
  line.Uint("module_id", m->moduleId).Uint("cubin_size", m->cubinSize);
  line.Hex("cubin", reinterpret_cast<uint64_t>(m->pCubin));
  if (!with_hash) return;
  std::string cubin(m->cubinSize, 0);
  cubin.resize(SafeRead(m->pCubin, cubin.data(), cubin.size()));
  uint64_t hash = 1469598103934665603u;  // FNV-1a of the cubin, to tell images apart
  for (const char c : cubin) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  line.Uint("cubin_readable", cubin.size()).Hex("cubin_fnv1a", hash);
}

void LogResourceData(Line& line, CUpti_CallbackId id, const CUpti_ResourceData& data) {
  line.Hex("stream_field", reinterpret_cast<uint64_t>(data.resourceHandle.stream));
  line.Hex("descriptor", reinterpret_cast<uint64_t>(data.resourceDescriptor));
  switch (id) {
    case CUPTI_CBID_RESOURCE_CONTEXT_CREATED:
    case CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING: {
      uint32_t context_id = 0, device_id = 0;
      const CUptiResult c = REAL(cuptiGetContextId)(data.context, &context_id);
      const CUptiResult d = REAL(cuptiGetDeviceId)(data.context, &device_id);
      line.Int("context_id", c == CUPTI_SUCCESS ? int(context_id) : -int(c));
      line.Int("device_id", d == CUPTI_SUCCESS ? int(device_id) : -int(d));
      break;
    }
    case CUPTI_CBID_RESOURCE_STREAM_CREATED:
    case CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING:
      line.Raw("stream", StreamId(data.context, data.resourceHandle.stream, false));
      break;
    case CUPTI_CBID_RESOURCE_MODULE_LOADED:
    case CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING:
      LogModule(line, data.resourceDescriptor, true);
      break;
    case CUPTI_CBID_RESOURCE_MODULE_PROFILED:  // at every eager launch
      LogModule(line, data.resourceDescriptor, false);
      break;
    default:
      if (id < CUPTI_CBID_RESOURCE_GRAPH_CREATED ||
          id == CUPTI_CBID_RESOURCE_STREAM_ATTRIBUTE_CHANGED)
        break;
      if (const auto graph = SafeLoad<CUpti_GraphData>(data.resourceDescriptor))
        LogGraphData(line, id, *graph);
  }
}

}  // namespace

void LogApi(const char* event, CUpti_CallbackId id, const CUpti_CallbackData& data, bool driver) {
  Line line(event);
  line.Uint("id", id).Text("f", data.functionName);
  line.Text("site", data.callbackSite == CUPTI_API_ENTER ? "enter" : "exit");
  line.Uint("corr", data.correlationId).Uint("ctx", data.contextUid);
  line.Hex("context", reinterpret_cast<uint64_t>(data.context));
  // symbolName is documented for launches alone: elsewhere it may point anywhere.
  line.Hex("sym_pointer", reinterpret_cast<uint64_t>(data.symbolName));
  const auto symbol = SafeString(data.symbolName);
  line.Text("sym", symbol ? symbol->c_str() : nullptr);
  uint64_t words[8];
  line.Words("p", words, SafeRead(data.functionParams, words, sizeof words) / sizeof words[0]);
  if (data.callbackSite == CUPTI_API_EXIT) {
    if (const auto result = SafeLoad<int>(data.functionReturnValue)) line.Int("ret", *result);
  }
  if (driver) LogDriverCall(line, id, data);
  line.End();
}

void LogResource(CUpti_CallbackId id, const void* cbdata) {
  Line line("resource");
  const char* name = nullptr;
  REAL(cuptiGetCallbackName)(CUPTI_CB_DOMAIN_RESOURCE, id, &name);
  line.Uint("id", id).Text("f", name).Hex("data", reinterpret_cast<uint64_t>(cbdata));
  const auto data = SafeLoad<CUpti_ResourceData>(cbdata);
  if (data && id != CUPTI_CBID_RESOURCE_CU_INIT_FINISHED) {
    line.Hex("context", reinterpret_cast<uint64_t>(data->context));
    LogResourceData(line, id, *data);
  }
  line.End();
}

void LogState(CUpti_CallbackId id, const void* cbdata) {
  Line line("state");
  line.Uint("id", id).Hex("data", reinterpret_cast<uint64_t>(cbdata));
  if (const auto state = SafeLoad<CUpti_StateData>(cbdata)) {
    const auto message = SafeString(state->notification.message);
    line.Int("result", state->notification.result);
    line.Text("message", message ? message->c_str() : nullptr);
  }
  line.End();
}

}  // namespace forwarder
