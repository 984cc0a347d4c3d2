#include "cupti_tracer/core/launching_library.h"

#include <dlfcn.h>
#include <unwind.h>

#include <cstdint>
#include <cstring>

namespace hotproof::tracer {
namespace {

constexpr int kMaxFrames = 64;

struct Walk {
  const void* own_base = nullptr;
  int frames = 0;
  const char* path = nullptr;
};

bool IsCuda(const char* path) {
  const char* slash = std::strrchr(path, '/');
  const char* name = slash == nullptr ? path : slash + 1;
  for (const char* prefix : {"libcuda.so", "libcudart.so", "libcupti.so", "libnvidia-"}) {
    if (std::strncmp(name, prefix, std::strlen(prefix)) == 0) return true;
  }
  return false;
}

_Unwind_Reason_Code Visit(_Unwind_Context* context, void* data) {
  Walk& walk = *static_cast<Walk*>(data);
  if (++walk.frames > kMaxFrames) return _URC_END_OF_STACK;
  const uintptr_t address = _Unwind_GetIP(context);
  Dl_info info{};
  // One back: a call that never returns leaves the address of what follows it.
  if (address == 0 || dladdr(reinterpret_cast<void*>(address - 1), &info) == 0 ||
      info.dli_fname == nullptr || info.dli_fbase == walk.own_base || IsCuda(info.dli_fname)) {
    return _URC_NO_REASON;
  }
  walk.path = info.dli_fname;
  return _URC_END_OF_STACK;
}

}  // namespace

std::string LaunchingLibrary() {
  Walk walk;
  Dl_info own{};
  static const char anchor = 0;
  if (dladdr(&anchor, &own) != 0) walk.own_base = own.dli_fbase;
  _Unwind_Backtrace(Visit, &walk);
  return walk.path == nullptr ? "" : walk.path;
}

}  // namespace hotproof::tracer
