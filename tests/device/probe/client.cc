// A bare CUPTI client: loaded by the driver through CUDA_INJECTION64_PATH, it asks for every
// callback of the driver, resource and state domains (CLIENT_RUNTIME=1: runtime too) and for
// kernel, memcpy and memset records, and does nothing with them. Under the forwarding CUPTI its
// runs are the transcripts.
//   CLIENT_ASK=1        at each launch, asks the driver about the launched function (once a handle)
//   CLIENT_FLUSH_MS=n   a thread flushes every n ms; the exit handler always flushes
//   CLIENT_BUFFER=bytes size of an activity buffer, 1 MiB unless told
//   CLIENT_SECOND=1     tries to subscribe a second time and notes what comes back
#include <cuda.h>
#include <cupti.h>
#include <dlfcn.h>
#include <time.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <thread>

namespace {

void* g_cupti = nullptr;
void* g_cuda = nullptr;
pid_t g_pid = 0;
size_t g_buffer_bytes = 1 << 20;
bool g_ask = false;

#define STRING2(name) #name
#define STRING(name) STRING2(name)
#define CUPTI(name) (reinterpret_cast<decltype(&name)>(dlsym(g_cupti, STRING(name))))
#define CU(name) (reinterpret_cast<decltype(&name)>(dlsym(g_cuda, STRING(name))))

__attribute__((format(printf, 1, 2))) void Note(const char* format, ...) {
  using Function = void(const char*);
  static auto* const note = reinterpret_cast<Function*>(dlsym(g_cupti, "forward_note"));
  if (note == nullptr) return;
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  note(text);
}

long long Nanoseconds(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return t.tv_sec * 1000000000ll + t.tv_nsec;
}

void NoteClocks(const char* when) {
  uint64_t cupti = 0;
  const long long before = Nanoseconds(CLOCK_REALTIME);
  const CUptiResult r = CUPTI(cuptiGetTimestamp)(&cupti);
  const long long after = Nanoseconds(CLOCK_REALTIME);
  Note(
      "clocks %s: cuptiGetTimestamp r=%d %llu, CLOCK_REALTIME before %lld after %lld, MONOTONIC "
      "%lld",
      when, r, static_cast<unsigned long long>(cupti), before, after, Nanoseconds(CLOCK_MONOTONIC));
}

void Requested(uint8_t** buffer, size_t* size, size_t* max_records) {
  *buffer = static_cast<uint8_t*>(aligned_alloc(64, g_buffer_bytes));
  *size = g_buffer_bytes;
  *max_records = 0;
}

void Completed(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t) { free(buffer); }

void Ask(CUfunction f) {
  static std::mutex mutex;
  static std::set<CUfunction> seen;
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (!seen.insert(f).second) return;
  }
  const char* name = nullptr;
  CUmodule module = nullptr;
  CUresult a = CU(cuFuncGetName)(&name, f);
  CUresult b = CU(cuFuncGetModule)(&module, f);
  Note("ask %p as CUfunction: name %d '%s', module %d %p", static_cast<void*>(f), a,
       a == CUDA_SUCCESS && name != nullptr ? name : "", b, static_cast<void*>(module));
  const auto kernel = reinterpret_cast<CUkernel>(f);
  CUlibrary library = nullptr;
  CUfunction function = nullptr;
  name = nullptr;
  a = CU(cuKernelGetName)(&name, kernel);
  b = CU(cuKernelGetLibrary)(&library, kernel);
  const CUresult c = CU(cuKernelGetFunction)(&function, kernel);
  Note("ask %p as CUkernel: name %d '%s', library %d %p, function %d %p", static_cast<void*>(f), a,
       a == CUDA_SUCCESS && name != nullptr ? name : "", b, static_cast<void*>(library), c,
       static_cast<void*>(function));
  for (size_t i = 0; i < 4; ++i) {
    size_t offset = 0, bytes = 0;
    const CUresult p = CU(cuFuncGetParamInfo)(f, i, &offset, &bytes);
    const CUresult q = CU(cuKernelGetParamInfo)(kernel, i, &offset, &bytes);
    Note("ask %p argument %zu: func %d kernel %d offset %zu size %zu", static_cast<void*>(f), i, p,
         q, offset, bytes);
    if (p != CUDA_SUCCESS && q != CUDA_SUCCESS) break;
  }
}

void EnableActivities() {
  for (CUpti_ActivityKind kind : {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                  CUPTI_ACTIVITY_KIND_MEMSET})
    Note("enable kind %d: r=%d", kind, CUPTI(cuptiActivityEnable)(kind));
}

void CUPTIAPI OnCallback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                         const void* data) {
  if (domain == CUPTI_CB_DOMAIN_RESOURCE && id == CUPTI_CBID_RESOURCE_CONTEXT_CREATED) {
    static std::once_flag once;
    std::call_once(once, EnableActivities);
  }
  if (!g_ask || domain != CUPTI_CB_DOMAIN_DRIVER_API) return;
  const auto& api = *static_cast<const CUpti_CallbackData*>(data);
  if (api.callbackSite != CUPTI_API_ENTER) return;
  if (id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel)
    Ask(static_cast<const cuLaunchKernel_params*>(api.functionParams)->f);
  if (id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx)
    Ask(static_cast<const cuLaunchKernelEx_params*>(api.functionParams)->f);
}

void AtExit() {
  if (getpid() != g_pid) return;  // a forked child that ends by exit(): a flush there never returns
  Note("atexit: flush");
  NoteClocks("at exit");
  const CUptiResult r = CUPTI(cuptiActivityFlushAll)(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  size_t dropped = 0;
  CUPTI(cuptiActivityGetNumDroppedRecords)(nullptr, 0, &dropped);
  Note("atexit: flushed r=%d, dropped %zu", r, dropped);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  g_cupti = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
  if (g_cupti == nullptr && getenv("HOTPROOF_CUPTI") != nullptr)
    g_cupti = dlopen(getenv("HOTPROOF_CUPTI"), RTLD_NOW);
  g_cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (g_cupti == nullptr || g_cuda == nullptr) {
    fprintf(stderr, "client: no CUPTI or no driver\n");
    return 0;
  }
  g_pid = getpid();
  g_ask = getenv("CLIENT_ASK") != nullptr;
  if (const char* bytes = getenv("CLIENT_BUFFER")) g_buffer_bytes = strtoul(bytes, nullptr, 0);
  Note("InitializeInjection, pid %d", getpid());
  NoteClocks("at injection");
  CUpti_SubscriberHandle subscriber;
  char old_name[64] = "";
  CUpti_SubscriberParams params = {};
  params.structSize = sizeof params;
  params.subscriberName = "probe";
  params.oldSubscriberName = old_name;
  params.oldSubscriberSize = sizeof old_name;
  CUptiResult r = CUPTI(cuptiSubscribe_v2)(&subscriber, OnCallback, nullptr, &params);
  Note("subscribe_v2 r=%d old '%s'", r, old_name);
  if (getenv("CLIENT_SECOND") != nullptr) {
    CUpti_SubscriberHandle second;
    r = CUPTI(cuptiSubscribe_v2)(&second, OnCallback, nullptr, &params);
    Note("second subscribe_v2 r=%d old '%s'", r, old_name);
    r = CUPTI(cuptiSubscribe)(&second, OnCallback, nullptr);
    Note("second subscribe r=%d", r);
  }
  CUPTI(cuptiEnableDomain)(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
  CUPTI(cuptiEnableDomain)(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE);
  CUPTI(cuptiEnableDomain)(1, subscriber, CUPTI_CB_DOMAIN_STATE);
  if (getenv("CLIENT_RUNTIME") != nullptr)
    CUPTI(cuptiEnableDomain)(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API);
  CUPTI(cuptiActivityRegisterCallbacks)(Requested, Completed);
  for (int attribute = 0; attribute <= 9; ++attribute) {
    uint64_t value = 0;
    size_t size = sizeof value;
    r = CUPTI(cuptiActivityGetAttribute)(static_cast<CUpti_ActivityAttribute>(attribute), &size,
                                         &value);
    Note("activity attribute %d: r=%d size %zu value %llu", attribute, r, size,
         static_cast<unsigned long long>(value));
  }
  if (const char* ms = getenv("CLIENT_FLUSH_MS")) {
    const useconds_t us = static_cast<useconds_t>(atoi(ms)) * 1000;
    std::thread([us] {
      for (;;) {
        usleep(us);
        CUPTI(cuptiActivityFlushAll)(0);
      }
    }).detach();
  }
  atexit(AtExit);
  return 1;
}
