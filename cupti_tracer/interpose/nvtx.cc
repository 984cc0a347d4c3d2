#include "cupti_tracer/interpose/nvtx.h"

#include <dlfcn.h>

#include <cstring>

#include "cupti_tracer/core/guard.h"
#include "cupti_tracer/core/session.h"

namespace hotproof::tracer {
namespace {

using MarkA = void (*)(const char*);
using MarkEx = void (*)(const nvtxEventAttributes_t*);
MarkA next_mark_a = nullptr;
MarkEx next_mark_ex = nullptr;

void OnText(const char* text) {
  constexpr char kPrefix[] = "hotproof.";
  if (text == nullptr || std::strncmp(text, kPrefix, sizeof kPrefix - 1) != 0) return;
  Guarded([text] {
    if (Session* session = Session::Get()) session->Mark(text + sizeof kPrefix - 1);
  });
}

void OnMarkA(const char* text) {
  OnText(text);
  if (next_mark_a != nullptr) next_mark_a(text);
}

void OnMarkEx(const nvtxEventAttributes_t* attributes) {
  if (attributes != nullptr && attributes->messageType == NVTX_MESSAGE_TYPE_ASCII) {
    OnText(attributes->message.ascii);
  }
  if (next_mark_ex != nullptr) next_mark_ex(attributes);
}

// One function of NVTX's table. Before the chained tool is initialised the slot holds NVTX's own
// first-call stub, which must not be called again afterwards; only what the tool put there is
// called through to.
template <typename Function>
class Slot {
 public:
  Slot(NvtxFunctionTable table, unsigned id)
      : slot_(table[id]), stub_(slot_ == nullptr ? nullptr : *slot_) {}
  void Take(Function ours, Function& next) {
    if (slot_ == nullptr) return;
    const NvtxFunctionPointer present = *slot_;
    const auto ours_plain = reinterpret_cast<NvtxFunctionPointer>(ours);
    if (present != stub_ && present != ours_plain && present != nullptr) {
      next = reinterpret_cast<Function>(present);
    }
    *slot_ = ours_plain;
  }

 private:
  NvtxFunctionPointer* slot_;
  NvtxFunctionPointer stub_;
};

int InitializeChained(const std::string& path, NvtxGetExportTableFunc_t get_export_table) {
  if (path.empty()) return 0;
  void* handle = dlopen(path.c_str(), RTLD_NOW);
  if (handle == nullptr) return 0;
  using Initialize = int (*)(NvtxGetExportTableFunc_t);
  auto* initialize = reinterpret_cast<Initialize>(dlsym(handle, "InitializeInjectionNvtx2"));
  return initialize == nullptr ? 0 : initialize(get_export_table);
}

}  // namespace

int InitializeNvtx(NvtxGetExportTableFunc_t get_export_table, const std::string& chained_path) {
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(
      get_export_table == nullptr ? nullptr : get_export_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks == nullptr || callbacks->struct_size < sizeof *callbacks ||
      callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size) == 0 ||
      size <= NVTX_CBID_CORE_MarkA || size <= NVTX_CBID_CORE_MarkEx) {
    return InitializeChained(chained_path, get_export_table);
  }
  Slot<MarkEx> mark_ex(table, NVTX_CBID_CORE_MarkEx);
  Slot<MarkA> mark_a(table, NVTX_CBID_CORE_MarkA);
  InitializeChained(chained_path, get_export_table);
  mark_ex.Take(&OnMarkEx, next_mark_ex);
  mark_a.Take(&OnMarkA, next_mark_a);
  return 1;
}

}  // namespace hotproof::tracer
