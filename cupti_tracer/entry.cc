// The library's entry points: its constructor, the driver's and NVTX's injection hooks, and the mark.
// The constructor only sets environment variables: a process that never starts CUDA pays nothing.

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "cupti_tracer/core/config.h"
#include "cupti_tracer/core/guard.h"
#include "cupti_tracer/core/session.h"
#include "cupti_tracer/interpose/nvtx.h"
#include "cupti_tracer/ranges/range_domains.h"
#include "cupti_tracer/ranges/range_stack.h"

#define HOTPROOF_EXPORT extern "C" __attribute__((visibility("default")))

namespace hotproof::tracer {
namespace {

// The other tool's value of an injection variable, for this process and those that inherit it.
struct InjectionVariable {
  const char* name;        // read by the driver or NVTX
  const char* saved_name;  // where we keep what another tool had put there
};
constexpr InjectionVariable kCudaInjection = {"CUDA_INJECTION64_PATH", "HOTPROOF_CHAINED_CUDA"};
constexpr InjectionVariable kNvtxInjection = {"NVTX_INJECTION64_PATH", "HOTPROOF_CHAINED_NVTX"};

std::string RealPath(const char* path) {
  char* resolved = realpath(path, nullptr);
  std::string result = resolved == nullptr ? path : resolved;
  free(resolved);
  return result;
}

std::string OwnPath() {
  Dl_info info{};
  static const char anchor = 0;
  if (dladdr(&anchor, &info) == 0 || info.dli_fname == nullptr) return "";
  return RealPath(info.dli_fname);
}

void TakeInjection(const InjectionVariable& variable, const std::string& own_path) {
  const char* present = getenv(variable.name);
  if (present != nullptr && *present != '\0' && RealPath(present) != own_path) {
    setenv(variable.saved_name, present, 1);
  }
  setenv(variable.name, own_path.c_str(), 1);
}

__attribute__((constructor)) void OnLoad() {
  const char* out = getenv("HOTPROOF_OUT");
  if (out == nullptr || *out == '\0') return;
  const std::string own_path = OwnPath();
  if (own_path.empty()) return;
  if (*out != '/') {  // the program may change its folder before it starts CUDA
    char here[4096];
    if (getcwd(here, sizeof here) != nullptr) {
      setenv("HOTPROOF_OUT", (std::string(here) + "/" + out).c_str(), 1);
    }
  }
  TakeInjection(kCudaInjection, own_path);
  TakeInjection(kNvtxInjection, own_path);
}

}  // namespace
}  // namespace hotproof::tracer

// Called by the CUDA driver inside cuInit. 1: success.
HOTPROOF_EXPORT int InitializeInjection() {
  using namespace hotproof::tracer;
  Guarded([] {
    Config config = Config::FromEnvironment();
    const char* chained = getenv(kCudaInjection.saved_name);
    const std::string chained_path = chained == nullptr ? "" : chained;
    if (!config.out_directory.empty()) Session::Start(std::move(config), chained_path);
    if (chained_path.empty()) return;
    if (void* handle = dlopen(chained_path.c_str(), RTLD_NOW)) {
      if (auto* entry = reinterpret_cast<int (*)()>(dlsym(handle, "InitializeInjection"))) entry();
    }
  });
  return 1;
}

// Called by NVTX in the first module that uses it. 1: success.
HOTPROOF_EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_export_table) {
  using namespace hotproof::tracer;
  int result = 0;
  Guarded([&] {
    const char* chained = getenv(kNvtxInjection.saved_name);
    result = InitializeNvtx(get_export_table, chained == nullptr ? "" : chained);
  });
  return result;
}

// Called by NVTX in the first module that uses one of its extensions. 1: success.
HOTPROOF_EXPORT int InitializeInjectionNvtxExtension(void* module_info) {
  using namespace hotproof::tracer;
  int result = 0;
  Guarded([&] {
    const char* chained = getenv(kNvtxInjection.saved_name);
    result = InitializeChainedNvtxExtension(module_info, chained == nullptr ? "" : chained);
  });
  return result;
}

HOTPROOF_EXPORT void hotproof_mark(const char* label) {
  using namespace hotproof::tracer;
  Guarded([label] {
    if (Session* session = Session::Get()) session->Mark(label);
  });
}

HOTPROOF_EXPORT int hotproof_range_push(const char* name) {
  using namespace hotproof::tracer;
  return PushRange({.name = name == nullptr ? "" : name, .source = RangeSource::kHotproof});
}

HOTPROOF_EXPORT int hotproof_range_pop() {
  return hotproof::tracer::PopRange(hotproof::tracer::RangeSource::kHotproof,
                                    hotproof::tracer::kDefaultDomain);
}
