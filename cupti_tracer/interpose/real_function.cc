#include "cupti_tracer/interpose/real_function.h"

#include <dlfcn.h>
#include <link.h>

#include <cstring>
#include <new>

namespace hotproof::tracer {
namespace {

// Keeps the library of `function` loaded: a later dlclose would leave us with a dead pointer.
void* Pin(void* function) {
  Dl_info info{};
  if (function != nullptr && dladdr(function, &info) != 0 && info.dli_fname != nullptr) {
    dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  }
  return function;
}

// `name` as objects see it that were loaded as `path` is.
void* LookIn(const char* path, const char* name, const void* self) {
  if (path == nullptr || *path == '\0') return nullptr;
  void* const handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  void* function = dlsym(handle, name);
  if (function == self) function = nullptr;
  Pin(function);
  dlclose(handle);
  return function;
}

struct Search {
  uintptr_t caller;
  uintptr_t begin = 0, end = 0;  // of the caller's object
  const char* library;
  char path[4096] = "";  // of the first loaded object of that name
};

int VisitObject(dl_phdr_info* info, size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  uintptr_t begin = UINTPTR_MAX, end = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const uintptr_t at = info->dlpi_addr + segment.p_vaddr;
    if (at < begin) begin = at;
    if (at + segment.p_memsz > end) end = at + segment.p_memsz;
  }
  if (search.caller >= begin && search.caller < end) {
    search.begin = begin;
    search.end = end;
  }
  const char* name = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  const char* slash = std::strrchr(name, '/');
  const char* base = slash == nullptr ? name : slash + 1;
  if (search.path[0] == '\0' &&
      std::strncmp(base, search.library, std::strlen(search.library)) == 0 &&
      std::strlen(name) < sizeof search.path) {
    std::strcpy(search.path, name);
  }
  return 0;
}

}  // namespace

void* RealFunction::For(const void* caller, const void* self) {
  const auto address = reinterpret_cast<uintptr_t>(caller);
  const Local* const known = locals_.load(std::memory_order_acquire);
  for (const Local* local = known; local != nullptr; local = local->next) {
    if (address >= local->begin && address < local->end) return local->function;
  }
  void* function = Find(caller, self);
  dlerror();  // our questions are not the program's
  return function;
}

void* RealFunction::Find(const void* caller, const void* self) {
  Search search{.caller = reinterpret_cast<uintptr_t>(caller), .library = library_};
  dl_iterate_phdr(VisitObject, &search);
  if (search.end == 0) {  // every such caller means the same
    for (const Local* local = locals_.load(std::memory_order_acquire); local != nullptr;
         local = local->next) {
      if (local->end == 0) return local->function;
    }
  }
  Dl_info info{};
  void* function = nullptr;
  if (search.end != 0 && dladdr(caller, &info) != 0) {
    function = LookIn(info.dli_fname, name_, self);
  }
  if (function == nullptr) {
    function = dlsym(RTLD_NEXT, name_);
    if (function == self) function = nullptr;
    Pin(function);
  }
  if (function == nullptr) function = LookIn(search.path, name_, self);
  if (function == nullptr) return nullptr;
  auto* found = new (std::nothrow) Local{search.begin, search.end, function, nullptr};
  if (found == nullptr) return function;
  found->next = locals_.load(std::memory_order_acquire);
  while (!locals_.compare_exchange_weak(found->next, found, std::memory_order_acq_rel)) {
  }
  return function;
}

}  // namespace hotproof::tracer
