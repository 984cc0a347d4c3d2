#include "cli/folder_evidence.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzers/loss_table.h"
#include "cli/manifest.h"
#include "trace/file_window.h"
#include "trace/reader.h"
#include "trace/segments.h"

namespace hotproof::cli {
namespace {

namespace fs = std::filesystem;

// All files of a trace have this of it in common.
std::string TraceOf(const std::string& path) { return trace::SegmentPath(path, 0); }

analyzers::ProcessIdentity IdentityOf(const trace::Process& process) {
  return analyzers::InItsTrace(process, "");
}

trace::Process FromCounters(const fs::path& path) {
  trace::Process process;
  process.set_gpu(true);
  process.set_gpu_evidence("counter file");
  process.set_executable(path.filename());
  const auto counters = trace::ReadCounters(path);
  if (counters.ok()) {
    process.set_pid(counters->header.pid);
    process.set_start_ticks(counters->header.process_start_ticks);
  }
  return process;
}

// Takes the process of this trace out of the manifest: it is not asked about.
void SetAside(const std::string& path, FolderEvidence& evidence) {
  if (evidence.manifests.empty()) return;
  const auto file = trace::File::Open(path);
  if (!file.ok()) return;
  const auto start = trace::StartOf(**file);
  if (!start) return;
  for (trace::Manifest& manifest : evidence.manifests) {
    auto& processes = *manifest.mutable_processes();
    const auto found =
        std::find_if(processes.begin(), processes.end(), [&](const trace::Process& process) {
          return process.gpu() &&
                 MayBeSame(IdentityOf(process), {start->pid, start->process_start_ticks, ""});
        });
    if (found == processes.end()) continue;
    evidence.not_named.push_back(*found);
    processes.erase(found);
  }
}

}  // namespace

absl::StatusOr<FolderEvidence> LookBeside(const std::string& folder,
                                          const std::vector<std::string>& named) {
  FolderEvidence evidence;
  std::error_code error;
  if (const fs::path path = fs::path(folder) / kManifestName; fs::exists(path, error)) {
    auto manifest = analyzers::LoadManifest(path);
    if (!manifest.ok()) return manifest.status();
    evidence.manifests.push_back(*std::move(manifest));
  }
  std::vector<std::string> traces;
  std::vector<fs::path> counter_files;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const fs::path extension = it->path().extension();
    if (extension == ".hpt" || extension == ".hps") traces.push_back(it->path());
    if (extension == ".hpc") counter_files.push_back(it->path());
  }
  trace::KeepNewestFiles(traces);
  std::set<std::string> known, read;
  for (const std::string& path : named) read.insert(TraceOf(path));
  for (const std::string& path : traces) {
    known.insert(TraceOf(path));
    if (!read.contains(TraceOf(path))) SetAside(path, evidence);
  }
  std::sort(counter_files.begin(), counter_files.end());
  for (const fs::path& path : counter_files) {
    if (known.contains(TraceOf(fs::path(path).replace_extension(".hpt")))) continue;
    evidence.without_trace.push_back(FromCounters(path));
  }
  return evidence;
}

namespace {

// Nothing else of the run says that a GPU process is missing.
bool IsSilent(const FolderEvidence& evidence) {
  const auto is_gpu = [](const trace::Process& process) { return process.gpu(); };
  return evidence.without_trace.empty() &&
         std::none_of(evidence.manifests.begin(), evidence.manifests.end(),
                      [&](const trace::Manifest& manifest) {
                        const auto& processes = manifest.processes();
                        return std::any_of(processes.begin(), processes.end(), is_gpu);
                      });
}

}  // namespace

void AddEvidence(const FolderEvidence& evidence, analyzers::Coverage& coverage) {
  using analyzers::Finding;
  using analyzers::LossKind;
  if (!evidence.named_in_vain.empty() && IsSilent(evidence)) {
    coverage.state = report::Process::PARTIAL;
    trace::Process& folder = coverage.missing.emplace_back();
    folder.set_executable(evidence.named_in_vain);
    report::Problem& problem = coverage.problems.emplace_back();
    problem.set_severity(report::Problem::ERROR);
    problem.set_name(analyzers::LossOf(Finding::kNoTrace).name);
    problem.set_detail(analyzers::NoTraceOf(evidence.named_in_vain));
    problem.set_advice(analyzers::kNoTraceInAdvice);
  }
  for (const trace::Process& process : evidence.without_trace) {
    const bool known = std::any_of(
        coverage.missing.begin(), coverage.missing.end(), [&](const trace::Process& missing) {
          return process.pid() != 0 && MayBeSame(IdentityOf(missing), IdentityOf(process));
        });
    if (known) continue;
    coverage.state = report::Process::PARTIAL;
    coverage.missing.push_back(process);
    coverage.missing.back().set_traced(true);
    const LossKind& kind = analyzers::LossOf(Finding::kTraceGone);
    report::Problem& problem = coverage.problems.emplace_back();
    problem.set_severity(kind.severity);
    problem.set_pid(process.pid());
    problem.set_name(kind.name);
    problem.set_detail(
        absl::StrCat(kind.meaning, ": it was beside the counter file ", process.executable()));
    problem.set_advice(kind.advice);
  }
  for (const trace::Process& process : evidence.not_named) {
    report::Problem& problem = coverage.problems.emplace_back();
    problem.set_severity(report::Problem::INFO);
    problem.set_pid(process.pid());
    problem.set_name(kNotNamed);
    problem.set_detail(absl::StrCat(
        "not judged, for its trace was not named: ",
        analyzers::ProcessName(process.executable(),
                               {process.arguments().begin(), process.arguments().end()})));
    problem.set_advice("name the folder to judge every process of the run");
  }
}

}  // namespace hotproof::cli
