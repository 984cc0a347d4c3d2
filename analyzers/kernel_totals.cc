#include "analyzers/kernel_totals.h"

#include <algorithm>
#include <vector>

#include "analyzers/number.h"

namespace hotproof::analyzers {

void KernelTotals::Merge(const ProcessAnalysis& process) {
  const TraceIndex& index = *process.index;
  std::vector<Sums> of_kernel(index.kernel_count());
  const auto add_recorded = [&](const std::vector<uint64_t>& records,
                                const std::vector<uint64_t>& duration_ns) {
    for (uint32_t site = 0; site < records.size(); ++site) {
      if (records[site] == 0) continue;
      Sums& sums = of_kernel[site < index.site_count() ? index.kernel_of_site(site) : 0];
      sums.recorded += records[site];
      sums.time_ns += duration_ns[site];
    }
  };
  const trace::Tables& tables = index.tables();
  add_recorded(tables.site_records, tables.site_duration_ns);
  add_recorded(tables.rotated_out.site_records, tables.rotated_out.site_duration_ns);
  for (uint32_t slot = 0; slot < index.slot_count(); ++slot) {
    of_kernel[index.kernel_of_site(index.site_of_slot(slot))].launches +=
        index.launches()[slot].total();
  }
  for (uint32_t id = 0; id < of_kernel.size(); ++id) {
    const Sums& here = of_kernel[id];
    if (here.launches == 0 && here.recorded == 0) continue;
    const KernelInfo& kernel = index.kernel(id);
    Sums& sums = kernels_[kernel.canonical];
    sums.kind = catalog::KindName(kernel.kernel_class.kind);
    sums.path = catalog::PathName(kernel.kernel_class.path);
    sums.launches += here.launches;
    sums.recorded += here.recorded;
    sums.time_ns += here.time_ns;
  }
}

bool KernelTotals::ExceedsNumbers() const {
  return std::any_of(kernels_.begin(), kernels_.end(), [](const auto& kernel) {
    const Sums& sums = kernel.second;
    return std::max({sums.launches, sums.recorded, sums.time_ns}) > kMaxNumber;
  });
}

void KernelTotals::Finish(report::Totals* totals) const {
  uint64_t all_ns = 0;
  for (const auto& [name, sums] : kernels_) {
    all_ns += sums.time_ns;
    report::KernelTotal* row = totals->add_kernels();
    row->set_kernel(name);
    row->set_kind(sums.kind);
    row->set_path(sums.path);
    row->set_launches(Number(sums.launches));
    row->set_recorded(Number(sums.recorded));
    if (sums.recorded > 0) row->set_time_ns(Number(sums.time_ns));
  }
  for (report::KernelTotal& row : *totals->mutable_kernels()) {
    if (row.has_time_ns() && all_ns > 0) row.set_share(row.time_ns() / static_cast<double>(all_ns));
  }
  std::stable_sort(totals->mutable_kernels()->begin(), totals->mutable_kernels()->end(),
                   [](const auto& a, const auto& b) {
                     if (a.time_ns() != b.time_ns()) return a.time_ns() > b.time_ns();
                     return a.launches() > b.launches();
                   });
}

}  // namespace hotproof::analyzers
