#include "analyzers/trace_index.h"

#include <re2/re2.h>

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "catalog/name/parsed_name.h"

namespace hotproof::analyzers {
namespace {

constexpr uint64_t kNsPerHour = 3'600'000'000'000;

uint64_t At(const std::vector<uint64_t>& values, size_t index) {
  return index < values.size() ? values[index] : 0;
}

// FNV-1a: only tells argument sets of one kernel apart, within one report.
uint64_t Digest(std::string_view bytes, uint64_t hash = 0xcbf29ce484222325) {
  for (const unsigned char c : bytes) hash = (hash ^ c) * 0x100000001b3;
  return hash;
}

// The older one of what a name and a cubin say: a kernel designed for Ampere, compiled again for
// Hopper, is named after Ampere and runs from an sm_90 cubin. For one and the same, the cubin's
// word is more exact.
void TakeArchitecture(const trace::Kernel& kernel, KernelInfo* info) {
  std::string& arch = info->kernel_class.arch;
  uint32_t named = 0;
  static const RE2 number("^sm_?(\\d+)");
  RE2::PartialMatch(arch, number, &named);  // "sm90a" is 90
  const uint32_t built = kernel.architecture();
  if (built != 0 && (named == 0 || built <= named)) {
    arch = absl::StrCat("sm", built, kernel.architecture_suffix());
  }
  info->architecture = named != 0 && built != 0 ? std::min(named, built) : std::max(named, built);
}

}  // namespace

TraceIndex::TraceIndex(const trace::Tables& tables, const catalog::Classifier& classifier)
    : tables_(&tables), phases_(FindPhases(tables)) {
  ClassifyKernels(classifier);
  LayOutSlots();
  CountLaunches();
  FindClockRange();
  for (const trace::Stream& stream : tables.streams) {
    stream_device_.push_back(std::min(stream.device_id(), kUnknownDevice));
  }
}

void TraceIndex::ClassifyKernels(const catalog::Classifier& classifier) {
  kernels_.resize(std::max<size_t>(tables_->kernels.size(), 1));
  kernels_[0].name = kernels_[0].canonical = "(unknown kernel)";
  std::vector<std::vector<const catalog::CompiledLayout*>> layouts(kernels_.size());
  for (size_t id = 1; id < kernels_.size(); ++id) {
    const trace::Kernel& kernel = tables_->kernels[id];
    KernelInfo& info = kernels_[id];
    info.name = kernel.name().empty() ? "(unnamed kernel)" : kernel.name();
    const catalog::ParsedName parsed(info.name);
    info.canonical = parsed.root() == nullptr ? info.name : catalog::PrintCanonical(*parsed.root());
    info.kernel_class = classifier.Classify(parsed);
    if (info.kernel_class.kind == catalog::Kind::kGemm) {
      layouts[id] = classifier.LayoutsOf(info.name, info.kernel_class);
    }
    TakeArchitecture(kernel, &info);
    if (kernel.cubin_hash() != 0) info.cubin_hash = absl::StrFormat("%016x", kernel.cubin_hash());
  }
  sites_.resize(std::max<size_t>(tables_->sites.size(), 1));
  absl::flat_hash_map<std::string, uint32_t> calls;
  for (size_t id = 1; id < sites_.size(); ++id) {
    const trace::Site& site = tables_->sites[id];
    SiteInfo& info = sites_[id];
    info.kernel = site.kernel_id() < kernels_.size() ? site.kernel_id() : 0;
    const catalog::KernelClass& kernel_class = kernels_[info.kernel].kernel_class;
    info.kind = site.has_library_call() ? kernel_class.kind_in_call.value_or(kernel_class.kind)
                                        : kernel_class.kind;
    if (site.has_library_call()) {
      const auto id = static_cast<uint32_t>(calls.size() + 1);
      info.library_call =
          calls.try_emplace(site.library_call().SerializeAsString(), id).first->second;
    }
    if (info.kind != catalog::Kind::kGemm) continue;
    std::string contradiction;
    info.shape = ShapeOf(site, {kernel_class, layouts[info.kernel]}, *tables_, &contradiction);
    if (!contradiction.empty()) {
      absl::StrAppend(&contradiction, ": site ", id, ", ", kernels_[info.kernel].canonical);
      shape_contradictions_.emplace(id, std::move(contradiction));
    }
  }
}

void TraceIndex::LayOutSlots() {
  slot_site_.resize(sites_.size());
  for (size_t id = 0; id < sites_.size(); ++id) slot_site_[id] = static_cast<uint32_t>(id);
  const size_t graphs = std::max<size_t>(tables_->graphs.size(), 1);
  graph_slot_.assign(graphs + 1, static_cast<uint32_t>(slot_site_.size()));
  for (size_t graph = 0; graph < graphs; ++graph) {
    graph_slot_[graph] = static_cast<uint32_t>(slot_site_.size());
    if (graph >= tables_->graphs.size()) continue;
    for (const uint32_t site : tables_->graphs[graph].node_sites) {
      slot_site_.push_back(site < sites_.size() ? site : 0);
    }
  }
  graph_slot_[graphs] = static_cast<uint32_t>(slot_site_.size());
}

void TraceIndex::CountLaunches() {
  launches_.resize(slot_site_.size());
  auto split = [this](uint64_t total, uint64_t before) {
    if (before > total) {
      counters_ran_backwards_ = true;
      before = total;
    }
    return SlotLaunches{before, total - before};
  };
  const trace::CounterValues& end = tables_->asked;
  const trace::CounterValues& before = phases_.warmup;

  for (size_t id = 1; id < std::max(end.sites.size(), sites_.size()); ++id) {
    const SlotLaunches launches = split(At(end.sites, id), At(before.sites, id));
    if (id < sites_.size() && tables_->sites[id].id() == id) {
      launches_[id] = launches;
      if (IsLost(id)) launches_without_table_ += launches.total();
    } else if (launches.total() > 0) {
      launches_without_table_ += launches.total();
      launches_[0].warmup += launches.warmup;
      launches_[0].steady += launches.steady;
    }
  }
  const SlotLaunches overflow = split(At(end.sites, 0), At(before.sites, 0));
  launches_without_slot_ = overflow.total();
  launches_[0].warmup += overflow.warmup;
  launches_[0].steady += overflow.steady;

  replays_without_table_ = At(end.graphs, 0);
  for (size_t id = 1; id < end.graphs.size(); ++id) {
    const SlotLaunches replays = split(At(end.graphs, id), At(before.graphs, id));
    if (id + 1 >= graph_slot_.size() || tables_->graphs[id].id != id) {
      replays_without_table_ += replays.total();
      continue;
    }
    for (uint32_t slot = graph_slot_[id]; slot < graph_slot_[id + 1]; ++slot) {
      launches_[slot] = replays;
      if (slot_site_[slot] != 0 && IsLost(slot_site_[slot]))
        launches_without_table_ += replays.total();
    }
  }
}

// A site outlives the chunk that described its kernel, a graph the one that described its sites.
bool TraceIndex::IsLost(uint32_t site) const {
  if (tables_->sites[site].id() != site) return true;
  const uint32_t kernel = tables_->sites[site].kernel_id();
  return kernel != 0 &&
         (kernel >= tables_->kernels.size() || tables_->kernels[kernel].id() != kernel);
}

// Records an hour outside the clock pairs the tracer took are not times of this process.
void TraceIndex::FindClockRange() {
  if (tables_->clocks.empty()) return;
  uint64_t low = UINT64_MAX, high = 0;
  for (const trace::ClockPair& pair : tables_->clocks) {
    if (pair.cupti_ns() == 0) continue;
    low = std::min<uint64_t>(low, pair.cupti_ns());
    high = std::max<uint64_t>(high, pair.cupti_ns());
  }
  if (high == 0) return;
  clock_low_ns_ = low > kNsPerHour ? low - kNsPerHour : 1;
  clock_high_ns_ = high + kNsPerHour;
}

catalog::Path TraceIndex::path_of_site(uint32_t site) const {
  return kernels_[sites_[site].kernel].kernel_class.path;
}

std::string TraceIndex::VariantOfSite(uint32_t site_id) const {
  if (site_id == 0 || site_id >= tables_->sites.size()) return "";
  const trace::Site& site = tables_->sites[site_id];
  // Tensor maps hold addresses in their own encoding: their dims stand in for their bytes.
  std::string bytes = site.arguments();
  uint64_t digest = 0xcbf29ce484222325;
  for (const trace::TensorMapUse& use : site.tensor_maps()) {
    for (size_t i = use.argument_offset(); i < use.argument_offset() + 128 && i < bytes.size();
         ++i) {
      bytes[i] = 0;
    }
    if (use.tensor_map_id() >= tables_->tensor_maps.size()) continue;
    trace::TensorMap map = tables_->tensor_maps[use.tensor_map_id()];
    map.clear_id();
    digest = Digest(map.SerializeAsString(), digest);
  }
  std::string variant =
      absl::StrFormat("grid %dx%dx%d block %dx%dx%d", site.grid_x(), site.grid_y(), site.grid_z(),
                      site.block_x(), site.block_y(), site.block_z());
  if (!bytes.empty()) {
    absl::StrAppendFormat(&variant, " arguments %08x", Digest(bytes, digest) & 0xffffffff);
  } else if (site.arguments_overflowed()) {
    absl::StrAppend(&variant, " arguments not kept");
  }
  return variant;
}

std::string TraceIndex::WhyUnknown(uint32_t id) const {
  const auto contradiction = shape_contradictions_.find(id);
  if (contradiction != shape_contradictions_.end()) return contradiction->second;
  const trace::Site& site = tables_->sites[id];
  if (site.arguments_overflowed()) return "the kernel had more argument sets than are kept";
  if (site.library_calls_overflowed())
    return "the kernel ran in more library calls than are told apart";
  if (site.arguments().empty()) return "the launch's arguments could not be read";
  if (site.kernel_id() < tables_->kernels.size()) {
    const trace::Kernel& kernel = tables_->kernels[site.kernel_id()];
    const int last = std::min(kernel.parameter_offsets_size(), kernel.parameter_sizes_size()) - 1;
    if (last >= 0 && site.arguments().size() <
                         uint64_t{kernel.parameter_offsets(last)} + kernel.parameter_sizes(last)) {
      return "the kernel had more argument sets than are kept whole";
    }
  }
  return "neither the arguments nor the name tell M, N and K";
}

}  // namespace hotproof::analyzers
