// NVTX's tables of functions: whoever is in one gets every call of a module that uses NVTX. Filled
// by nvtx.cc when NVTX initialises; what stands there is in nvtx_ranges.cc, nvtx_marks.cc and
// nvtx_handles.cc, and runs on any thread.
#pragma once

#include <nvtx3/nvToolsExt.h>

#include <atomic>
#include <type_traits>

namespace hotproof::tracer {

// What the chained tool put in NVTX's tables; null where there is none. One for all modules: a tool
// gives every module the same functions.
template <typename Function>
using NvtxNext = std::atomic<Function>;

// Whether there is a chained tool. Then the program has the tool's answers alone, none and null
// included: what we made up would go back to it.
inline std::atomic<bool> nvtx_has_tool{false};
inline bool HasNvtxTool() { return nvtx_has_tool.load(std::memory_order_relaxed); }

// One module's table of functions. Before the chained tool is initialised its slots hold NVTX's own
// first-call stubs, which must not be called again afterwards; only what the tool put there is
// called through to.
class NvtxTable {
 public:
  NvtxTable(const NvtxExportTableCallbacks& callbacks, NvtxCallbackModule module) {
    if (callbacks.GetModuleFunctionTable(module, &slots_, &size_) == 0) size_ = 0;
    if (size_ > kMost) size_ = kMost;
    for (unsigned id = 0; id < size_; ++id) {
      stubs_[id] = slots_[id] == nullptr ? nullptr : *slots_[id];
    }
  }

  void Restore() {
    for (unsigned id = 0; id < size_; ++id) {
      if (slots_[id] != nullptr) *slots_[id] = stubs_[id];
    }
  }

  template <typename Function>
  void Take(unsigned id, std::type_identity_t<Function> ours, NvtxNext<Function>& next) {
    if (id >= size_ || slots_[id] == nullptr) return;
    const NvtxFunctionPointer present = *slots_[id];
    const auto plain = reinterpret_cast<NvtxFunctionPointer>(ours);
    if (present != stubs_[id] && present != plain && present != nullptr) {
      next.store(reinterpret_cast<Function>(present), std::memory_order_relaxed);
    }
    *slots_[id] = plain;
  }

 private:
  static constexpr unsigned kMost = 32;
  NvtxFunctionTable slots_ = nullptr;
  unsigned size_ = 0;
  NvtxFunctionPointer stubs_[kMost] = {};
};

// Put ours where they belong: into one module's tables of the core and of domains.
void TakeNvtxRanges(NvtxTable& core, NvtxTable& core2);
void TakeNvtxMarks(NvtxTable& core, NvtxTable& core2);
void TakeNvtxHandles(NvtxTable& core2);

}  // namespace hotproof::tracer
