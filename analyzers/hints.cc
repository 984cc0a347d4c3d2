#include "analyzers/hints.h"

#include <re2/re2.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzers/nearest.h"
#include "analyzers/range_index.h"
#include "analyzers/selection_match.h"

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

std::string Shown(const std::string& name) {
  constexpr size_t kShown = 160;
  return name.size() > kShown ? name.substr(0, kShown) + "..." : name;
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

bool Matches(const KernelInfo& kernel, const RE2& pattern) {
  return RE2::PartialMatch(kernel.name, pattern) || RE2::PartialMatch(kernel.canonical, pattern);
}

// Said of every pattern that matches nothing, alike or not: who reads that 'never' passed sees that
// there was nothing to fail on, under this name.
Hint OfKernel(const Selection& selection, std::span<const ProcessAnalysis* const> processes) {
  std::map<const KernelInfo*, uint64_t> launched;
  ForEachLaunched(processes, [&](const TraceIndex& index, uint32_t site, uint64_t launches) {
    launched[&index.kernel(index.kernel_of_site(site))] += launches;
  });
  std::map<std::string, uint64_t> ran;
  for (const auto& [kernel, launches] : launched) {
    if (Matches(*kernel, *selection.kernel)) return {};
    ran[kernel->canonical] += launches;
  }
  if (ran.empty()) return {};
  std::string text =
      absl::StrCat("kernel /", selection.kernel_pattern,
                   "/ matches no kernel of the whole trace, of ", ran.size(), " that ran");
  std::set<std::string> never_launched;
  for (const ProcessAnalysis* process : processes) {
    for (uint32_t id = 1; id < process->index->kernel_count(); ++id) {
      const KernelInfo& kernel = process->index->kernel(id);
      if (Matches(kernel, *selection.kernel)) never_launched.insert(kernel.canonical);
    }
  }
  if (!never_launched.empty())
    absl::StrAppend(&text, ", but ", never_launched.size(),
                    " that had no launch (captured, not replayed)");
  std::vector<std::string> names;
  std::vector<uint64_t> weights;
  for (const auto& [name, launches] : ran) {
    if (NameSimilarity(selection.kernel_pattern, name) < kAlike) continue;
    names.push_back(name);
    weights.push_back(launches);
  }
  const std::vector<size_t> nearest = NearestNames(selection.kernel_pattern, names, weights, 1);
  if (!nearest.empty())
    absl::StrAppend(&text, "; most like it: ", Shown(names[nearest[0]]), " (", weights[nearest[0]],
                    " launches)");
  return {text, false};
}

// A kernel of the same name from another cubin is none of the file's.
Hint OfCode(const Selection& selection, std::span<const ProcessAnalysis* const> processes) {
  for (const ProcessAnalysis* process : processes) {
    const TraceIndex& index = *process->index;
    const SiteMatcher matcher(selection, index);
    for (uint32_t slot = 0; slot < index.slot_count(); ++slot) {
      const uint32_t site = index.site_of_slot(slot);
      if (site != 0 && index.launches()[slot].total() > 0 && matcher.Of(site) != Membership::kOut) return {};
    }
  }
  return {absl::StrCat("no kernel that was launched is from ", selection.code->file,
                       ", by the hash of its cubin: is it the file that the run loaded, or built anew since?"),
          false};
}

Hint OfRange(const Selection& selection, std::span<const ProcessAnalysis* const> processes) {
  std::map<std::string, uint64_t> ran;
  for (const ProcessAnalysis* process : processes) {
    const TraceIndex& index = *process->index;
    const RangeIndex ranges(index);
    const RangeMatcher matcher(selection, index);
    for (uint32_t slot = 0; slot < index.slot_count(); ++slot) {
      const uint64_t launches = index.launches()[slot].total();
      if (index.site_of_slot(slot) == 0 || launches == 0) continue;
      if (matcher.Of(slot) != Membership::kOut) return {};
      const uint32_t range = ranges.range_of_slot(slot);
      if (range != 0) ran[ranges.text(range)] += launches;
    }
  }
  if (ran.empty()) return {};
  std::vector<std::string> names;
  std::vector<uint64_t> weights;
  for (const auto& [name, launches] : ran) {
    names.push_back(name);
    weights.push_back(launches);
  }
  const size_t nearest = NearestNames(selection.range_pattern, names, weights, 1).front();
  const bool is_alike = NameSimilarity(selection.range_pattern, names[nearest]) >= kAlike;
  return {absl::StrCat("no range with a launch matches /", selection.range_pattern, "/; ",
                       is_alike ? "most like it: " : absl::StrCat("one of ", names.size(), " there are: "),
                       Shown(names[nearest]), " (", weights[nearest], " launches)"),
          false};
}

}  // namespace

std::vector<Hint> HintsFor(const Selection& selection,
                           std::span<const ProcessAnalysis* const> processes) {
  std::vector<Hint> hints;
  const auto add = [&hints](Hint hint) {
    if (!hint.text.empty()) hints.push_back(std::move(hint));
  };
  if (selection.shape) add(OfShape(*selection.shape, processes));
  if (selection.kernel) add(OfKernel(selection, processes));
  Selection one;
  if (one.code = selection.code; one.code) add(OfCode(one, processes));
  one = {};
  one.range_pattern = selection.range_pattern;
  if (one.range = selection.range; one.range) add(OfRange(one, processes));
  return hints;
}

}  // namespace hotproof::analyzers
