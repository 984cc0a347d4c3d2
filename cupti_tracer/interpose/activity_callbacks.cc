// Stands before cuptiActivityRegisterCallbacks: a process has one pair of activity buffer callbacks, and
// who registers last has it. torch.profiler does so whenever a profile starts and would otherwise end our
// timing without a word. The call itself always goes on to CUPTI.
#include <cupti.h>
#include <dlfcn.h>

#include <string>

#include "cupti_tracer/core/guard.h"
#include "cupti_tracer/core/session.h"
#include "trace/cupti_search.h"

namespace hotproof::tracer {
namespace {

using Register = decltype(&cuptiActivityRegisterCallbacks);

Register Find(void* handle) {
  return reinterpret_cast<Register>(dlsym(handle, "cuptiActivityRegisterCallbacks"));
}

// The caller's own CUPTI, which may be in no scope that we can see: then the one that is loaded.
Register FindReal() {
  if (Register next = Find(RTLD_NEXT)) return next;
  for (std::string_view soname : trace::kCuptiSonames) {
    if (void* handle = dlopen(std::string(soname).c_str(), RTLD_NOW | RTLD_NOLOAD)) {
      if (Register loaded = Find(handle)) return loaded;
    }
  }
  return nullptr;
}

std::string LibraryAt(const void* address) {
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return "another tool";
  const std::string path = info.dli_fname;
  return path.substr(path.rfind('/') + 1);
}

}  // namespace
}  // namespace hotproof::tracer

extern "C" __attribute__((visibility("default"))) CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(
    CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete) {
  using namespace hotproof::tracer;
  const void* caller = __builtin_return_address(0);
  Session* session = Session::Get();
  Register real = nullptr;
  Guarded([&] {
    real = FindReal();
    if (session == nullptr) return;
    if (real == nullptr) real = session->cupti().ActivityRegisterCallbacks;
    // Another copy of CUPTI has callbacks of its own.
    if (real == session->cupti().ActivityRegisterCallbacks) session->OnBuffersTakenOver(LibraryAt(caller));
  });
  return real == nullptr ? CUPTI_ERROR_NOT_INITIALIZED : real(request, complete);
}
