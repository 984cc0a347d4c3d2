#include "analyzers/what_ran.h"

#include <algorithm>
#include <vector>

#include "analyzers/nearest.h"
#include "analyzers/number.h"
#include "analyzers/replays.h"
#include "analyzers/selection_match.h"

namespace hotproof::analyzers {
namespace {

constexpr size_t kNearNames = 3;

void AddOneNear(const std::string& name, uint64_t launches, uint64_t warmup, report::Check* check) {
  report::Near* near = check->add_near();
  near->set_name(name);
  near->set_launches(Number(launches));
  near->set_warmup_launches(Number(warmup));
}

}  // namespace

void AddLargest(const RanByName& ran, bool by_time, report::Check* check) {
  std::vector<const RanByName::value_type*> largest;
  for (const auto& of_name : ran) largest.push_back(&of_name);
  std::stable_sort(largest.begin(), largest.end(), [by_time](const auto* a, const auto* b) {
    return by_time ? a->second.exclusive_ns > b->second.exclusive_ns
                   : a->second.launches > b->second.launches;
  });
  if (largest.size() > kNearNames) largest.resize(kNearNames);
  for (const auto* of_name : largest)
    AddOneNear(of_name->first, of_name->second.steady, of_name->second.warmup, check);
}

void AddNear(const Selection& selection, std::span<const ProcessAnalysis* const> processes,
             std::optional<PhaseChoice> replays_in, report::Check* check) {
  struct Instead {
    uint64_t launches = 0, warmup = 0;
    bool has_shape = false;
  };
  absl::btree_map<std::string, Instead> by_name;
  for (const ProcessAnalysis* process : processes) {
    const TraceIndex& index = *process->index;
    Selection shape_only;
    shape_only.shape = selection.shape;
    shape_only.kind = catalog::Kind::kGemm;
    const SiteMatcher of_shape(shape_only, index);
    std::vector<bool> looked_at;
    if (replays_in) looked_at = SlotsLookedAt(selection, *process, *replays_in);
    for (uint32_t slot = 0; slot < index.slot_count(); ++slot) {
      const uint32_t site = index.site_of_slot(slot);
      const SlotLaunches& launches = index.launches()[slot];
      if (site == 0 || launches.total() == 0 || (replays_in && !looked_at[slot])) continue;
      const bool gemms_only = selection.shape || (selection.path && !selection.kernel);
      if (gemms_only && of_shape.OfWhole(site) == Membership::kOut) continue;
      Instead& ran = by_name[index.kernel(index.kernel_of_site(site)).canonical];
      ran.has_shape |= of_shape.OfWhole(site) == Membership::kIn;
      ran.launches += launches.steady;
      ran.warmup += launches.warmup;
    }
  }
  // Of a shape: what ran it, if anything did; what may have, else.
  const bool shape_ran =
      selection.shape &&
      std::any_of(by_name.begin(), by_name.end(), [](auto& ran) { return ran.second.has_shape; });
  std::vector<std::string> names;
  std::vector<uint64_t> weights;
  for (const auto& [name, ran] : by_name) {
    if (shape_ran && !ran.has_shape) continue;
    names.push_back(name);
    weights.push_back(ran.launches);
  }
  std::string pattern = selection.kernel_pattern;
  if (pattern.empty() && selection.path) pattern = std::string(catalog::PathName(*selection.path));
  if (selection.shape) pattern.clear();  // what ran the shape most says more than a name
  for (const size_t i : NearestNames(pattern, names, weights, kNearNames)) {
    AddOneNear(names[i], by_name[names[i]].launches, by_name[names[i]].warmup, check);
  }
}

}  // namespace hotproof::analyzers
