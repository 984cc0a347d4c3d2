#include "analyzers/compare.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "analyzers/hot_path.h"
#include "analyzers/number.h"
#include "analyzers/operands.h"
#include "analyzers/rows.h"

namespace hotproof::analyzers {
namespace {

constexpr const char* kLabels[] = {"A", "B"};

// What is known of a side as a whole.
struct Known {
  bool counts = true;    // every launch
  bool at_least = true;  // where not: that its launches are so many or more
  bool times = true;     // that nothing but what a row says is missing
};

// The rows of one table, under the same keys in both runs.
class Table {
 public:
  explicit Table(PhaseChoice phase) : phase_(phase) {}

  // `key_of(site)` gives the key of a site's row, or none; `constants_of(site)` what stands for it.
  template <typename KeyOf, typename ConstantsOf>
  void Add(int side, const ProcessAnalysis& process, KeyOf&& key_of, ConstantsOf&& constants_of) {
    const TraceIndex& index = *process.index;
    std::vector<uint32_t> row_of_site(index.site_count(), kNoRow);
    std::vector<std::string> key_of_site(index.site_count()), path_of_site(index.site_count());
    for (uint32_t site = 0; site < index.site_count(); ++site) {
      const std::optional<std::string> key = key_of(site);
      if (!key) continue;
      report::Change constants = constants_of(site);
      key_of_site[site] = *key;
      path_of_site[site] = constants.path();
      row_of_site[site] = rows_[side].RowOf(*key);
      constants_.try_emplace(*key, std::move(constants));
    }
    rows_[side].Add(process, row_of_site, phase_);
    for (uint32_t slot = 0; slot < index.slot_count(); ++slot) {
      const uint32_t site = index.site_of_slot(slot);
      const uint64_t launches = LaunchesIn(process, slot, phase_);
      if (!path_of_site[site].empty() && launches > 0)
        paths_[side][key_of_site[site]][path_of_site[site]] += launches;
    }
  }

  // `of_one_launch`: with medians and means. `known`: by side.
  std::vector<report::Change> Finish(bool of_one_launch, const std::array<Known, 2>& known) {
    std::vector<std::pair<uint64_t, report::Change>> found;
    for (auto& [key, constants] : constants_) {
      const std::array<RowSums, 2> sums = {SumsOf(0, key), SumsOf(1, key)};
      if (sums[0].launches + sums[1].launches == 0) continue;
      report::Change change = std::move(constants);
      const std::string before = PathsOf(0, key), after = PathsOf(1, key);
      change.set_path_changed(!before.empty() && !after.empty() && before != after);
      change.set_path(change.path_changed() ? absl::StrCat(before, " -> ", after)
                      : before.empty()      ? after
                                            : before);
      Fill(sums, of_one_launch, known, &change);
      found.emplace_back(~(sums[0].exclusive_ns + sums[1].exclusive_ns), std::move(change));
    }
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
      if (a.first != b.first) return a.first < b.first;
      return a.second.before_launches() + a.second.after_launches() >
             b.second.before_launches() + b.second.after_launches();
    });
    std::vector<report::Change> changes;
    for (auto& [rank, change] : found) changes.push_back(std::move(change));
    return changes;
  }

 private:
  RowSums SumsOf(int side, const std::string& key) {
    return rows_[side].sums(rows_[side].RowOf(key));
  }
  std::string PathsOf(int side, const std::string& key) const {
    const auto found = paths_[side].find(key);
    if (found == paths_[side].end()) return "";
    std::vector<std::pair<uint64_t, std::string>> paths;
    for (const auto& [path, launches] : found->second) paths.emplace_back(~launches, path);
    std::sort(paths.begin(), paths.end());
    return absl::StrJoin(paths, ", ",
                         [](std::string* out, const auto& path) { out->append(path.second); });
  }

  static void Fill(const std::array<RowSums, 2>& sums, bool of_one_launch,
                   const std::array<Known, 2>& known, report::Change* change) {
    report::Gemm sides[2];  // for the fields that all rows have
    bool all_timed = true;
    for (const int side : {0, 1}) {
      FillRow(sums[side], 0, &sides[side]);
      all_timed &= sums[side].timed_launches >= sums[side].launches && known[side].times;
      if (of_one_launch && IsUneven(sums[side])) {
        change->add_notes(
            absl::StrFormat("%s: mean %.2f us", kLabels[side], MeanNs(sums[side]) / 1e3));
      }
    }
    const auto is_known = [&](int side) { return known[side].counts || sums[side].launches > 0; };
    const auto is_least = [&](int side) {
      return is_known(side) && !known[side].counts && known[side].at_least;
    };
    if (is_known(0)) change->set_before_launches(sides[0].launches());
    if (is_known(1)) change->set_after_launches(sides[1].launches());
    change->set_before_at_least(is_least(0));
    change->set_after_at_least(is_least(1));
    change->set_before_timed_launches(sides[0].timed_launches());
    change->set_after_timed_launches(sides[1].timed_launches());
    if (sums[0].per_replay) change->set_before_launches_per_replay(*sums[0].per_replay);
    if (sums[1].per_replay) change->set_after_launches_per_replay(*sums[1].per_replay);
    if (of_one_launch) {
      if (sums[0].timed_launches > 0) change->set_before_mean_ns(MeanNs(sums[0]));
      if (sums[1].timed_launches > 0) change->set_after_mean_ns(MeanNs(sums[1]));
      if (sides[0].has_median_ns()) change->set_before_median_ns(sides[0].median_ns());
      if (sides[1].has_median_ns()) change->set_after_median_ns(sides[1].median_ns());
      if (sides[0].median_ns() > 0 && sides[1].has_median_ns())
        change->set_median_ratio(sides[1].median_ns() / sides[0].median_ns());
    }
    const double before = sides[0].exclusive_time_ns(), after = sides[1].exclusive_time_ns();
    if (sums[0].timed_launches > 0) change->set_before_time_ns(before);
    if (sums[1].timed_launches > 0) change->set_after_time_ns(after);
    if (!all_timed) return;
    change->set_difference_ns(after - before);
    if (before > 0 && after > 0) change->set_time_ratio(after / before);
  }

  PhaseChoice phase_;
  Rows rows_[2];
  std::map<std::string, report::Change> constants_;
  std::map<std::string, std::map<std::string, uint64_t>> paths_[2];  // launches by path
};

report::Change ShapeOf(const report::Gemm& row) {
  report::Change change;
  if (row.has_m()) change.set_m(row.m());
  if (row.has_n()) change.set_n(row.n());
  if (row.has_k()) change.set_k(row.k());
  if (row.has_batch()) change.set_batch(row.batch());
  change.set_operands(row.operands());
  change.set_path(row.path());
  if (!row.has_n() || !row.has_k()) change.set_kernel(row.kernel());
  return change;
}

// Operands as the kernel's name has them: what else tells them may have been seen in one run alone.
std::string ShapeKey(const report::Gemm& row, const catalog::KernelClass& kernel) {
  const report::Change shape = ShapeOf(row);
  const std::string operands = Text(Operands{kernel.a_dtype, kernel.b_dtype, "", kernel.scaling});
  return absl::StrCat(shape.m(), "\x1f", shape.n(), "\x1f", shape.k(), "\x1f", shape.batch(),
                      "\x1f", operands, "\x1f", shape.kernel());
}

class Comparer {
 public:
  explicit Comparer(PhaseChoice phase)
      : phase_(phase), gemms_(phase), paths_(phase), kinds_(phase) {}

  void Add(int side, const ComparedRun& run) {
    report::Side& to = sides_[side];
    to.set_label(kLabels[side]);
    to.set_run(run.name);
    to.set_state(report::Completeness::COMPLETE);
    to.set_coverage(run.coverage.state);
    to.set_processes(static_cast<double>(run.processes.size()));
    to.set_counts_exact(!run.coverage.partial());
    to.set_times_exact(!run.coverage.partial());
    at_least_[side] = true;
    uint64_t launches = 0;
    for (const ProcessAnalysis& process : run.processes) {
      AddCaveats(process, side);
      AddRows(side, process);
      for (const trace::Device& device : process.header().devices())
        devices_[side].insert(device.name());
      for (uint32_t slot = 0; slot < process.index->slot_count(); ++slot)
        launches += LaunchesIn(process, slot, phase_);
    }
    if (!run.coverage.missing.empty()) to.set_state(report::Completeness::NOT_COLLECTED);
    for (const report::Problem& problem : run.coverage.problems) {
      if (problem.severity() <= report::Problem::INFO) continue;
      to.add_caveats(absl::StrCat(
          problem.pid() > 0 ? absl::StrCat("pid ", problem.pid(), ": ") : "", problem.detail()));
    }
    for (const std::string& caveat : run.caveats) to.add_caveats(caveat);
    if (!to.counts_exact() && launches == 0) return;  // not known
    to.set_launches(Number(launches));
    to.set_at_least(!to.counts_exact() && at_least_[side]);
  }

  report::Comparison Finish() {
    report::Comparison result;
    result.set_phase(phase_ == PhaseChoice::kAll ? "all" : "steady");
    const bool one_unphased = unphased_[0] != unphased_[1];
    for (const int side : {0, 1}) {
      if (one_unphased && unphased_[side])
        sides_[side].add_caveats(
            "its launches are of no phase, the other's are steady: use --phase all");
      if (devices_[0] != devices_[1] && !devices_[0].empty() && !devices_[1].empty())
        sides_[side].add_caveats(absl::StrCat("on ", absl::StrJoin(devices_[side], ", ")));
      *result.add_sides() = sides_[side];
    }
    std::array<Known, 2> known;
    for (const int side : {0, 1}) {
      const bool counts = sides_[side].counts_exact();
      known[side] = {counts, at_least_[side], counts && !one_unphased};
    }
    result.set_counts_exact(known[0].counts && known[1].counts);
    const auto keep = [&](Table& table, bool of_one_launch, auto* to) {
      for (report::Change& change : table.Finish(of_one_launch, known))
        *to->Add() = std::move(change);
    };
    keep(gemms_, true, result.mutable_gemms());
    keep(paths_, false, result.mutable_paths());
    keep(kinds_, false, result.mutable_kinds());
    return result;
  }

 private:
  void AddCaveats(const ProcessAnalysis& process, int of_side) {
    // From bad to good, as far as a comparison goes.
    static constexpr report::Completeness::State kWorse[] = {
        report::Completeness::NOT_COLLECTED, report::Completeness::LOWER_BOUND,
        report::Completeness::COUNTED, report::Completeness::COMPLETE};
    report::Side* const side = &sides_[of_side];
    const report::Completeness& completeness = process.completeness.completeness;
    const bool unphased = phase_ == PhaseChoice::kSteady && !process.index->phases().phased;
    const Evidence counts = phase_ == PhaseChoice::kSteady && !unphased
                                ? process.completeness.counts_steady
                                : process.completeness.counts_all;
    const auto rank = [](report::Completeness::State state) {
      return std::find(std::begin(kWorse), std::end(kWorse), state);
    };
    if (rank(completeness.state()) < rank(side->state())) side->set_state(completeness.state());
    side->set_counts_exact(side->counts_exact() && counts == Evidence::kExact);
    side->set_times_exact(side->times_exact() && process.completeness.times == Evidence::kExact);
    const bool collected = completeness.state() != report::Completeness::NOT_COLLECTED;
    if (!collected && side->coverage() == report::Process::FULL)
      side->set_coverage(report::Process::PARTIAL);
    const std::string who = absl::StrCat("pid ", process.pid(), " ", process.name(), ": ");
    if (completeness.state() != report::Completeness::COMPLETE)
      side->add_caveats(absl::StrCat(who, VerdictSentence(process.completeness)));
    if (collected && counts == Evidence::kNone) {
      at_least_[of_side] = false;
      side->add_caveats(
          absl::StrCat(who, "where its steady phase begins is not certain: use --phase all"));
    }
    if (!unphased || completeness.expected() == 0) return;
    unphased_[of_side] = true;
    side->add_caveats(absl::StrCat(
        who, "unphased, all its launches are compared: ", process.index->phases().detail));
  }

  void AddRows(int side, const ProcessAnalysis& process) {
    const TraceIndex& index = *process.index;
    const auto gemm = [&](uint32_t site) {
      return site != 0 && index.kind_of_site(site) == catalog::Kind::kGemm;
    };
    const auto class_of = [&](uint32_t site) -> const catalog::KernelClass& {
      return index.kernel(index.kernel_of_site(site)).kernel_class;
    };
    std::vector<report::Gemm> rows(index.site_count());
    for (uint32_t site = 1; site < index.site_count(); ++site) {
      if (gemm(site)) rows[site] = GemmOf(process, site);
    }
    using Key = std::optional<std::string>;
    gemms_.Add(
        side, process,
        [&](uint32_t site) {
          return gemm(site) ? Key(ShapeKey(rows[site], class_of(site))) : Key();
        },
        [&](uint32_t site) { return ShapeOf(rows[site]); });
    paths_.Add(
        side, process, [&](uint32_t site) { return gemm(site) ? Key(rows[site].path()) : Key(); },
        [&](uint32_t site) {
          report::Change change;
          change.set_path(rows[site].path());
          return change;
        });
    kinds_.Add(
        side, process,
        [&](uint32_t site) { return Key(catalog::KindName(index.kind_of_site(site))); },
        [&](uint32_t site) {
          report::Change change;
          change.set_kind(std::string(catalog::KindName(index.kind_of_site(site))));
          return change;
        });
  }

  PhaseChoice phase_;
  report::Side sides_[2];
  bool unphased_[2] = {};
  bool at_least_[2] = {};
  std::set<std::string> devices_[2];
  Table gemms_, paths_, kinds_;
};

}  // namespace

report::Comparison CompareRuns(const ComparedRun& before, const ComparedRun& after,
                               PhaseChoice phase) {
  Comparer comparer(phase);
  comparer.Add(0, before);
  comparer.Add(1, after);
  return comparer.Finish();
}

}  // namespace hotproof::analyzers
