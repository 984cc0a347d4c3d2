#include "analyzers/hints.h"

#include <re2/re2.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzers/nearest.h"

namespace hotproof::analyzers {
namespace {

constexpr size_t kMostNames = 3;
constexpr double kAlike = 0.8;  // of NameSimilarity: one word of several differs

using Shapes = std::map<std::pair<uint32_t, uint32_t>, uint64_t>;  // launches by N and K

// Calls visit(index, site, launches) for all that was launched.
template <typename Visit>
void ForEachLaunched(std::span<const ProcessAnalysis* const> processes, Visit visit) {
  for (const ProcessAnalysis* process : processes) {
    const TraceIndex& index = *process->index;
    for (uint32_t slot = 0; slot < index.slot_count(); ++slot) {
      const uint32_t site = index.site_of_slot(slot);
      const uint64_t launches = index.launches()[slot].total();
      if (site != 0 && launches > 0) visit(index, site, launches);
    }
  }
}

Hint OfShape(Selection::NxK wanted, std::span<const ProcessAnalysis* const> processes) {
  Shapes shapes;
  ForEachLaunched(processes, [&](const TraceIndex& index, uint32_t site, uint64_t launches) {
    const Shape& shape = index.shape_of_site(site);
    if (index.kind_of_site(site) != catalog::Kind::kGemm || !shape.n || !shape.k) return;
    shapes[{*shape.n, *shape.k}] += launches;
  });
  if (shapes.empty() || shapes.contains({wanted.n, wanted.k})) return {};
  const std::string absent =
      absl::StrCat("no GEMM of shape ", wanted.n, "x", wanted.k, " (NxK) was launched");
  if (const auto swapped = shapes.find({wanted.k, wanted.n}); swapped != shapes.end()) {
    return {absl::StrCat(absent, ", but ", wanted.k, "x", wanted.n, " ran ", swapped->second, " times"),
            true};
  }
  // Those with the same N or K first, then by launches.
  std::vector<std::tuple<bool, uint64_t, std::string>> ran;
  for (const auto& [shape, launches] : shapes) {
    ran.emplace_back(shape.first != wanted.n && shape.second != wanted.k, ~launches,
                     absl::StrCat(shape.first, "x", shape.second, " (", launches, ")"));
  }
  std::sort(ran.begin(), ran.end());
  if (ran.size() > kMostNames) ran.resize(kMostNames);
  return {absl::StrCat(absent, "; nearest of ", shapes.size(), " that ran: ",
                       absl::StrJoin(ran, ", ",
                                     [](std::string* out, const auto& of) { *out += std::get<2>(of); })),
          false};
}

Hint OfKernel(const Selection& selection, std::span<const ProcessAnalysis* const> processes) {
  std::map<const KernelInfo*, uint64_t> launched;
  ForEachLaunched(processes, [&](const TraceIndex& index, uint32_t site, uint64_t launches) {
    launched[&index.kernel(index.kernel_of_site(site))] += launches;
  });
  std::map<std::string, uint64_t> ran;
  for (const auto& [kernel, launches] : launched) {
    if (RE2::PartialMatch(kernel->name, *selection.kernel) ||
        RE2::PartialMatch(kernel->canonical, *selection.kernel)) {
      return {};
    }
    ran[kernel->canonical] += launches;
  }
  std::vector<std::string> names;
  std::vector<uint64_t> weights;
  for (const auto& [name, launches] : ran) {
    if (NameSimilarity(selection.kernel_pattern, name) < kAlike) continue;
    names.push_back(name);
    weights.push_back(launches);
  }
  const std::vector<size_t> nearest = NearestNames(selection.kernel_pattern, names, weights, 1);
  if (nearest.empty()) return {};
  constexpr size_t kShown = 160;
  std::string name = names[nearest[0]];
  if (name.size() > kShown) name = name.substr(0, kShown) + "...";
  return {absl::StrCat("no kernel that was launched matches /", selection.kernel_pattern,
                       "/; most like it: ", name, " (", weights[nearest[0]], " launches)"),
          false};
}

}  // namespace

Hint HintFor(const Selection& selection, std::span<const ProcessAnalysis* const> processes) {
  if (selection.shape) return OfShape(*selection.shape, processes);
  return selection.kernel ? OfKernel(selection, processes) : Hint{};
}

}  // namespace hotproof::analyzers
