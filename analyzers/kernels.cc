#include "analyzers/kernels.h"

#include "absl/strings/str_cat.h"
#include "analyzers/number.h"

namespace hotproof::analyzers {

void Kernels::Merge(const ProcessAnalysis& process) {
  const TraceIndex& index = *process.index;
  // A kernel that is a product's in some library calls has a row for them.
  const auto row_of = [&](uint32_t id, catalog::Kind kind) {
    const KernelInfo& kernel = index.kernel(id);
    std::string arch = kernel.kernel_class.arch;
    const std::string other = OtherArchitecture(process, kernel);
    if (!other.empty()) absl::StrAppend(&arch, " on ", other);
    std::string key = absl::StrCat(kernel.canonical, "\x1f", kernel.cubin_hash, "\x1f", arch);
    const std::string kind_name(catalog::KindName(kind));
    if (kind != kernel.kernel_class.kind) absl::StrAppend(&key, "\x1f", kind_name);
    const uint32_t number = rows_.RowOf(key);
    if (number < info_.size()) return number;
    report::Kernel& row = info_.emplace_back();
    row.set_kernel(kernel.canonical);
    row.set_name(kernel.name);
    row.set_kind(kind_name);
    row.set_path(std::string(catalog::PathName(kernel.kernel_class.path)));
    row.set_arch(arch);
    row.set_cubin_hash(kernel.cubin_hash);
    return number;
  };
  std::vector<uint32_t> row_of_kernel(index.kernel_count());
  for (uint32_t id = 0; id < index.kernel_count(); ++id) {
    row_of_kernel[id] = row_of(id, index.kernel(id).kernel_class.kind);
  }
  std::vector<uint32_t> row_of_site(index.site_count());
  for (uint32_t site = 0; site < index.site_count(); ++site) {
    const uint32_t id = index.kernel_of_site(site);
    const catalog::Kind kind = index.kind_of_site(site);
    row_of_site[site] =
        kind == index.kernel(id).kernel_class.kind ? row_of_kernel[id] : row_of(id, kind);
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
