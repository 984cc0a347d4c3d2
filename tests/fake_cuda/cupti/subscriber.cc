// Callbacks: one subscriber at a time, domains and single callbacks switched on and off, STATE.
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "tests/fake_cuda/cupti/cupti.h"
#include "tests/fake_cuda/faults.h"

struct CUpti_Subscriber_st {
  CUpti_CallbackFunc callback = nullptr;
  void* userdata = nullptr;
  char name[64] = "";
};

namespace fake_cuda {
namespace {

constexpr size_t kMaxCallbacks = 1024;

std::mutex g_mutex;  // subscribing and unsubscribing
std::atomic<CUpti_Subscriber_st*> g_subscriber{nullptr};
std::atomic<bool> g_enabled[CUPTI_CB_DOMAIN_SIZE][kMaxCallbacks];
std::atomic<bool> g_gave_up{false};

void Deliver(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  CUpti_Subscriber_st* subscriber = g_subscriber.load(std::memory_order_acquire);
  if (subscriber != nullptr && !GaveUp())
    subscriber->callback(subscriber->userdata, domain, id, data);
}

bool Wants(CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  return id < kMaxCallbacks && g_enabled[domain][id].load(std::memory_order_relaxed) &&
         g_subscriber.load(std::memory_order_acquire) != nullptr && !GaveUp();
}

bool IsLaunch(CUpti_CallbackId id) {
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuLaunch:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch:
    case CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz:
      return true;
    default:
      return false;
  }
}

// The fault: STATE tells, then CUPTI is gone as after cuptiFinalize.
void MaybeGiveUp(CUpti_CallbackId id, CUpti_ApiCallbackSite site) {
  static std::atomic<uint64_t> launches{0};
  const uint64_t at = GetFaults().fatal_at_launch;
  if (at == 0 || site != CUPTI_API_ENTER || !IsLaunch(id) || launches.fetch_add(1) + 1 != at)
    return;
  CUpti_StateData state = {};
  state.notification.result = CUPTI_ERROR_HARDWARE_BUSY;
  state.notification.message = "fatal error asked for by FAKE_CUDA_FAULTS";
  if (Wants(CUPTI_CB_DOMAIN_STATE, CUPTI_CBID_STATE_FATAL_ERROR))
    Deliver(CUPTI_CB_DOMAIN_STATE, CUPTI_CBID_STATE_FATAL_ERROR, &state);
  g_gave_up.store(true);
  StopActivities();
}

void OnApi(CUpti_CallbackId id, const CUpti_CallbackData* data) {
  MaybeGiveUp(id, data->callbackSite);
  Deliver(CUPTI_CB_DOMAIN_DRIVER_API, id, data);
}

void OnResource(CUpti_CallbackId id, const CUpti_ResourceData* data) {
  if (Wants(CUPTI_CB_DOMAIN_RESOURCE, id)) Deliver(CUPTI_CB_DOMAIN_RESOURCE, id, data);
}

const Tracer kTracer = {Wants, OnApi, OnResource, OnWork};

CUptiResult Subscribe(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc callback, void* userdata,
                      const CUpti_SubscriberParams* params) {
  if (handle == nullptr || callback == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  std::lock_guard<std::mutex> lock(g_mutex);
  CUpti_Subscriber_st* holder = g_subscriber.load();
  if (holder != nullptr || GetFaults().another_subscriber) {
    const char* name = holder != nullptr ? holder->name : "CUPTI for somebody else";
    if (params != nullptr && params->oldSubscriberName != nullptr && params->oldSubscriberSize > 0)
      snprintf(params->oldSubscriberName, params->oldSubscriberSize, "%s", name);
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  auto* subscriber = new CUpti_Subscriber_st;
  subscriber->callback = callback;
  subscriber->userdata = userdata;
  const bool named = params != nullptr && params->subscriberName != nullptr;
  snprintf(subscriber->name, sizeof subscriber->name, "CUPTI for %s",
           named ? params->subscriberName : "");
  g_subscriber.store(subscriber, std::memory_order_release);
  *handle = subscriber;
  Attach();
  return CUPTI_SUCCESS;
}

bool Holds(CUpti_SubscriberHandle subscriber) {
  return subscriber != nullptr && subscriber == g_subscriber.load();
}

}  // namespace

const DriverInterface* Driver() {
  static const DriverInterface* const driver = [] {
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) library = dlopen("libcuda.so.1", RTLD_NOW);
    return library == nullptr
               ? nullptr
               : static_cast<const DriverInterface*>(dlsym(library, "fake_cuda_driver"));
  }();
  return driver;
}

void Attach() {
  if (Driver() != nullptr) Driver()->set_tracer(&kTracer);
}

bool GaveUp() { return g_gave_up.load(std::memory_order_relaxed); }

}  // namespace fake_cuda

using namespace fake_cuda;

FAKE_EXPORT CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc callback,
                                       void* userdata) {
  return Subscribe(handle, callback, userdata, nullptr);
}

FAKE_EXPORT CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle* handle,
                                          CUpti_CallbackFunc callback, void* userdata,
                                          CUpti_SubscriberParams* params) {
  return Subscribe(handle, callback, userdata, params);
}

FAKE_EXPORT CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber) {
  std::lock_guard<std::mutex> lock(fake_cuda::g_mutex);
  if (!Holds(subscriber)) return CUPTI_ERROR_INVALID_PARAMETER;
  g_subscriber.store(nullptr);  // the object stays: a callback may be running
  for (auto& domain : g_enabled)
    for (auto& enabled : domain) enabled.store(false);
  return CUPTI_SUCCESS;
}

FAKE_EXPORT CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                            CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  if (!Holds(subscriber) || domain <= CUPTI_CB_DOMAIN_INVALID || domain >= CUPTI_CB_DOMAIN_SIZE ||
      id >= kMaxCallbacks)
    return CUPTI_ERROR_INVALID_PARAMETER;
  g_enabled[domain][id].store(enable != 0);
  return CUPTI_SUCCESS;
}

FAKE_EXPORT CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                          CUpti_CallbackDomain domain) {
  if (!Holds(subscriber) || domain <= CUPTI_CB_DOMAIN_INVALID || domain >= CUPTI_CB_DOMAIN_SIZE)
    return CUPTI_ERROR_INVALID_PARAMETER;
  for (auto& enabled : g_enabled[domain]) enabled.store(enable != 0);
  return CUPTI_SUCCESS;
}

FAKE_EXPORT CUptiResult cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle subscriber) {
  for (int domain = 1; domain < CUPTI_CB_DOMAIN_SIZE; ++domain) {
    const CUptiResult r =
        cuptiEnableDomain(enable, subscriber, static_cast<CUpti_CallbackDomain>(domain));
    if (r != CUPTI_SUCCESS) return r;
  }
  return CUPTI_SUCCESS;
}

FAKE_EXPORT CUptiResult cuptiGetCallbackState(uint32_t* enable, CUpti_SubscriberHandle subscriber,
                                              CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  if (!Holds(subscriber) || domain >= CUPTI_CB_DOMAIN_SIZE || id >= kMaxCallbacks)
    return CUPTI_ERROR_INVALID_PARAMETER;
  *enable = g_enabled[domain][id].load();
  return CUPTI_SUCCESS;
}

// The real one has no names for resource callbacks; no client here asks for others.
FAKE_EXPORT CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain, uint32_t, const char**) {
  return CUPTI_ERROR_INVALID_PARAMETER;
}

FAKE_EXPORT CUptiResult cuptiFinalize() {
  g_gave_up.store(true);
  StopActivities();
  return CUPTI_SUCCESS;
}
