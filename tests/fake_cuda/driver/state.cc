#include <dlfcn.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "tests/fake_cuda/driver/driver.h"
#include "tests/fake_cuda/faults.h"

namespace fake_cuda {
namespace {

std::atomic<pid_t> g_initialised_by{0};
std::atomic<bool> g_injected{false};
std::atomic<const Tracer*> g_tracer{nullptr};
thread_local CUcontext t_current = nullptr;

// As the real driver: the library named by CUDA_INJECTION64_PATH is loaded inside cuInit and its
// InitializeInjection called, before the driver counts as initialised. Failures are passed over.
void Inject() {
  const char* path = getenv("CUDA_INJECTION64_PATH");
  if (path == nullptr || *path == '\0') return;
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return;
  using Entry = int (*)();
  auto entry = reinterpret_cast<Entry>(dlsym(library, "InitializeInjection"));
  if (entry != nullptr) entry();
}

}  // namespace

bool Initialised() { return g_initialised_by.load(std::memory_order_acquire) == getpid(); }

CUresult Initialise() {
  static std::recursive_mutex mutex;
  std::lock_guard<std::recursive_mutex> lock(mutex);
  if (Initialised()) return CUDA_SUCCESS;
  // The child of a process that had initialised the driver gets this from the real one, for ever.
  if (g_initialised_by.load() != 0) return CUDA_ERROR_NOT_INITIALIZED;
  if (!g_injected.exchange(true)) {
    GetFaults();
    Inject();
  }
  g_initialised_by.store(getpid(), std::memory_order_release);
  const Tracer* tracer = GetTracer();
  // The real CUPTI passes no data here.
  if (tracer != nullptr) tracer->resource(CUPTI_CBID_RESOURCE_CU_INIT_FINISHED, nullptr);
  return CUDA_SUCCESS;
}

const Tracer* GetTracer() { return g_tracer.load(std::memory_order_acquire); }
void SetTracer(const Tracer* tracer) { g_tracer.store(tracer, std::memory_order_release); }

CUcontext CurrentContext() { return t_current; }
void SetCurrentContext(CUcontext context) { t_current = context; }

uint64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

void SleepUntilNs(uint64_t ns) {
  const timespec until = {static_cast<time_t>(ns / 1000000000u),
                          static_cast<long>(ns % 1000000000u)};
  while (NowNs() < ns) clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, nullptr);
}

}  // namespace fake_cuda
