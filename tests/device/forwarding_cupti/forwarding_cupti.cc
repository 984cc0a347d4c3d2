// libcupti.so.13 that forwards every call to the real one (file in $REAL_CUPTI) and logs what
// passes: each call of the client with arguments and result, each callback before the client sees
// it, and each activity buffer, byte for byte, before the client sees it. A client finds it as it
// finds CUPTI: by path, or by soname when preloaded. It changes nothing on the way; the questions
// it asks the real CUPTI itself (ids of graphs, nodes, streams) are its only calls of its own.
#include <cuda.h>
#include <cupti.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "tests/device/forwarding_cupti/log.h"
#include "tests/device/forwarding_cupti/safe_read.h"

namespace forwarder {
namespace {

enum Function {
#define X(name, arguments) k_##name,
#include "tests/device/forwarding_cupti/cupti_functions.inc"
#undef X
  kFunctionCount
};

const char* const kNames[] = {
#define X(name, arguments) #name,
#include "tests/device/forwarding_cupti/cupti_functions.inc"
#undef X
};

const int kArguments[] = {
#define X(name, arguments) arguments,
#include "tests/device/forwarding_cupti/cupti_functions.inc"
#undef X
};

using Word = uint64_t;
using Generic = Word (*)(Word, Word, Word, Word, Word, Word, Word, Word, Word, Word);

// FORWARD_BACKTRACE=1: where a crash happened, on stderr, before it takes its course.
void OnCrash(int signal_number) {
  void* frames[40];
  backtrace_symbols_fd(frames, backtrace(frames, 40), STDERR_FILENO);
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

void* RealLibrary() {
  static void* const library = [] {
    const char* path = getenv("REAL_CUPTI");
    void* handle = path == nullptr ? nullptr : dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (handle == nullptr) {
      fprintf(stderr, "forwarding_cupti: REAL_CUPTI=%s: %s\n", path ? path : "(unset)", dlerror());
      abort();
    }
    if (getenv("FORWARD_BACKTRACE") != nullptr) signal(SIGSEGV, OnCrash);
    Dl_info info;
    void* probe = dlsym(handle, "cuptiGetVersion");
    Line("open")
        .Text("path", path)
        .Text("file", dladdr(probe, &info) ? info.dli_fname : nullptr)
        .End();
    return handle;
  }();
  return library;
}

void* Real(Function f) {
  static std::atomic<void*> table[kFunctionCount];
  void* real = table[f].load(std::memory_order_acquire);
  if (real == nullptr) {
    real = dlsym(RealLibrary(), kNames[f]);
    table[f].store(real, std::memory_order_release);
  }
  return real;
}

template <typename Signature>
Signature* RealAs(Function f) {
  return reinterpret_cast<Signature*>(Real(f));
}
#define REAL(name) RealAs<decltype(name)>(k_##name)

struct Client {
  CUpti_CallbackFunc callback = nullptr;
  void* userdata = nullptr;
};
Client g_client;  // CUPTI 13.0 has one subscriber
CUpti_BuffersCallbackRequestFunc g_requested = nullptr;
CUpti_BuffersCallbackCompleteFunc g_completed = nullptr;

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

void CUPTIAPI OnCallback(void* userdata, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                         const void* data) {
  const auto* api = static_cast<const CUpti_CallbackData*>(data);
  const bool is_api = domain == CUPTI_CB_DOMAIN_DRIVER_API || domain == CUPTI_CB_DOMAIN_RUNTIME_API;
  if (is_api && api->callbackSite == CUPTI_API_EXIT) --Depth();
  switch (domain) {
    case CUPTI_CB_DOMAIN_DRIVER_API:
      LogApi("driver", id, *api, true);
      break;
    case CUPTI_CB_DOMAIN_RUNTIME_API:
      LogApi("runtime", id, *api, false);
      break;
    case CUPTI_CB_DOMAIN_RESOURCE:
      LogResource(id, data);
      break;
    case CUPTI_CB_DOMAIN_STATE: {
      Line line("state");
      line.Uint("id", id).Hex("data", reinterpret_cast<uint64_t>(data));
      if (const auto state = SafeLoad<CUpti_StateData>(data)) {
        const auto message = SafeString(state->notification.message);
        line.Int("result", state->notification.result);
        line.Text("message", message ? message->c_str() : nullptr);
      }
      line.End();
      break;
    }
    default:
      Line("callback").Int("domain", domain).Uint("id", id).End();
  }
  if (is_api && api->callbackSite == CUPTI_API_ENTER) ++Depth();
  const Client& client = g_client;
  ++Depth();
  client.callback(userdata, domain, id, data);
  --Depth();
}

void CUPTIAPI OnBufferRequested(uint8_t** buffer, size_t* size, size_t* max_records) {
  g_requested(buffer, size, max_records);
  Line("requested")
      .Hex("buffer", reinterpret_cast<uint64_t>(*buffer))
      .Uint("size", *size)
      .Uint("max_records", *max_records)
      .End();
}

// Kernel names live outside the buffer: each pointer is written with its text when first seen, and
// again when its text has changed.
void LogNames(const CUpti_Activity* record) {
  // Never destroyed: CUPTI's thread completes buffers while the process runs its exit handlers.
  static auto& mutex = *new std::mutex;
  static auto& known = *new std::map<const char*, std::string>;
  if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL &&
      record->kind != CUPTI_ACTIVITY_KIND_KERNEL)
    return;
  const char* name = reinterpret_cast<const CUpti_ActivityKernel9*>(record)->name;
  if (name == nullptr) return;
  std::lock_guard<std::mutex> lock(mutex);
  auto [it, fresh] = known.try_emplace(name);
  if (!fresh && it->second == name) return;
  it->second = name;
  Line("name").Hex("pointer", reinterpret_cast<uint64_t>(name)).Text("text", name).End();
}

void CUPTIAPI OnBufferCompleted(CUcontext context, uint32_t stream_id, uint8_t* buffer, size_t size,
                                size_t valid_size) {
  const uint64_t offset = AppendRaw(buffer, valid_size);
  std::string offsets = "[";
  CUpti_Activity* record = nullptr;
  uint64_t count = 0;
  while (valid_size > 0 &&
         REAL(cuptiActivityGetNextRecord)(buffer, valid_size, &record) == CUPTI_SUCCESS) {
    if (count++ != 0) offsets += ',';
    offsets += std::to_string(reinterpret_cast<uint8_t*>(record) - buffer);
    LogNames(record);
  }
  Line("completed")
      .Hex("buffer", reinterpret_cast<uint64_t>(buffer))
      .Uint("size", size)
      .Uint("valid_size", valid_size)
      .Hex("context", reinterpret_cast<uint64_t>(context))
      .Uint("stream_id", stream_id)
      .Uint("raw_offset", offset)
      .Uint("records", count)
      .Raw("offsets", offsets + "]")
      .End();
  g_completed(context, stream_id, buffer, size, valid_size);
}

// Replaces the client's functions by the forwarder's in the calls that hand them over.
void Substitute(Function f, Word* a) {
  switch (f) {
    case k_cuptiSubscribe:
    case k_cuptiSubscribe_v2:
      if (a[1] == 0) break;
      if (g_client.callback == nullptr) {
        g_client.callback = reinterpret_cast<CUpti_CallbackFunc>(a[1]);
        g_client.userdata = reinterpret_cast<void*>(a[2]);
      }
      a[1] = reinterpret_cast<Word>(&OnCallback);
      break;
    case k_cuptiActivityRegisterCallbacks:
      g_requested = reinterpret_cast<CUpti_BuffersCallbackRequestFunc>(a[0]);
      g_completed = reinterpret_cast<CUpti_BuffersCallbackCompleteFunc>(a[1]);
      if (a[0] != 0) a[0] = reinterpret_cast<Word>(&OnBufferRequested);
      if (a[1] != 0) a[1] = reinterpret_cast<Word>(&OnBufferCompleted);
      break;
    default:
      break;
  }
}

bool IsPerRecord(Function f) { return f == k_cuptiActivityGetNextRecord; }

Word Forward(Function f, Word a0, Word a1, Word a2, Word a3, Word a4, Word a5, Word a6, Word a7,
             Word a8, Word a9) {
  Word a[10] = {a0, a1, a2, a3, a4, a5, a6, a7, a8, a9};
  const Word asked[10] = {a0, a1, a2, a3, a4, a5, a6, a7, a8, a9};
  Substitute(f, a);
  const uint64_t begin = NextSequence();
  ++Depth();
  const auto real = reinterpret_cast<Generic>(Real(f));
  const Word result = real == nullptr
                          ? Word{CUPTI_ERROR_NOT_SUPPORTED}
                          : real(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9]);
  --Depth();
  if (f == k_cuptiUnsubscribe && static_cast<uint32_t>(result) == CUPTI_SUCCESS)
    g_client = Client();
  if (IsPerRecord(f)) return result;
  Line line("api");
  const int count = kArguments[f] < 0 ? 6 : kArguments[f];
  line.Uint("s0", begin).Text("f", kNames[f]).Words("a", asked, static_cast<size_t>(count));
  line.Int("r", static_cast<int>(result)).End();
  return result;
}

}  // namespace
}  // namespace forwarder

#define X(name, arguments)                                                                       \
  extern "C" __attribute__((visibility("default"))) uint64_t forward_##name(                     \
      uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, \
      uint64_t a7, uint64_t a8, uint64_t a9) __asm__(#name);                                     \
  extern "C" uint64_t forward_##name(uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3,         \
                                     uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7,         \
                                     uint64_t a8, uint64_t a9) {                                 \
    return forwarder::Forward(forwarder::k_##name, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9);      \
  }
#include "tests/device/forwarding_cupti/cupti_functions.inc"
#undef X

// A remark of the traced program or of a client, in order with everything else: found by dlsym.
extern "C" __attribute__((visibility("default"))) void forward_note(const char* text) {
  forwarder::Line("note").Text("text", text).End();
}
