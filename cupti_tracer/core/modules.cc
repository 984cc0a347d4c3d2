#include "cupti_tracer/core/modules.h"

#include <xxhash.h>

#include <mutex>
#include <span>
#include <vector>

#include "cupti_tracer/core/callback_data.h"
#include "cupti_tracer/core/cubin.h"

namespace hotproof::tracer {
namespace {

// The last of the modules loaded in the driver call that this thread is in.
thread_local LoadedModule last_loaded;

}  // namespace

void Modules::OnLoaded(CUcontext context, uint32_t module_id, const void* cubin,
                       size_t cubin_bytes) {
  last_loaded = {context, module_id};
  ++callback_thread.loads_in_call;
  if (cubin == nullptr) return;
  const std::span bytes(static_cast<const uint8_t*>(cubin), cubin_bytes);
  const CubinArchitecture architecture = ArchitectureOf(bytes);
  last_loaded.cubin_hash = XXH3_64bits(cubin, cubin_bytes);
  last_loaded.architecture = architecture.number;
  architecture.suffix.copy(last_loaded.suffix, sizeof last_loaded.suffix - 1);
  const std::vector<std::string_view> functions = FunctionNames(bytes);
  {
    std::lock_guard lock(file_.mutex());
    for (const std::string_view function : functions) {
      if (modules_of_function_.size() >= kMaxFunctions) break;
      modules_of_function_.emplace(XXH3_64bits(function.data(), function.size()), last_loaded);
    }
  }
  if (LaunchesFromDevice(bytes)) {
    file_.CountProblem(ProblemKind::kDeviceLaunchPossible,
                       "a loaded module calls the device runtime");
  }
}

void Modules::OnHandle(CUmodule module) {
  std::lock_guard lock(file_.mutex());
  modules_.erase(module);
  FindByHandleLocked(module);
}

void Modules::OnUnloaded(CUcontext context, uint32_t module_id) {
  std::lock_guard lock(file_.mutex());
  const auto is_of_module = [&](const auto& entry) {
    return entry.second.context == context && entry.second.id == module_id;
  };
  std::erase_if(modules_, is_of_module);
  std::erase_if(modules_of_function_, is_of_module);
}

LoadedModule Modules::FindLocked(CUmodule handle, std::string_view kernel) {
  const LoadedModule loaded = FindByHandleLocked(handle);
  return loaded.cubin_hash == 0 ? FindByNameLocked(kernel) : loaded;
}

LoadedModule Modules::FindByHandleLocked(CUmodule handle) {
  if (handle == nullptr) return {};
  const auto found = modules_.find(handle);
  if (found != modules_.end()) return found->second;
  if (callback_thread.loads_in_call != 1) return {};
  callback_thread.loads_in_call = 0;
  return modules_.emplace(handle, last_loaded).first->second;
}

LoadedModule Modules::FindByNameLocked(std::string_view kernel) const {
  LoadedModule found;
  const auto [begin, end] =
      modules_of_function_.equal_range(XXH3_64bits(kernel.data(), kernel.size()));
  for (auto at = begin; at != end; ++at) {
    if (at == begin) {
      found = at->second;
    } else if (at->second.cubin_hash != found.cubin_hash) {
      return {.one_of_several = true};
    } else {
      found.id = 0;  // loaded more than once: which, is not known
    }
  }
  return found;
}

}  // namespace hotproof::tracer
