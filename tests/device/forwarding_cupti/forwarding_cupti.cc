// libcupti.so.13 that forwards every call to the real one (file in $REAL_CUPTI) and logs what
// passes: each call of the client with arguments and result, each callback before the client sees
// it, and each activity buffer, byte for byte, before the client sees it. A client finds it as it
// finds CUPTI: by path, or by soname when preloaded. It changes nothing on the way; the questions
// it asks the real CUPTI itself (ids of graphs, nodes, streams) are its only calls of its own.
#include <cuda.h>
#include <cupti.h>

#include <map>
#include <mutex>
#include <string>

#include "tests/device/forwarding_cupti/argument_log.h"
#include "tests/device/forwarding_cupti/callback_log.h"
#include "tests/device/forwarding_cupti/log.h"
#include "tests/device/forwarding_cupti/real_cupti.h"

namespace forwarder {
namespace {

struct Client {
  CUpti_CallbackFunc callback = nullptr;
  void* userdata = nullptr;
};
Client g_client;  // CUPTI 13.0 has one subscriber
CUpti_BuffersCallbackRequestFunc g_requested = nullptr;
CUpti_BuffersCallbackCompleteFunc g_completed = nullptr;

void CUPTIAPI OnCallback(void* userdata, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                         const void* data) {
  if (LogsArguments()) {
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
      LogArguments(id, *static_cast<const CUpti_CallbackData*>(data));
    }
    return g_client.callback(userdata, domain, id, data);
  }
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
    case CUPTI_CB_DOMAIN_STATE:
      LogState(id, data);
      break;
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
  if (LogsArguments()) return;
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
  if (LogsArguments()) return g_completed(context, stream_id, buffer, size, valid_size);
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
  const int count = ArgumentCount(f) < 0 ? 6 : ArgumentCount(f);
  line.Uint("s0", begin).Text("f", FunctionName(f)).Words("a", asked, static_cast<size_t>(count));
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
