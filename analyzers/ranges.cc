#include "analyzers/ranges.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "analyzers/number.h"

namespace hotproof::analyzers {
namespace {

report::Range ConstantsOf(const TraceIndex& index, uint32_t site, const std::string& range) {
  const KernelInfo& kernel = index.kernel(index.kernel_of_site(site));
  report::Range row;
  row.set_range(range);
  row.set_kernel(kernel.canonical);
  row.set_kind(std::string(catalog::KindName(index.kind_of_site(site))));
  row.set_path(std::string(catalog::PathName(index.path_of_site(site))));
  if (index.kind_of_site(site) != catalog::Kind::kGemm) return row;
  const Shape& shape = index.shape_of_site(site);
  if (shape.m) row.set_m(*shape.m);
  if (shape.n) row.set_n(*shape.n);
  if (shape.k) row.set_k(*shape.k);
  return row;
}

}  // namespace

bool Ranges::Any(const ProcessAnalysis& process) { return RangeIndex(*process.index).any(); }

void Ranges::Merge(const ProcessAnalysis& process) {
  const TraceIndex& index = *process.index;
  const RangeIndex ranges(index);
  absl::flat_hash_map<uint64_t, uint32_t> row_of;  // by range and site
  for (uint32_t slot = 0; slot < index.slot_count(); ++slot) {
    const uint32_t site = index.site_of_slot(slot), range = ranges.range_of_slot(slot);
    const auto [known, is_new] = row_of.try_emplace(uint64_t{range} << 32 | site, 0);
    if (is_new) {
      report::Range constants = ConstantsOf(index, site, ranges.text(range));
      std::string key = constants.SerializeAsString();
      const auto [row, is_new_row] =
          row_by_key_.try_emplace(key, static_cast<uint32_t>(rows_.size()));
      if (is_new_row) rows_.push_back({std::move(key), std::move(constants), {}});
      known->second = row->second;
    }
    Sums& sums = rows_[known->second].sums;
    sums.launches += LaunchesIn(process, slot, phase_);
    sums.warmup_launches += index.launches()[slot].warmup;
    sums.captured_nodes += index.IsGraphSlot(slot) ? 1 : 0;
    const TimeSums times = TimesIn(process, slot, phase_);
    sums.times.records += times.records;
    sums.times.duration_ns += times.duration_ns;
    sums.times.exclusive_ns += times.exclusive_ns;
  }
}

void Ranges::Finish(uint64_t all_exclusive_ns, report::Report* report) const {
  std::vector<const Row*> sorted;
  for (const Row& row : rows_) {
    const Sums& sums = row.sums;
    if (sums.launches + sums.warmup_launches + sums.captured_nodes + sums.times.records > 0) {
      sorted.push_back(&row);
    }
  }
  // By range, and inside one as in the other tables.
  std::sort(sorted.begin(), sorted.end(), [](const Row* a, const Row* b) {
    const auto rank = [](const Row* row) {
      return std::tuple<const std::string&, uint64_t, uint64_t, const std::string&>(
          row->constants.range(), ~row->sums.times.exclusive_ns, ~row->sums.launches, row->key);
    };
    return rank(a) < rank(b);
  });
  for (const Row* row : sorted) {
    report::Range* shown = report->add_ranges();
    *shown = row->constants;
    const Sums& sums = row->sums;
    shown->set_launches(Number(sums.launches));
    shown->set_warmup_launches(Number(sums.warmup_launches));
    shown->set_captured_nodes(Number(sums.captured_nodes));
    shown->set_timed_launches(Number(sums.times.records));
    if (sums.times.records == 0 && sums.launches > 0) continue;
    shown->set_time_ns(Number(sums.times.duration_ns));
    shown->set_exclusive_time_ns(Number(sums.times.exclusive_ns));
    if (all_exclusive_ns == 0) continue;
    shown->set_share(static_cast<double>(sums.times.exclusive_ns) /
                     static_cast<double>(all_exclusive_ns));
  }
}

}  // namespace hotproof::analyzers
