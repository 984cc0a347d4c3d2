#include "cupti_tracer/core/launching_library.h"

#include <link.h>
#include <unistd.h>
#include <unwind.h>

#include <cstdint>
#include <cstring>

namespace hotproof::tracer {
namespace {

constexpr int kMaxFrames = 64;

struct Walk {
  uintptr_t addresses[kMaxFrames];
  int frames = 0;
};

bool IsCuda(const char* path) {
  const char* slash = std::strrchr(path, '/');
  const char* name = slash == nullptr ? path : slash + 1;
  for (const char* prefix : {"libcuda.so", "libcudart", "libcupti", "libnvidia-"}) {
    if (std::strncmp(name, prefix, std::strlen(prefix)) == 0) return true;
  }
  return false;
}

_Unwind_Reason_Code Visit(_Unwind_Context* context, void* data) {
  Walk& walk = *static_cast<Walk*>(data);
  const uintptr_t address = _Unwind_GetIP(context);
  // One back: a call that never returns leaves the address of what follows it.
  if (address != 0) walk.addresses[walk.frames++] = address - 1;
  return walk.frames < kMaxFrames ? _URC_NO_REASON : _URC_END_OF_STACK;
}

// Which object each frame is in. Not by dladdr: that waits for a dlopen on another thread and all
// its constructors, and one of those may wait for what our caller holds.
struct Placing {
  const Walk& walk;
  const char* paths[kMaxFrames] = {};
  bool ours[kMaxFrames] = {};
};

bool IsIn(const dl_phdr_info& object, uintptr_t address) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object.dlpi_phdr[i];
    if (segment.p_type == PT_LOAD &&
        address - (object.dlpi_addr + segment.p_vaddr) < segment.p_memsz) {
      return true;
    }
  }
  return false;
}

int PlaceFrames(dl_phdr_info* object, size_t, void* data) {
  static const char anchor = 0;
  Placing& placing = *static_cast<Placing*>(data);
  const bool ours = IsIn(*object, reinterpret_cast<uintptr_t>(&anchor));
  for (int i = 0; i < placing.walk.frames; ++i) {
    if (!IsIn(*object, placing.walk.addresses[i])) continue;
    placing.paths[i] = object->dlpi_name;
    placing.ours[i] = ours;
  }
  return 0;
}

// The loader has no name for the program itself.
std::string ProgramPath() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : std::string();
}

}  // namespace

std::string LaunchingLibrary() {
  Walk walk;
  _Unwind_Backtrace(Visit, &walk);
  Placing placing{.walk = walk};
  dl_iterate_phdr(PlaceFrames, &placing);
  for (int i = 0; i < walk.frames; ++i) {
    const char* path = placing.paths[i];
    if (path == nullptr || placing.ours[i] || IsCuda(path)) continue;
    return *path != '\0' ? path : ProgramPath();
  }
  return "";
}

}  // namespace hotproof::tracer
