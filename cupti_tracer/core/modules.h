// The modules that the driver has loaded: which cubin a kernel is of. Told in callbacks on any
// thread, asked when a kernel is met first (sites.cc).
//
// CUPTI names a module by id and cubin, the driver by handle. They meet at the exit of the call
// that loaded the module (OnHandle) or, for libraries, which load at their first launch, when that
// launch is resolved; if that call loaded exactly one module. Else a kernel's name decides, where
// the modules that have a function of this name are all the same cubin, and the hash is unknown
// otherwise.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "cupti_tracer/core/trace_file.h"

namespace hotproof::tracer {

struct LoadedModule {
  CUcontext context = nullptr;  // ids begin anew in each context
  uint32_t id = 0;
  uint64_t cubin_hash = 0;    // 0: not known
  uint32_t architecture = 0;  // ArchitectureOf
  char suffix[4] = "";
  bool one_of_several = false;  // cubin_hash is not known, for different ones are loaded
};

class Modules {
 public:
  explicit Modules(TraceFile& file) : file_(file) {}

  // Of the call that this thread is in: CallbackThread::OnCallEntered goes before.
  void OnLoaded(CUcontext context, uint32_t module_id, const void* cubin, size_t cubin_bytes);
  void OnHandle(CUmodule module);
  void OnUnloaded(CUcontext context, uint32_t module_id);

  // The module that a kernel of this name in the module `handle` is of. Trace lock held.
  LoadedModule FindLocked(CUmodule handle, std::string_view kernel);

 private:
  LoadedModule FindByHandleLocked(CUmodule handle);
  // What all loaded modules with a function of this name agree on.
  LoadedModule FindByNameLocked(std::string_view kernel) const;

  TraceFile& file_;
  // Under the trace's lock.
  std::unordered_map<CUmodule, LoadedModule> modules_;
  // Loaded modules by the hash of each of their functions' names, at most so many entries.
  static constexpr size_t kMaxFunctions = 1 << 18;
  std::unordered_multimap<uint64_t, LoadedModule> modules_of_function_;
};

}  // namespace hotproof::tracer
