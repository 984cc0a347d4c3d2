#include "analyzers/report.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "analyzers/hot_path.h"
#include "analyzers/kernel_totals.h"
#include "analyzers/kernels.h"
#include "analyzers/kinds.h"
#include "analyzers/loss_table.h"
#include "analyzers/number.h"
#include "analyzers/operations.h"
#include "analyzers/ranges.h"
#include "analyzers/rows.h"

namespace hotproof::analyzers {
namespace {

void AddPaths(const ProcessAnalysis& analysis, report::Process* process, PhaseChoice phase) {
  const TraceIndex& index = *analysis.index;
  Rows rows;
  std::vector<uint32_t> row_of_site(index.site_count(), kNoRow);
  for (uint32_t site = 1; site < index.site_count(); ++site) {
    if (index.kind_of_site(site) != catalog::Kind::kGemm) continue;
    row_of_site[site] = rows.RowOf(std::string(catalog::PathName(index.path_of_site(site))));
  }
  rows.Add(analysis, row_of_site, phase);
  for (const uint32_t row : rows.Sorted()) {
    report::Path* path = process->add_paths();
    path->set_path(rows.key(row));
    path->set_launches(Number(rows.sums(row).launches));
    path->set_warmup_launches(Number(rows.sums(row).warmup_launches));
    path->set_eager_launches(Number(rows.sums(row).eager_launches));
    if (rows.sums(row).per_replay) path->set_launches_per_replay(*rows.sums(row).per_replay);
  }
}

std::string PhaseSentence(const report::Process& process, PhaseChoice phase) {
  if (process.completeness().expected() == 0) return "";
  if (process.phase() == "unphased") {
    return absl::StrCat("unphased, all launches are shown: ", process.phase_detail());
  }
  return absl::StrCat("steady begins ", process.phase_detail(), ": ",
                      WithThousands(process.warmup_launches()), " launches before, ",
                      WithThousands(process.steady_launches()), " after",
                      phase == PhaseChoice::kAll ? "; both are shown" : "");
}

std::string DeviceSentence(const report::Process& process) {
  if (process.devices_size() < 2) return "";
  std::vector<std::string> parts;
  for (const report::DeviceCompleteness& device : process.devices()) {
    std::string part = absl::StrCat("device ", device.device(), " ", device.name(), ": ",
                                    WithThousands(device.recorded()), " of ",
                                    WithThousands(device.expected()), " recorded");
    if (device.lost() > 0) absl::StrAppend(&part, ", ", WithThousands(device.lost()), " lost");
    if (device.in_flight() > 0)
      absl::StrAppend(&part, ", ", WithThousands(device.in_flight()), " in flight");
    if (device.untimed() > 0)
      absl::StrAppend(&part, ", ", WithThousands(device.untimed()), " untimed");
    if (device.surplus() > 0)
      absl::StrAppend(&part, ", ", WithThousands(device.surplus()), " surplus");
    parts.push_back(part);
  }
  return absl::StrJoin(parts, "; ");
}

std::string PathSentence(const report::Process& process) {
  std::vector<std::string> parts;
  for (const report::Path& path : process.paths()) {
    if (path.launches() == 0) continue;
    std::string part = absl::StrCat(path.path(), " ", WithThousands(path.launches()));
    std::vector<std::string> of_them;
    if (path.has_launches_per_replay())
      of_them.push_back(absl::StrCat(WithThousands(path.launches_per_replay()), " a replay"));
    if (path.eager_launches() > 0 && path.eager_launches() < path.launches())
      of_them.push_back(absl::StrCat(WithThousands(path.eager_launches()), " eager"));
    if (!of_them.empty()) absl::StrAppend(&part, " (", absl::StrJoin(of_them, ", "), ")");
    parts.push_back(part);
  }
  return parts.empty() ? "" : absl::StrCat("GEMM launches by path: ", absl::StrJoin(parts, ", "));
}

std::string TracerText(const trace::Header& header) {
  if (header.format_major() == 0) return "";
  std::string text = absl::StrCat("hotproof ", header.hotproof_version());
  if (header.cupti_version() != 0) absl::StrAppend(&text, ", CUPTI ", header.cupti_version());
  if (!header.cupti_path().empty()) absl::StrAppend(&text, " (", header.cupti_path(), ")");
  if (header.driver_version() != 0) absl::StrAppend(&text, ", driver ", header.driver_version());
  if (!header.driver_name().empty()) absl::StrAppend(&text, " (", header.driver_name(), ")");
  return text;
}

void AddRotatedOut(const TraceIndex& index, report::Process* process) {
  const trace::RotatedOut& gone = index.tables().rotated_out;
  if (gone.files == 0) return;
  report::RotatedOut* out = process->mutable_rotated_out();
  out->set_files(gone.files);
  out->set_records(Number(gone.records));
  for (const trace::Rollup& rollup : gone.rollups) {
    const trace::ChunkStatistics& statistics = rollup.statistics();
    report::RotatedOut::Period* period = out->add_periods();
    period->set_begin_seconds(static_cast<double>(statistics.first_start_ns()) / 1e9);
    period->set_seconds(
        static_cast<double>(statistics.last_end_ns() - statistics.first_start_ns()) / 1e9);
    period->set_files(rollup.last_segment() - rollup.first_segment() + 1);
    period->set_records(Number(statistics.record_count()));
  }
  std::map<std::string, std::pair<uint64_t, uint64_t>> kernels;  // time, records
  uint64_t time_ns = 0;
  for (uint32_t site = 0; site < gone.site_records.size(); ++site) {
    if (gone.site_records[site] == 0) continue;
    auto& [kernel_ns, records] = kernels[index.kernel(index.kernel_of_site(site)).canonical];
    kernel_ns += gone.site_duration_ns[site];
    records += gone.site_records[site];
    time_ns += gone.site_duration_ns[site];
  }
  out->set_time_ns(Number(time_ns));
  for (const auto& [kernel, sum] : kernels) {
    report::RotatedOut::KernelSum* row = out->add_kernels();
    row->set_kernel(kernel);
    row->set_records(Number(sum.second));
    row->set_time_ns(Number(sum.first));
  }
  std::stable_sort(out->mutable_kernels()->begin(), out->mutable_kernels()->end(),
                   [](const auto& a, const auto& b) { return a.time_ns() > b.time_ns(); });
}

void AddProcess(const ProcessAnalysis& analysis, const Coverage& coverage, PhaseChoice phase,
                report::Report* report) {
  report::Process* process = report->add_processes();
  const TraceIndex& index = *analysis.index;
  process->set_pid(analysis.pid());
  process->set_name(analysis.name());
  *process->mutable_completeness() = analysis.completeness.completeness;
  process->set_coverage(coverage.state);
  process->set_phase(index.phases().phased ? "steady" : "unphased");
  process->set_phase_detail(index.phases().detail);
  for (const report::DeviceCompleteness& device : analysis.completeness.devices) {
    *process->add_devices() = device;
  }
  const std::string& path = analysis.reader->path();
  process->set_trace(path.substr(path.rfind('/') + 1));
  process->set_run(analysis.run);
  process->set_tracer(TracerText(analysis.header()));
  uint64_t warmup = 0, steady = 0;
  for (const SlotLaunches& launches : index.launches()) {
    warmup += launches.warmup;
    steady += launches.steady;
  }
  const bool collected =
      analysis.completeness.completeness.state() != report::Completeness::NOT_COLLECTED;
  if (collected && index.phases().phased) {
    process->set_warmup_launches(Number(warmup));
    process->set_steady_launches(Number(steady));
  } else if (collected) {
    process->set_unphased_launches(Number(warmup + steady));
  }
  AddPaths(analysis, process, phase);
  AddRotatedOut(index, process);
  process->set_verdict(VerdictSentence(analysis.completeness));
  process->set_phase_sentence(PhaseSentence(*process, phase));
  process->set_device_sentence(DeviceSentence(*process));
  process->set_path_sentence(PathSentence(*process));
  for (report::Problem problem : analysis.completeness.problems) {
    problem.set_pid(process->pid());
    *report->add_problems() = std::move(problem);
  }
}

void AddMissing(const trace::Process& missing, report::Report* report) {
  report::Process* process = report->add_processes();
  process->set_pid(missing.pid());
  process->set_name(
      ProcessName(missing.executable(), {missing.arguments().begin(), missing.arguments().end()}));
  process->set_coverage(report::Process::MISSING);
  process->set_phase("unphased");
  const LossKind& kind = LossOf(FindingOf(missing));
  const std::string why = IsFolder(missing) ? NoTraceOf(missing.executable()) : kind.meaning;
  report::Completeness* completeness = process->mutable_completeness();
  completeness->set_state(report::Completeness::NOT_COLLECTED);
  report::Reason* reason = completeness->add_reasons();
  reason->set_name(kind.name);
  reason->set_detail(why);
  reason->set_affects_counts(true);
  reason->set_affects_times(true);
  process->set_verdict(absl::StrCat("NOT COLLECTED, so this says nothing about what ran: ", why));
}

// Says that several runs are one report, and of which of them each row is.
void TellRuns(std::span<const ProcessAnalysis> processes, report::Report* report) {
  std::set<std::string> runs;
  for (const ProcessAnalysis& process : processes) runs.insert(process.run);
  if (runs.size() > 1) {
    report->set_added(absl::StrCat(runs.size(),
                                   " runs are added up in every table: ", absl::StrJoin(runs, ", "),
                                   "; hotproof compare tells two apart"));
    return;
  }
  for (auto& row : *report->mutable_gemms()) row.clear_runs();
  for (auto& row : *report->mutable_kernels()) row.clear_runs();
  for (auto& row : *report->mutable_kinds()) row.clear_runs();
  for (auto& row : *report->mutable_ranges()) row.clear_runs();
}

struct Sums {
  double launches = 0, exclusive_ns = 0;
  friend bool operator==(const Sums&, const Sums&) = default;
};

template <typename RowsOf>
Sums SumOf(const RowsOf& rows) {
  Sums sums;
  for (const auto& row : rows) {
    sums.launches += row.launches();
    sums.exclusive_ns += row.exclusive_time_ns();
  }
  return sums;
}

void CheckSums(const Sums& whole, report::Report* report) {
  const Sums gemms = SumOf(report->gemms());
  Sums kind_gemm;
  for (const report::Kind& kind : report->kinds()) {
    if (kind.kind() == catalog::KindName(catalog::Kind::kGemm)) {
      kind_gemm = {kind.launches(), kind.exclusive_time_ns()};
    }
  }
  const LossKind& kind = LossOf(Finding::kSumsDisagree);
  auto check = [&](const char* what, const Sums& parts, const Sums& all) {
    if (parts == all) return;
    report::Problem* problem = report->add_problems();
    problem->set_severity(kind.severity);
    problem->set_name(kind.name);
    problem->set_detail(absl::StrFormat("%s: %s has %.0f launches and %.0f ns of %.0f and %.0f",
                                        kind.meaning, what, parts.launches, parts.exclusive_ns,
                                        all.launches, all.exclusive_ns));
    problem->set_advice(kind.advice);
  };
  check("kernels", SumOf(report->kernels()), whole);
  check("kinds", SumOf(report->kinds()), whole);
  if (report->ranges_size() > 0) check("ranges", SumOf(report->ranges()), whole);
  check("gemms", gemms, kind_gemm);
}

template <typename Message>
void AddNumberLimit(Message* message) {
  report::Problem* problem = message->add_problems();
  problem->set_severity(report::Problem::ERROR);
  problem->set_name("number_limit");
  problem->set_detail("a count or time exceeds 2^53 - 1 and is shown as that");
}

void SortProblems(google::protobuf::RepeatedPtrField<report::Problem>* problems) {
  std::stable_sort(problems->begin(), problems->end(),
                   [](const report::Problem& a, const report::Problem& b) {
                     return a.severity() > b.severity();
                   });
}

}  // namespace

report::Report BuildReport(std::span<const ProcessAnalysis> processes, const Coverage& coverage,
                           PhaseChoice phase) {
  report::Report report;
  report.set_phase(phase == PhaseChoice::kAll ? "all" : "steady");
  HotPath hot_path(phase);
  Kernels kernels(phase);
  Kinds kinds(phase);
  Ranges ranges(phase);
  Operations operations;
  // Where no launch was in one, there is no such table.
  const bool any_range = std::any_of(processes.begin(), processes.end(), &Ranges::Any);
  uint64_t all_launches = 0, all_exclusive_ns = 0;
  for (const ProcessAnalysis& process : processes) {
    AddProcess(process, coverage, phase, &report);
    // A new analyzer of processes is added here and below.
    hot_path.Merge(process);
    kernels.Merge(process);
    kinds.Merge(process);
    operations.Merge(process);
    if (any_range) ranges.Merge(process);
    for (uint32_t slot = 0; slot < process.index->slot_count(); ++slot) {
      all_launches += LaunchesIn(process, slot, phase);
      all_exclusive_ns += TimesIn(process, slot, phase).exclusive_ns;
    }
  }
  for (const trace::Process& missing : coverage.missing) AddMissing(missing, &report);
  for (const report::Problem& problem : coverage.problems) *report.add_problems() = problem;

  hot_path.Finish(all_exclusive_ns, &report);
  kernels.Finish(all_exclusive_ns, &report);
  kinds.Finish(all_exclusive_ns, &report);
  operations.Finish(&report);
  ranges.Finish(all_exclusive_ns, &report);
  TellRuns(processes, &report);
  CheckSums({Number(all_launches), Number(all_exclusive_ns)}, &report);
  if (all_exclusive_ns > kMaxNumber || all_launches > kMaxNumber) AddNumberLimit(&report);
  SortProblems(report.mutable_problems());
  return report;
}

report::Totals BuildTotals(std::span<const ProcessAnalysis> processes, const Coverage& coverage) {
  report::Report frame;
  KernelTotals kernels;
  for (const ProcessAnalysis& process : processes) {
    AddProcess(process, coverage, PhaseChoice::kAll, &frame);
    kernels.Merge(process);
  }
  for (const trace::Process& missing : coverage.missing) AddMissing(missing, &frame);
  for (const report::Problem& problem : coverage.problems) *frame.add_problems() = problem;
  if (kernels.ExceedsNumbers()) AddNumberLimit(&frame);
  SortProblems(frame.mutable_problems());

  report::Totals totals;
  totals.mutable_processes()->Swap(frame.mutable_processes());
  totals.mutable_problems()->Swap(frame.mutable_problems());
  kernels.Finish(&totals);
  return totals;
}

}  // namespace hotproof::analyzers
