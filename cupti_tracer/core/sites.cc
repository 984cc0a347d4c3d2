#include "cupti_tracer/core/sites.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cupti_tracer/core/thread_cache.h"

namespace hotproof::tracer {
namespace {

// What a thread saw last, so that a repeated launch takes no lock.
struct ThreadCache {
  static constexpr size_t kFunctions = 128, kSites = 1024;
  struct {
    CUfunction function;
    KernelInfo* kernel;
    uint32_t generation;
  } functions[kFunctions];
  struct {
    uint64_t key;
    const ArgumentSet* arguments;
    uint32_t site;
    uint32_t instance;
  } sites[kSites];
};
size_t PointerSlot(const void* pointer, size_t slots) {
  return (reinterpret_cast<uintptr_t>(pointer) * 0x9e3779b97f4a7c15u >> 32) % slots;
}

uint64_t KeyOf(const LaunchDescription& d, uint32_t kernel_id, uint64_t evidence_hash) {
  const struct {
    uint32_t kernel_id;
    LaunchConstants constants;
  } key{kernel_id, ConstantsOf(d)};
  static_assert(sizeof key == sizeof key.kernel_id + sizeof key.constants);
  return XXH3_64bits_withSeed(&key, sizeof key, evidence_hash) | 1;  // 0 marks an empty slot
}

uint64_t HashArguments(const ArgumentBytes& arguments) {
  if (arguments.size() == 0) return 0;
  uint64_t hash = XXH3_64bits(arguments.data(), arguments.size());
  for (const trace::TensorMapUseEntry& use : arguments.uses()) {
    hash = XXH3_64bits_withSeed(&use, sizeof use, hash);
  }
  return hash;
}

// Stands for all calls beyond the limit.
constexpr uint64_t kManyCalls = 0x6d616e795f63616c;

uint64_t WithLibraryCall(uint64_t arguments_hash, uint64_t call_hash) {
  return call_hash == 0 ? arguments_hash
                        : XXH3_64bits_withSeed(&call_hash, sizeof call_hash, arguments_hash);
}

}  // namespace

KernelInfo* Sites::FindKernel(const LaunchDescription& d) {
  ThreadCache* cache = ThreadCacheOf<ThreadCache>::Get();
  if (cache == nullptr) return FindKernelSlow(d);
  auto& slot = cache->functions[PointerSlot(d.function, ThreadCache::kFunctions)];
  const uint32_t generation = this->generation();
  if (slot.function == d.function && slot.generation == generation) return slot.kernel;
  KernelInfo* kernel = FindKernelSlow(d);
  slot = {d.function, kernel, generation};
  return kernel;
}

KernelInfo* Sites::FindKernelSlow(const LaunchDescription& d) {
  const uint32_t generation = this->generation();
  {
    std::lock_guard lock(file_.mutex());
    const auto found = functions_.find(d.function);
    if (found != functions_.end() && found->second.generation == generation) {
      return found->second.kernel;
    }
  }
  const char* name = d.symbol_name;
  if (name == nullptr && driver_.FuncGetName != nullptr &&
      driver_.FuncGetName(&name, d.function) != CUDA_SUCCESS) {
    name = nullptr;
  }
  if (name == nullptr && driver_.KernelGetName != nullptr &&
      driver_.KernelGetName(&name, reinterpret_cast<CUkernel>(d.function)) != CUDA_SUCCESS) {
    name = nullptr;
  }
  ArgumentLayout layout = ReadArgumentLayout(driver_, d.function);
  const CUmodule module = ModuleOf(d.function);
  std::unique_lock lock(file_.mutex());
  std::string kernel_name = name == nullptr ? "" : name;
  const LoadedModule loaded = modules_.FindLocked(module, kernel_name);
  // Modules have no name that outlives a load; who launches this function first has.
  std::string library;
  if (loaded.one_of_several) {
    lock.unlock();
    library = launching_library_();
    lock.lock();
  }
  KernelInfo* kernel =
      InternKernelLocked(std::move(kernel_name), loaded, std::move(layout), library);
  functions_[d.function] = {kernel, generation};
  return kernel;
}

CUmodule Sites::ModuleOf(CUfunction function) const {
  CUmodule module = nullptr;
  if (driver_.FuncGetModule == nullptr) return nullptr;
  if (driver_.FuncGetModule(&module, function) == CUDA_SUCCESS) return module;
  CUfunction of_kernel = nullptr;
  if (driver_.KernelGetFunction != nullptr &&
      driver_.KernelGetFunction(&of_kernel, reinterpret_cast<CUkernel>(function)) == CUDA_SUCCESS &&
      driver_.FuncGetModule(&module, of_kernel) == CUDA_SUCCESS) {
    return module;
  }
  return nullptr;
}

KernelInfo* Sites::InternKernelLocked(std::string name, const LoadedModule& module,
                                      ArgumentLayout layout, const std::string& library) {
  const uint64_t cubin_hash = module.cubin_hash;
  std::string key = name;
  key.append(1, '\0').append(reinterpret_cast<const char*>(&cubin_hash), sizeof cubin_hash);
  key.append(library).append(1, '\0');
  for (size_t i = 0; i < layout.offsets.size(); ++i) {
    const uint32_t place[2] = {layout.offsets[i], layout.sizes[i]};
    key.append(reinterpret_cast<const char*>(place), sizeof place);
  }
  if (const auto known = kernels_.find(key); known != kernels_.end()) return known->second;
  // Visible when it is whole: memory may run out in between.
  layout.PreparePieces();
  const ArgumentLayout& stored = layout_storage_.emplace_back(std::move(layout));
  KernelInfo* const kernel = &kernel_storage_.emplace_back();
  kernel->id = static_cast<uint32_t>(kernel_storage_.size());
  kernel->name = std::move(name);
  kernel->layout.store(&stored, std::memory_order_release);
  kernels_.emplace(std::move(key), kernel);
  if (trace::Writer* writer = file_.writer_locked()) {
    writer->AddKernel({.id = kernel->id,
                       .name = kernel->name,
                       .module_id = module.id,
                       .cubin_hash = cubin_hash,
                       .parameter_offsets = stored.offsets,
                       .parameter_sizes = stored.sizes,
                       .architecture = module.architecture,
                       .architecture_suffix = module.suffix});
  }
  return kernel;
}

uint32_t Sites::Resolve(const LaunchDescription& d) {
  const CurrentLibraryCall call = CurrentLibraryCall::Get();
  const uint32_t generation = this->generation();
  LaunchMemory* memory = LaunchMemory::Get();
  if (memory != nullptr) {
    const auto* entry = memory->launches.Find(d, call.hash, generation, tensor_maps_.maps());
    if (entry != nullptr) return entry->site;
  }
  KernelInfo& kernel = *FindKernel(d);
  const Resolved resolved = ResolveHashed(d, kernel, call);
  if (memory != nullptr) {
    memory->launches.Insert(d, {.function = d.function,
                               .call_hash = call.hash,
                               .current_layout = &kernel.layout,
                               .layout = resolved.layout,
                               .arguments = resolved.arguments,
                               .generation = generation,
                               .site = resolved.site,
                               .constants = ConstantsOf(d)});
  }
  return resolved.site;
}

Sites::Resolved Sites::ResolveHashed(const LaunchDescription& d, KernelInfo& kernel,
                                     CurrentLibraryCall call) {
  const ArgumentLayout& layout = *kernel.layout.load(std::memory_order_acquire);
  ArgumentBytes arguments;
  if (arguments.Gather(layout, d)) {
    tensor_maps_.LearnAtKnownPlaces(layout, arguments);
    arguments.Mask(layout, tensor_maps_.maps());
  }
  const uint64_t key = KeyOf(d, kernel.id, WithLibraryCall(HashArguments(arguments), call.hash));
  ThreadCache* cache = ThreadCacheOf<ThreadCache>::Get();
  auto* slot = cache == nullptr ? nullptr : &cache->sites[key % ThreadCache::kSites];
  if (slot != nullptr && slot->key == key && slot->instance == instance_) {
    return {slot->site, &layout, slot->arguments};
  }
  if (arguments.size() != 0) arguments.Gather(layout, d);
  const Resolved resolved = ResolveSlow(d, kernel, arguments, call);
  // A mask found just now changes the key: the next such launch finds its site by the new one.
  if (slot != nullptr && resolved.layout == &layout) {
    *slot = {key, resolved.arguments, resolved.site, instance_};
  }
  return resolved;
}

Sites::FunctionState& Sites::FunctionStateLocked(CUfunction function) {
  FunctionState& state = function_states_[function];
  if (state.generation != generation()) state = {.generation = generation()};
  return state;
}

void Sites::OnBlockShape(CUfunction function, const uint32_t (&block)[3]) {
  std::lock_guard lock(file_.mutex());
  FunctionState& state = FunctionStateLocked(function);
  std::memcpy(state.block, block, sizeof state.block);
}

void Sites::OnSharedSize(CUfunction function, uint32_t bytes) {
  std::lock_guard lock(file_.mutex());
  FunctionStateLocked(function).shared_bytes = bytes;
}

void Sites::AddFunctionState(LaunchDescription& d) {
  std::lock_guard lock(file_.mutex());
  const auto found = function_states_.find(d.function);
  if (found == function_states_.end() || found->second.generation != generation()) return;
  std::memcpy(d.block, found->second.block, sizeof d.block);
  d.dynamic_shared_bytes = found->second.shared_bytes;
}

// `arguments`: gathered, not masked.
Sites::Resolved Sites::ResolveSlow(const LaunchDescription& launch, KernelInfo& kernel,
                                   ArgumentBytes& arguments, CurrentLibraryCall call) {
  std::vector<uint32_t> masked, maps;
  if (arguments.size() != 0) {
    const ArgumentLayout& known = *kernel.layout.load(std::memory_order_acquire);
    tensor_maps_.LearnAnywhere(known, arguments);
    arguments.FindNew(known, driver_, tensor_maps_.maps(), masked, maps);
  }
  std::unique_lock lock(file_.mutex());
  const ArgumentLayout* layout = kernel.layout.load(std::memory_order_relaxed);
  const auto publish = [&](ArgumentLayout changed) {
    changed.PreparePieces();
    layout = &layout_storage_.emplace_back(std::move(changed));
    kernel.layout.store(layout, std::memory_order_release);
  };
  const auto merge = [](std::vector<uint32_t>& into, const std::vector<uint32_t>& more) {
    into.insert(into.end(), more.begin(), more.end());
    std::sort(into.begin(), into.end());
    into.erase(std::unique(into.begin(), into.end()), into.end());
  };
  if (!masked.empty() || !maps.empty()) {
    ArgumentLayout changed = *layout;
    merge(changed.masked, masked);
    merge(changed.tensor_maps, maps);
    publish(std::move(changed));
  }
  uint64_t hash = 0;
  const ArgumentSet* set = nullptr;
  while (arguments.size() != 0 && !layout->overflowed) {
    if (arguments.size() != layout->total_bytes) arguments.Gather(*layout, launch);
    arguments.Mask(*layout, tensor_maps_.maps());
    hash = HashArguments(arguments);
    const auto found = kernel.argument_sets.find(hash);
    if (found != kernel.argument_sets.end()) {
      set = &found->second;
    } else if (layout->heads_only
                   ? extra_evidence_ < kMaxExtraEvidence &&
                         kernel.argument_sets.size() < kMaxArgumentSets + kMaxArgumentHeads
                   : kernel.argument_sets.size() < kMaxArgumentSets) {
      extra_evidence_ += layout->heads_only ? 1 : 0;
      set = &kernel.argument_sets.emplace(hash, arguments.AsSet()).first->second;
    } else if (!layout->heads_only) {
      publish(HeadsOf(*layout));
      continue;
    } else {
      ArgumentLayout changed = *layout;
      changed.overflowed = true;
      publish(std::move(changed));
      // Once a kernel: how many launches that concerns, its sites without arguments say.
      if (!std::exchange(kernel.arguments_reported, true)) {
        file_.AddProblemLocked(ProblemKind::kArgumentSetsOverflowed, 1, kernel.name);
      }
    }
    break;
  }
  if (layout->overflowed) {
    arguments = ArgumentBytes();
    hash = 0;
    set = nullptr;
  }
  bool many_calls = false;
  if (call.call != nullptr) {
    const uint64_t call_and_arguments = WithLibraryCall(hash, call.hash);
    const bool is_extra = kernel.calls.size() >= kMaxArgumentSets;
    if (kernel.calls.contains(call_and_arguments)) {
      // Its site is there.
    } else if (!is_extra ||
               (kernel.calls.size() < kMaxCallsPerKernel && extra_evidence_ < kMaxExtraEvidence)) {
      kernel.calls.insert(call_and_arguments);
      extra_evidence_ += is_extra ? 1 : 0;
    } else {
      many_calls = true;
      call = {nullptr, kManyCalls};
      if (!std::exchange(kernel.calls_reported, true)) {
        file_.AddProblemLocked(ProblemKind::kArgumentSetsOverflowed, 1,
                               "library calls of " + kernel.name);
      }
    }
  }
  const LaunchDescription d =
      LimitRangesLocked(launch, kernel.id, WithLibraryCall(hash, call.hash));
  const uint64_t key = KeyOf(d, kernel.id, WithLibraryCall(hash, call.hash));
  auto found = site_ids_.find(key);
  if (found != site_ids_.end()) return {found->second, layout, set};
  std::string launching_library;
  if (sites_.size() < file_.counters().site_slots()) {
    lock.unlock();
    launching_library = launching_library_();
    lock.lock();
  }
  found = site_ids_.find(key);
  if (found != site_ids_.end()) return {found->second, layout, set};
  trace::SiteEntry evidence;
  evidence.arguments = {reinterpret_cast<const char*>(arguments.data()), arguments.size()};
  evidence.masked_offsets = layout->masked;
  evidence.arguments_overflowed = layout->overflowed;
  evidence.tensor_maps = arguments.uses();
  evidence.library_call = call.call;
  evidence.library_calls_overflowed = many_calls;
  evidence.launching_library = launching_library;
  const uint32_t site = AddSiteLocked(d, kernel, key, evidence);
  if (!d.captured) file_.FlushTablesLocked();
  return {site, layout, set};
}

LaunchDescription Sites::LimitRangesLocked(const LaunchDescription& launch, uint32_t kernel_id,
                                           uint64_t evidence_hash) {
  LaunchDescription d = launch;
  if (!d.ranges.any() || ranges_ == nullptr || ranged_sites_ < kMaxRangedSites ||
      site_ids_.contains(KeyOf(d, kernel_id, evidence_hash))) {
    return d;
  }
  d.ranges = ranges_->ManyLocked();
  if (!std::exchange(ranges_reported_, true)) {
    file_.AddProblemLocked(ProblemKind::kRangesNotKept, 1, "eager launches");
  }
  return d;
}

uint32_t Sites::AddSiteLocked(const LaunchDescription& d, const KernelInfo& kernel, uint64_t key,
                              trace::SiteEntry entry) {
  if (sites_.size() >= file_.counters().site_slots()) {
    file_.CountProblemLocked(ProblemKind::kSlotsExhausted, "sites");
    return 0;
  }
  const uint32_t id = static_cast<uint32_t>(sites_.size());
  SiteInfo& site = sites_.emplace_back();
  site.kernel = &kernel;
  std::memcpy(site.grid, d.grid, sizeof site.grid);
  std::memcpy(site.block, d.block, sizeof site.block);
  site_ids_.emplace(key, id);
  ranged_sites_ += d.ranges.any() ? 1 : 0;
  if (trace::Writer* writer = file_.writer_locked()) {
    entry.id = id;
    entry.kernel_id = kernel.id;
    std::memcpy(entry.grid, d.grid, sizeof entry.grid);
    std::memcpy(entry.block, d.block, sizeof entry.block);
    std::memcpy(entry.cluster, d.cluster, sizeof entry.cluster);
    entry.dynamic_shared_bytes = d.dynamic_shared_bytes;
    entry.captured = d.captured;
    entry.cooperative = d.cooperative;
    entry.programmatic = d.programmatic;
    entry.api_cbid = d.cbid;
    entry.range_path = d.ranges.thread;
    entry.process_ranges = d.ranges.process;
    writer->AddSite(entry);
  }
  return id;
}

uint32_t Sites::ResolveUnattributedLocked(std::string_view kernel_name, const uint32_t (&grid)[3],
                                          const uint32_t (&block)[3], uint32_t dynamic_shared_bytes,
                                          uint32_t graph_node_captured) {
  const KernelInfo& kernel =
      *InternKernelLocked(std::string(kernel_name), {}, ArgumentLayout(), "");
  LaunchDescription d;
  std::memcpy(d.grid, grid, sizeof d.grid);
  std::memcpy(d.block, block, sizeof d.block);
  d.dynamic_shared_bytes = dynamic_shared_bytes;
  d.captured = graph_node_captured != 0;
  // A seed of its own keeps these apart from sites that a callback made.
  const uint64_t key = KeyOf(d, kernel.id, 0x756e617474726962u);
  const auto found = site_ids_.find(key);
  if (found != site_ids_.end()) return found->second;
  trace::SiteEntry evidence;
  evidence.unattributed = true;
  return AddSiteLocked(d, kernel, key, evidence);
}

}  // namespace hotproof::tracer
