#include "analyzers/kernels.h"

#include "absl/strings/str_cat.h"
#include "analyzers/number.h"

namespace hotproof::analyzers {

void Kernels::Merge(const ProcessAnalysis& process) {
  const TraceIndex& index = *process.index;
  std::vector<uint32_t> row_of_kernel(index.kernel_count());
  for (uint32_t id = 0; id < index.kernel_count(); ++id) {
    const KernelInfo& kernel = index.kernel(id);
    std::string arch = kernel.kernel_class.arch;
    const std::string other = OtherArchitecture(process, kernel);
    if (!other.empty()) absl::StrAppend(&arch, " on ", other);
    row_of_kernel[id] =
        rows_.RowOf(absl::StrCat(kernel.canonical, "\x1f", kernel.cubin_hash, "\x1f", arch));
    if (row_of_kernel[id] < info_.size()) continue;
    report::Kernel& row = info_.emplace_back();
    row.set_kernel(kernel.canonical);
    row.set_name(kernel.name);
    row.set_kind(std::string(catalog::KindName(kernel.kernel_class.kind)));
    row.set_path(std::string(catalog::PathName(kernel.kernel_class.path)));
    row.set_arch(arch);
    row.set_cubin_hash(kernel.cubin_hash);
  }
  std::vector<uint32_t> row_of_site(index.site_count());
  for (uint32_t site = 0; site < index.site_count(); ++site) {
    row_of_site[site] = row_of_kernel[index.kernel_of_site(site)];
  }
  rows_.Add(process, row_of_site, phase_);
}

void Kernels::Finish(uint64_t all_exclusive_ns, report::Report* report) const {
  for (const uint32_t index : rows_.Sorted()) {
    const RowSums& sums = rows_.sums(index);
    report::Kernel* row = report->add_kernels();
    *row = info_[index];
    FillRow(sums, all_exclusive_ns, row);
    row->set_captured_nodes(Number(sums.captured_nodes));
    row->set_eager_launches(Number(sums.eager_launches));
    if (sums.per_replay) row->set_launches_per_replay(*sums.per_replay);
  }
}

}  // namespace hotproof::analyzers
