// The least that timing kernels through CUPTI can cost: CONCURRENT_KERNEL records into buffers that are
// thrown away, no callback, no parsing. A yardstick for the tracer's own cost; loaded by the driver
// through CUDA_INJECTION64_PATH. CUPTI is the one at $HOTPROOF_CUPTI, or the one already loaded.
#include <cupti.h>
#include <dlfcn.h>

#include <cstdlib>

namespace {

constexpr size_t kBufferBytes = 1 << 20;

void CUPTIAPI OnRequested(uint8_t** buffer, size_t* size, size_t* max_records) {
  *buffer = static_cast<uint8_t*>(std::malloc(kBufferBytes));
  *size = kBufferBytes;
  *max_records = 0;
}

void CUPTIAPI OnCompleted(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t) { std::free(buffer); }

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  const char* path = std::getenv("HOTPROOF_CUPTI");
  void* cupti = path != nullptr ? dlopen(path, RTLD_NOW) : dlopen("libcupti.so.13", RTLD_NOW);
  if (cupti == nullptr) return 0;
  auto* register_callbacks = reinterpret_cast<decltype(&cuptiActivityRegisterCallbacks)>(
      dlsym(cupti, "cuptiActivityRegisterCallbacks"));
  auto* enable = reinterpret_cast<decltype(&cuptiActivityEnable)>(dlsym(cupti, "cuptiActivityEnable"));
  if (register_callbacks == nullptr || enable == nullptr) return 0;
  register_callbacks(&OnRequested, &OnCompleted);
  return enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == CUPTI_SUCCESS ? 1 : 0;
}
