// Interns launches into sites and kernels into ids. Resolve is called in launch callbacks on any
// thread: lock-free when this thread has seen the same launch before, else it takes the trace's
// lock. A launch like one of the last few (core/launch_cache.h) is neither copied nor hashed.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cupti_tracer/core/arguments.h"
#include "cupti_tracer/core/cupti_api.h"
#include "cupti_tracer/core/generation.h"
#include "cupti_tracer/core/known_tensor_maps.h"
#include "cupti_tracer/core/launch_cache.h"
#include "cupti_tracer/core/launch_description.h"
#include "cupti_tracer/core/launching_library.h"
#include "cupti_tracer/core/library_call.h"
#include "cupti_tracer/core/modules.h"
#include "cupti_tracer/core/trace_file.h"
#include "cupti_tracer/ranges/range_paths.h"

namespace hotproof::tracer {

// A kernel as code: one per (name, cubin, argument layout). Never freed.
struct KernelInfo {
  uint32_t id = 0;
  std::string name;
  std::atomic<const ArgumentLayout*> layout{nullptr};
  // Under the trace's lock. Sets stay where they are: threads' caches point at them.
  std::unordered_map<uint64_t, ArgumentSet> argument_sets;  // by hash
  std::unordered_set<uint64_t> calls;                       // hashes: library call and arguments
  bool arguments_reported = false, calls_reported = false;
};

struct SiteInfo {
  const KernelInfo* kernel = nullptr;  // null: made from a record alone
  uint32_t grid[3] = {}, block[3] = {};
  // Of the records seen for this site; used by the record thread alone, under the trace's lock.
  const char* record_name = nullptr;  // last name pointer that was compared equal
  uint32_t record_name_generation = 0;
  uint32_t attributes_id = 0;
  trace::AttributesEntry attributes;
};

class Sites {
 public:
  // At most this many different argument sets a kernel become sites of their own, then as many
  // heads of them (HeadsOf).
  static constexpr size_t kMaxArgumentSets = 64, kMaxArgumentHeads = 1024;
  // At most this many different library calls (times argument sets) a kernel are told apart.
  // Launches in more share a site, which says so.
  static constexpr size_t kMaxCallsPerKernel = 512;
  // Of all kernels together, so many heads, and calls beyond the first kMaxArgumentSets of a
  // kernel.
  static constexpr size_t kMaxExtraEvidence = 8192;

  // At most so many sites that named ranges tell apart; launches in others are in a range '(many)'.
  static constexpr size_t kMaxRangedSites = 49152;

  // `ranges`: whose ids descriptions hold; null: they hold none. `launching_library`: of the call
  // that this thread is in; walks the stack, so it is asked once a site.
  Sites(TraceFile& file, const Driver& driver, RangePaths* ranges = nullptr,
        std::string (*launching_library)() = LaunchingLibrary)
      : file_(file),
        driver_(driver),
        ranges_(ranges),
        launching_library_(launching_library),
        tensor_maps_(file, driver),
        modules_(file) {
    sites_.emplace_back();
  }

  // The site of a launch; 0 when every id is taken. An eager launch's site is on disk on return.
  uint32_t Resolve(const LaunchDescription& description);
  // The same if this thread has launched just that lately, else kNotCached. Never waits, never
  // throws.
  static constexpr uint32_t kNotCached = UINT32_MAX;
  [[gnu::always_inline]] uint32_t ResolveCached(const LaunchDescription& description,
                                                const LaunchCache& cache,
                                                CurrentLibraryCall call) const noexcept {
    const auto* entry = cache.Find(description, call.hash, generation(), tensor_maps_.maps());
    return entry == nullptr ? kNotCached : entry->site;
  }
  uint32_t ResolveCached(const LaunchDescription& description) const noexcept {
    const LaunchMemory* memory = LaunchMemory::Get();
    return memory == nullptr
               ? kNotCached
               : ResolveCached(description, memory->launches, CurrentLibraryCall::Get());
  }

  // cuFuncSetBlockShape and cuFuncSetSharedSize: what legacy launches of the function take.
  void OnBlockShape(CUfunction function, const uint32_t (&block)[3]);
  void OnSharedSize(CUfunction function, uint32_t bytes);
  // Fills in what a legacy launch takes from those calls; nothing if they were not seen.
  void AddFunctionState(LaunchDescription& description);

  // A site for a record that no callback explains. Trace lock held.
  uint32_t ResolveUnattributedLocked(std::string_view kernel_name, const uint32_t (&grid)[3],
                                     const uint32_t (&block)[3], uint32_t dynamic_shared_bytes,
                                     uint32_t graph_node_captured);

  SiteInfo& SiteLocked(uint32_t id) { return sites_[id < sites_.size() ? id : 0]; }

  // A module's functions and name pointers may be reused from now on.
  void ForgetHandles() { generation_.store(NewGeneration(), std::memory_order_relaxed); }
  uint32_t generation() const { return generation_.load(std::memory_order_relaxed); }

  // modules.h
  void OnModuleLoaded(CUcontext context, uint32_t module_id, const void* cubin,
                      size_t cubin_bytes) {
    modules_.OnLoaded(context, module_id, cubin, cubin_bytes);
  }
  void OnModuleHandle(CUmodule module) { modules_.OnHandle(module); }
  void OnModuleUnloaded(CUcontext context, uint32_t module_id) {
    modules_.OnUnloaded(context, module_id);
    ForgetHandles();
  }
  // known_tensor_maps.h
  void RememberTensorMap(const void* map_bytes, const trace::TensorMapEntry& description) {
    tensor_maps_.Remember(map_bytes, description);
  }
  // The same map with another address: its bytes changed, its description did not.
  void RememberReplacedTensorMap(const void* map_bytes, uint32_t id) {
    tensor_maps_.RememberReplaced(map_bytes, id);
  }
  uint32_t FindTensorMap(const void* map_bytes) const {
    return tensor_maps_.maps().Find(map_bytes);
  }

 private:
  KernelInfo* FindKernel(const LaunchDescription& description);
  KernelInfo* FindKernelSlow(const LaunchDescription& description);
  // `library`: tells apart kernels of one name from several modules.
  KernelInfo* InternKernelLocked(std::string name, const LoadedModule& module,
                                 ArgumentLayout layout, const std::string& library);
  CUmodule ModuleOf(CUfunction function) const;
  // A site, and what launches are compared with to be of it.
  struct Resolved {
    uint32_t site = 0;
    const ArgumentLayout* layout = nullptr;
    const ArgumentSet* arguments = nullptr;  // null: no part of the site
  };
  Resolved ResolveHashed(const LaunchDescription& description, KernelInfo& kernel,
                         CurrentLibraryCall call);
  Resolved ResolveSlow(const LaunchDescription& description, KernelInfo& kernel,
                       ArgumentBytes& arguments, CurrentLibraryCall call);
  // The launch itself, or, where ranges may make no more sites, as one in '(many)'.
  LaunchDescription LimitRangesLocked(const LaunchDescription& description, uint32_t kernel_id,
                                      uint64_t evidence_hash);
  // `evidence`: what the description does not say; 0 when every id is taken.
  uint32_t AddSiteLocked(const LaunchDescription& description, const KernelInfo& kernel,
                         uint64_t key, trace::SiteEntry evidence);

  TraceFile& file_;
  const Driver& driver_;
  RangePaths* const ranges_;
  std::string (*const launching_library_)();
  std::atomic<uint32_t> generation_{NewGeneration()};
  const uint32_t instance_ = NewGeneration();
  KnownTensorMaps tensor_maps_;
  Modules modules_;

  // Under the trace's lock.
  struct FunctionEntry {
    KernelInfo* kernel = nullptr;
    uint32_t generation = 0;
  };
  std::unordered_map<CUfunction, FunctionEntry> functions_;
  struct FunctionState {
    uint32_t block[3] = {};
    uint32_t shared_bytes = 0;
    uint32_t generation = 0;
  };
  FunctionState& FunctionStateLocked(CUfunction function);
  std::unordered_map<CUfunction, FunctionState> function_states_;
  std::unordered_map<std::string, KernelInfo*> kernels_;  // by name, hash and layout
  std::deque<KernelInfo> kernel_storage_;
  std::deque<ArgumentLayout> layout_storage_;
  std::unordered_map<uint64_t, uint32_t> site_ids_;
  std::deque<SiteInfo> sites_;
  size_t ranged_sites_ = 0, extra_evidence_ = 0;
  bool ranges_reported_ = false;
};

}  // namespace hotproof::tracer
