#include "analyzers/hot_path.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "analyzers/library_calls.h"
#include "analyzers/loss_table.h"
#include "analyzers/number.h"

namespace hotproof::analyzers {
namespace {

std::string DimText(std::optional<uint32_t> dim) { return dim ? absl::StrCat(*dim) : "?"; }

std::string LibraryOf(const TraceIndex& index, uint32_t site) {
  const std::string& library = index.tables().sites[site].launching_library();
  return library.substr(library.rfind('/') + 1);
}

// "sm80_on_sm90", or empty.
std::string ArchitectureFlag(const ProcessAnalysis& process, const KernelInfo& kernel) {
  const std::string other = OtherArchitecture(process, kernel);
  return other.empty() ? "" : absl::StrCat(kernel.kernel_class.arch, "_on_", other);
}

// What tells rows apart. Sites have far fewer rows, so it is made without the row.
std::string KeyOf(const ProcessAnalysis& process, uint32_t site) {
  const TraceIndex& index = *process.index;
  const KernelInfo& kernel = index.kernel(index.kernel_of_site(site));
  const Shape& shape = index.shape_of_site(site);
  return absl::StrJoin(
      {DimText(shape.n), DimText(shape.k), DimText(shape.m), DimText(shape.batch),
       std::string(catalog::PathName(kernel.kernel_class.path)), kernel.canonical,
       kernel.cubin_hash, LibraryOf(index, site), shape.complete() ? "" : index.VariantOfSite(site),
       std::string(ProvenanceName(shape.provenance)), ArchitectureFlag(process, kernel)},
      "\x1f");
}

// Bytes of one element; 0: unknown.
double ElementBytes(const std::string& dtype) {
  if (dtype == "bf16" || dtype == "fp16") return 2;
  if (dtype == "fp32" || dtype == "tf32") return 4;
  if (dtype == "fp64" || dtype == "cfp32") return 8;
  if (dtype == "cfp64") return 16;
  if (dtype == "e4m3" || dtype == "e5m2" || dtype == "int8") return 1;
  if (dtype == "e2m1" || dtype == "int4") return 0.5;
  return 0;
}

// What a table may not show of a row, in words.
std::vector<std::string> HiddenOf(const report::Gemm& row) {
  const std::string cubin = row.cubin_hash().empty() ? "unknown" : row.cubin_hash().substr(0, 8);
  std::vector<std::string> hidden = {row.library(), absl::StrCat("cubin ", cubin)};
  for (std::string rest = row.variant(); !rest.empty();) {
    const size_t next = std::min({rest.find(" block "), rest.find(" arguments "), rest.size()});
    hidden.push_back(rest.substr(0, next));
    rest.erase(0, next + 1);
  }
  return hidden;
}

void SetOperands(const Operands& operands, report::Gemm* row) {
  row->set_a_dtype(operands.a);
  row->set_b_dtype(operands.b);
  row->set_d_dtype(operands.d);
  row->set_scaling(operands.scaling);
  row->set_operands(Text(operands));
}

void TellApart(report::Report* report) {
  std::map<std::string, std::vector<report::Gemm*>> alike;
  for (report::Gemm& row : *report->mutable_gemms()) {
    if (row.launches() == 0) continue;
    alike[absl::StrJoin({absl::StrCat(row.m(), "x", row.n(), "x", row.k(), "x", row.batch()), row.path(),
                         row.kernel(), row.provenance(), row.operands()},
                        "\x1f")]
        .push_back(&row);
  }
  for (const auto& [shown, rows] : alike) {
    if (rows.size() == 1) continue;
    std::vector<std::vector<std::string>> hidden;
    for (const report::Gemm* row : rows) hidden.push_back(HiddenOf(*row));
    for (size_t i = 0; i < rows.size(); ++i) {
      std::vector<std::string> apart;
      for (size_t part = 0; part < hidden[i].size(); ++part) {
        const bool differs = std::any_of(hidden.begin(), hidden.end(), [&](const auto& other) {
          return part >= other.size() || other[part] != hidden[i][part];
        });
        if (differs && !hidden[i][part].empty()) apart.push_back(hidden[i][part]);
      }
      rows[i]->set_apart_by(absl::StrJoin(apart, ", "));
    }
  }
}

}  // namespace

report::Gemm GemmOf(const ProcessAnalysis& process, uint32_t site) {
  const TraceIndex& index = *process.index;
  const KernelInfo& kernel = index.kernel(index.kernel_of_site(site));
  const catalog::KernelClass& kernel_class = kernel.kernel_class;
  const Shape& shape = index.shape_of_site(site);
  report::Gemm row;
  if (shape.m) row.set_m(*shape.m);
  if (shape.n) row.set_n(*shape.n);
  if (shape.k) row.set_k(*shape.k);
  if (shape.batch) row.set_batch(*shape.batch);
  const std::string library = LibraryOf(index, site);
  if (!library.empty()) row.set_library(library);
  row.set_provenance(std::string(ProvenanceName(shape.provenance)));
  row.set_path(std::string(catalog::PathName(kernel_class.path)));
  row.set_kernel(kernel.canonical);
  SetOperands(OperandsOf(index, site), &row);
  row.set_tile(kernel_class.tile);
  row.set_arch(kernel_class.arch);
  const std::string architecture = ArchitectureFlag(process, kernel);
  if (!architecture.empty()) row.add_flags(architecture);
  row.set_cubin_hash(kernel.cubin_hash);
  if (!shape.complete()) {
    row.set_variant(index.VariantOfSite(site));
    row.set_unknown_because(index.WhyUnknown(site));
  }
  return row;
}

std::vector<uint32_t> HotPath::RowsOfSites(const ProcessAnalysis& process) {
  const TraceIndex& index = *process.index;
  std::vector<uint32_t> row_of_site(index.site_count(), kNoRow);
  for (uint32_t site = 1; site < index.site_count(); ++site) {
    if (index.kind_of_site(site) != catalog::Kind::kGemm) continue;
    const uint32_t row = rows_.RowOf(KeyOf(process, site));
    if (row == info_.size()) info_.push_back({&process, site, {}, {}, false, {}, {}});
    Add(OperandsOf(index, site), &info_[row].operands);
    row_of_site[site] = row;
  }
  return row_of_site;
}

void HotPath::AddCalls(const ProcessAnalysis& process, const std::vector<uint32_t>& row_of_site) {
  const TraceIndex& index = *process.index;
  std::vector<uint64_t> launches(index.site_count(), 0);
  for (uint32_t slot = 0; slot < index.slot_count(); ++slot) {
    launches[index.site_of_slot(slot)] += LaunchesIn(process, slot, phase_);
  }
  std::vector<uint32_t> known(index.site_count() + 1, kNoCall);  // by the index's number of a call
  for (uint32_t site = 1; site < index.site_count(); ++site) {
    const uint32_t number = index.call_of_site(site);
    if (row_of_site[site] == kNoRow || number == 0) continue;
    if (known[number] == kNoCall) {
      report::Call call = DescribeCall(index.tables().sites[site].library_call());
      const auto next = static_cast<uint32_t>(calls_.size());
      const auto [at, is_new] = call_by_text_.try_emplace(call.text(), next);
      if (is_new) calls_.push_back(std::move(call));
      known[number] = at->second;
    }
    info_[row_of_site[site]].launches_by_call[known[number]] += launches[site];
  }
}

void HotPath::SetCalls(const Row& info, report::Gemm* row) const {
  for (const auto& [number, launches] : info.launches_by_call) {
    report::Call* call = row->add_calls();
    *call = calls_[number];
    call->set_launches(Number(launches));
  }
  std::sort(row->mutable_calls()->begin(), row->mutable_calls()->end(),
            [](const auto& a, const auto& b) {
              return std::tuple(-a.launches(), a.text()) < std::tuple(-b.launches(), b.text());
            });
  if (row->calls().empty()) return;
  std::string text = row->calls(0).text();
  if (row->calls_size() > 1) absl::StrAppend(&text, " (and ", row->calls_size() - 1, " more)");
  row->set_call(text);
}

void HotPath::Merge(const ProcessAnalysis& process) {
  const std::vector<uint32_t> row_of_site = RowsOfSites(process);
  rows_.Add(process, row_of_site, phase_);
  AddHelpers(process, row_of_site);
  AddCalls(process, row_of_site);
  for (const trace::Device& device : process.header().devices()) {
    // Double data rate: two transfers a clock.
    const double peak = 2.0 * device.memory_clock_khz() * 1e3 * device.memory_bus_bits() / 8 / 1e9;
    peak_bytes_per_ns_ = std::max(peak_bytes_per_ns_, peak);
    l2_bytes_ = std::max<uint64_t>(l2_bytes_, device.l2_bytes());
  }
}

void HotPath::AddHelpers(const ProcessAnalysis& process, const std::vector<uint32_t>& row_of_site) {
  const TraceIndex& index = *process.index;
  auto sums_of = [&](uint32_t helper_site, uint32_t gemm_site) -> HelperSums* {
    const uint32_t row = row_of_site[gemm_site];
    if (row == kNoRow) return nullptr;
    const bool quant = index.kind_of_site(helper_site) == catalog::Kind::kQuant;
    return quant ? &info_[row].quant : &info_[row].reduce;
  };
  for (uint32_t slot = 0; slot < index.slot_count(); ++slot) {
    const uint32_t owner = process.helper_owner[slot];
    if (owner == 0) continue;
    HelperSums* sums = sums_of(index.site_of_slot(slot), index.site_of_slot(owner));
    if (sums == nullptr) continue;
    sums->launches[1] += LaunchesIn(process, slot, phase_);
    sums->exclusive_ns[1] += TimesIn(process, slot, phase_).exclusive_ns;
  }
  if (!process.eager_order_proven()) {
    for (uint32_t slot = 0; slot < index.slot_count(); ++slot) {
      const uint32_t row = row_of_site[index.site_of_slot(slot)];
      if (row == kNoRow || index.IsGraphSlot(slot)) continue;
      info_[row].order_unknown |= LaunchesIn(process, slot, phase_) > 0;
    }
    return;
  }
  for (const auto& [sites, owned] : process.times.eager_helpers) {
    HelperSums* sums = sums_of(sites.first, sites.second);
    if (sums == nullptr) continue;
    for (const int part : {0, 1}) {
      if (part == 0 && phase_ == PhaseChoice::kSteady) continue;
      sums->launches[1] += owned.launches[part];
      sums->exclusive_ns[1] += owned.exclusive_ns[part];
    }
  }
}

void HotPath::FlagImpossible(const RowSums& sums, report::Gemm* row, report::Report* report) const {
  const double weight_bytes = ElementBytes(row->b_dtype()) * row->n() * row->k();
  if (weight_bytes == 0 || peak_bytes_per_ns_ == 0 || sums.timed_launches == 0) return;
  const double bytes = weight_bytes + ElementBytes(row->a_dtype()) * row->m() * row->k();
  const double mean_ns = MeanNs(sums);
  const double least_ns = bytes / peak_bytes_per_ns_;
  if (mean_ns >= least_ns) return;
  row->add_flags("faster_than_memory");
  const LossKind& kind = LossOf(Finding::kImpossiblyFast);
  report::Problem* problem = report->add_problems();
  problem->set_severity(kind.severity);
  problem->set_name(kind.name);
  problem->set_count(Number(sums.timed_launches));
  problem->set_detail(absl::StrFormat(
      "%s: %dx%d by %s took %.1f us on average, its operands need %.1f us at %.0f GB/s",
      kind.meaning, row->n(), row->k(), row->path(), mean_ns / 1e3, least_ns / 1e3,
      peak_bytes_per_ns_));
  problem->set_advice(bytes <= static_cast<double>(l2_bytes_)
                          ? "the operands fit in L2: use weights that rotate to measure it cold"
                          : "its shape or its time is wrong: check the row's provenance");
}

// Nothing found is not nothing run: a quantised operand was made by something, and where the order of
// eager launches is not known anything may belong to any.
void HotPath::SetHelperTimes(const Row& info, report::Gemm* row) {
  const std::string unordered =
      info.order_unknown ? "records are missing between eager launches: what belongs together is not known" : "";
  std::string quant_unknown = unordered;
  if (IsQuantised(row->a_dtype()) && row->launches() > 0 && quant_unknown.empty()) {
    quant_unknown =
        "no quantiser runs right before it on its stream: its input was made earlier, or by a kernel "
        "that does more";
  }
  if (info.quant.launches[1] > 0 || quant_unknown.empty()) {
    row->set_quant_time_ns(Number(info.quant.exclusive_ns[1]));
  } else {
    row->set_quant_unknown_because(quant_unknown);
  }
  if (info.reduce.launches[1] > 0 || unordered.empty()) {
    row->set_reduce_time_ns(Number(info.reduce.exclusive_ns[1]));
  } else {
    row->set_reduce_unknown_because(unordered);
  }
}

void HotPath::Finish(uint64_t all_exclusive_ns, report::Report* report) const {
  for (const uint32_t index : rows_.Sorted()) {
    const RowSums& sums = rows_.sums(index);
    report::Gemm* row = report->add_gemms();
    *row = GemmOf(*info_[index].process, info_[index].site);
    SetOperands(info_[index].operands, row);
    SetCalls(info_[index], row);
    FillRow(sums, all_exclusive_ns, row);
    row->set_captured_nodes(Number(sums.captured_nodes));
    row->set_eager_launches(Number(sums.eager_launches));
    if (IsUneven(sums)) row->add_flags("uneven");
    if (sums.per_replay) row->set_launches_per_replay(*sums.per_replay);
    const HelperSums &quant = info_[index].quant, &reduce = info_[index].reduce;
    row->set_quant_launches(Number(quant.launches[1]));
    row->set_reduce_launches(Number(reduce.launches[1]));
    if (row->has_time_ns()) SetHelperTimes(info_[index], row);
    FlagImpossible(sums, row, report);
  }
  TellApart(report);
}

}  // namespace hotproof::analyzers
