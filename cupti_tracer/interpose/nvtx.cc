#include "cupti_tracer/interpose/nvtx.h"

#include <dlfcn.h>

#include "cupti_tracer/interpose/nvtx_names.h"
#include "cupti_tracer/interpose/nvtx_table.h"
#include "cupti_tracer/ranges/range_domains.h"
#include "cupti_tracer/ranges/range_stack.h"

namespace hotproof::tracer {
namespace {

void* ChainedEntry(const std::string& path, const char* name) {
  if (path.empty()) return nullptr;
  void* const library = dlopen(path.c_str(), RTLD_NOW);
  return library == nullptr ? nullptr : dlsym(library, name);
}

int InitializeChained(const std::string& path, NvtxGetExportTableFunc_t get_export_table) {
  auto* initialize = reinterpret_cast<NvtxInitializeInjectionNvtxFunc_t>(
      ChainedEntry(path, "InitializeInjectionNvtx2"));
  return initialize == nullptr ? 0 : initialize(get_export_table);
}

}  // namespace

int InitializeNvtx(NvtxGetExportTableFunc_t get_export_table, const std::string& chained_path) {
  ProcessRanges::Prepare();
  RangeDomainName(kDefaultDomain);
  NvtxNames::Prepare();
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(
      get_export_table == nullptr ? nullptr : get_export_table(NVTX_ETID_CALLBACKS));
  if (callbacks == nullptr || callbacks->struct_size < sizeof *callbacks) {
    return InitializeChained(chained_path, get_export_table);
  }
  NvtxTable core(*callbacks, NVTX_CB_MODULE_CORE), core2(*callbacks, NVTX_CB_MODULE_CORE2);
  if (InitializeChained(chained_path, get_export_table) != 0) {
    nvtx_has_tool.store(true);
  } else {  // one that failed gets no calls, as without us
    core.Restore();
    core2.Restore();
  }
  TakeNvtxRanges(core, core2);
  TakeNvtxMarks(core, core2);
  TakeNvtxHandles(core2);
  return 1;
}

int InitializeChainedNvtxExtension(void* module_info, const std::string& chained_path) {
  auto* initialize = reinterpret_cast<int (*)(void*)>(
      ChainedEntry(chained_path, "InitializeInjectionNvtxExtension"));
  return initialize == nullptr ? 0 : initialize(module_info);
}

}  // namespace hotproof::tracer
