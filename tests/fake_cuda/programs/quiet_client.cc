// The least that any CUPTI client with the tracer's callbacks costs: loaded by the driver, it subscribes
// to exactly the tracer's callbacks and does nothing in them. QUIET_CLIENT_TIMES=1: kernels are recorded,
// too, and the records thrown away. For launch_cost.py.
#include <cupti.h>
#include <dlfcn.h>

#include <cstdlib>

#include "cupti_tracer/core/callbacks.h"

namespace {

void* g_cupti = nullptr;
template <typename Function>
Function* Find(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(g_cupti, name));
}
#define CUPTI(name) Find(&name, #name)

void Enable() { CUPTI(cuptiActivityEnable)(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL); }

void CUPTIAPI OnCallback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void*) {
  if (domain == CUPTI_CB_DOMAIN_RESOURCE && id == CUPTI_CBID_RESOURCE_CONTEXT_CREATED &&
      std::getenv("QUIET_CLIENT_TIMES") != nullptr) {
    Enable();
  }
}

void CUPTIAPI OnRequested(uint8_t** buffer, size_t* size, size_t* max_records) {
  *size = 128 << 10;
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(64, *size));
  *max_records = 0;
}
void CUPTIAPI OnCompleted(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t) { std::free(buffer); }

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  g_cupti = dlopen("libcupti.so.13", RTLD_NOW);
  if (g_cupti == nullptr) return 0;
  CUpti_SubscriberHandle subscriber = nullptr;
  if (CUPTI(cuptiSubscribe)(&subscriber, OnCallback, nullptr) != CUPTI_SUCCESS) return 0;
  for (const hotproof::tracer::CallbackId& callback : hotproof::tracer::CallbacksToEnable()) {
    CUPTI(cuptiEnableCallback)(1, subscriber, callback.domain, callback.id);
  }
  CUPTI(cuptiActivityRegisterCallbacks)(OnRequested, OnCompleted);
  return 1;
}
