#include "cli/load_run.h"

#include <filesystem>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "analyzers/loss_table.h"
#include "catalog/classifier.h"
#include "cli/folder_evidence.h"
#include "cli/terminal.h"
#include "trace/reader.h"
#include "trace/segments.h"

namespace hotproof::cli {
namespace {

struct Inputs {
  std::vector<std::string> traces;  // canonical
  std::vector<FolderEvidence> folders;
};

absl::StatusOr<Inputs> FindInputs(const std::vector<std::string>& paths) {
  Inputs inputs;
  std::set<std::string> folders;
  const auto canonical = [](const std::string& path) {
    std::error_code error;
    const auto found = std::filesystem::canonical(path, error);
    return error ? path : found.string();
  };
  for (const std::string& path : paths) {
    std::error_code error;
    if (!std::filesystem::exists(path, error)) {
      return absl::NotFoundError(
          absl::StrCat(path, ": no such file or folder; give what hotproof run -o wrote"));
    }
    const auto found = trace::FindTraces({path});
    if (!found.ok()) return found.status();
    // The same trace named twice, or by several of its files (DIR/*.hp[st]), is one process.
    for (const std::string& trace : found->trace_paths) inputs.traces.push_back(canonical(trace));
    const std::filesystem::path place = canonical(path);
    folders.insert(std::filesystem::is_directory(place, error) ? place : place.parent_path());
  }
  trace::KeepNewestFiles(inputs.traces);
  for (const std::string& folder : folders) {
    auto evidence = LookBeside(folder, inputs.traces);
    if (!evidence.ok()) return evidence.status();
    inputs.folders.push_back(*std::move(evidence));
  }
  return inputs;
}

// A trace that is cut off before its header ends is no process that was not traced: its file's name
// (HOST-PID-RANDOM.hpt) still says whose it is.
void NameCutOffTraces(LoadedRun& run) {
  for (const analyzers::ProcessAnalysis& process : run.processes) {
    if (process.header().format_major() != 0) continue;
    const std::string name = std::filesystem::path(process.reader->path()).filename();
    for (report::Problem& problem : run.coverage.problems) {
      const std::string pid = absl::StrCat("-", problem.pid());
      const size_t at = name.find(pid);
      if (problem.name() != analyzers::LossOf(analyzers::Finding::kNoTrace).name ||
          at == std::string::npos || absl::ascii_isdigit(name[at + pid.size()])) {
        continue;
      }
      problem.set_detail(absl::StrCat(name, " is cut off before it says anything of its process"));
      problem.set_advice("copy it again, or trace the program again");
    }
  }
}

}  // namespace

absl::StatusOr<LoadedRun> LoadRun(const std::vector<std::string>& paths, const std::string& rules,
                                  bool counts_only) {
  auto inputs = FindInputs(paths);
  if (!inputs.ok()) return inputs.status();
  auto classifier = catalog::Classifier::Create(rules);
  if (!classifier.ok()) return classifier.status();

  LoadedRun run;
  analyzers::AnalyzeOptions options;
  for (const FolderEvidence& folder : inputs->folders) {
    options.manifests.insert(options.manifests.end(), folder.manifests.begin(),
                             folder.manifests.end());
  }
  for (size_t i = 0; i < inputs->traces.size(); ++i) {
    Progress progress(absl::StrCat("reading trace ", i + 1, " of ", inputs->traces.size()));
    options.fold.progress = [&](size_t done, size_t all) { progress.Update(done, all); };
    auto reader = trace::TraceReader::Open(inputs->traces[i], {.verify_columns = !counts_only});
    options.counts_only =
        counts_only && reader.ok() && analyzers::HeadsTellCounts((*reader)->tables());
    if (counts_only && !options.counts_only && reader.ok()) {
      reader = trace::TraceReader::Open(inputs->traces[i]);
    }
    if (!reader.ok()) return reader.status();
    run.processes.push_back(analyzers::AnalyzeTrace(*std::move(reader), *classifier, options));
  }
  std::vector<const trace::Header*> headers;
  for (const analyzers::ProcessAnalysis& process : run.processes)
    headers.push_back(&process.header());
  run.coverage = analyzers::JudgeCoverage(options.manifests, headers);
  for (const FolderEvidence& folder : inputs->folders) AddEvidence(folder, run.coverage);
  NameCutOffTraces(run);
  return run;
}

}  // namespace hotproof::cli
