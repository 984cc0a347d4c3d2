#include "cupti_tracer/interpose/nvtx.h"

#include <dlfcn.h>

#include <cstring>

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
  if (Session* session = Session::Get()) session->Mark(text + sizeof kPrefix - 1);
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

// Puts `ours` into NVTX's table; what was there (a chained tool's, or null) is called through to.
template <typename Function>
void Replace(NvtxFunctionPointer* slot, Function ours, Function& next) {
  if (slot == nullptr) return;
  auto* present = reinterpret_cast<Function>(*slot);
  if (present != ours) next = present;
  *slot = reinterpret_cast<NvtxFunctionPointer>(ours);
}

}  // namespace

int InitializeNvtx(NvtxGetExportTableFunc_t get_export_table, const std::string& chained_path) {
  int chained_result = 0;
  if (!chained_path.empty()) {
    if (void* handle = dlopen(chained_path.c_str(), RTLD_NOW)) {
      using Initialize = int (*)(NvtxGetExportTableFunc_t);
      if (auto* initialize =
              reinterpret_cast<Initialize>(dlsym(handle, "InitializeInjectionNvtx2"))) {
        chained_result = initialize(get_export_table);
      }
    }
  }
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(
      get_export_table == nullptr ? nullptr : get_export_table(NVTX_ETID_CALLBACKS));
  if (callbacks == nullptr || callbacks->struct_size < sizeof *callbacks) return chained_result;
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size) == 0 ||
      size <= NVTX_CBID_CORE_MarkA) {
    return chained_result;
  }
  // A table entry is the address of the slot that NVTX calls through.
  Replace(table[NVTX_CBID_CORE_MarkEx], &OnMarkEx, next_mark_ex);
  Replace(table[NVTX_CBID_CORE_MarkA], &OnMarkA, next_mark_a);
  return 1;
}

}  // namespace hotproof::tracer
