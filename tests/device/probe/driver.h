// The CUDA driver by dlopen: no program here links to libcuda. CU(cuMemAlloc)(&p, n) calls the
// version that cuda.h names; CHECK(CU(...)(...)) ends the program with exit code 70 when it fails.
#pragma once

#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace probe {

inline void* Symbol(const char* name) {
  static void* const library = [] {
    void* handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (handle == nullptr) {
      fprintf(stderr, "probe: %s\n", dlerror());
      exit(69);
    }
    return handle;
  }();
  void* symbol = dlsym(library, name);
  if (symbol == nullptr) {
    fprintf(stderr, "probe: libcuda.so.1 has no %s\n", name);
    exit(69);
  }
  return symbol;
}

inline void CheckAt(CUresult result, const char* what, const char* file, int line) {
  if (result == CUDA_SUCCESS) return;
  fprintf(stderr, "probe: %s:%d: %s: CUresult %d\n", file, line, what, static_cast<int>(result));
  exit(70);
}

// A remark in the forwarding CUPTI's log, where one is loaded.
inline void Note(const char* text) {
  using Function = void(const char*);
  static Function* const note = reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, "forward_note"));
  if (note != nullptr) note(text);
}

}  // namespace probe

#define PROBE_NAME2(name) #name
#define PROBE_NAME(name) PROBE_NAME2(name)
#define CU(name) (reinterpret_cast<decltype(&name)>(probe::Symbol(PROBE_NAME(name))))
#define CHECK(call) probe::CheckAt((call), #call, __FILE__, __LINE__)
