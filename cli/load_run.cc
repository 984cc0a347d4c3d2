#include "cli/load_run.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "catalog/classifier.h"
#include "cli/terminal.h"
#include "trace/reader.h"
#include "trace/segments.h"

namespace hotproof::cli {
namespace {

struct Inputs {
  std::vector<std::string> traces;
  std::vector<trace::Manifest> manifests;
};

absl::StatusOr<Inputs> FindInputs(const std::vector<std::string>& paths) {
  Inputs inputs;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!std::filesystem::exists(path, error)) {
      return absl::NotFoundError(
          absl::StrCat(path, ": no such file or folder; give what hotproof run -o wrote"));
    }
    const auto found = trace::FindTraces({path});
    if (!found.ok()) return found.status();
    inputs.traces.insert(inputs.traces.end(), found->trace_paths.begin(), found->trace_paths.end());
    // A file given by itself is judged as itself.
    if (!found->manifest_path || !std::filesystem::is_directory(path, error)) continue;
    auto manifest = analyzers::LoadManifest(*found->manifest_path);
    if (!manifest.ok()) return manifest.status();
    inputs.manifests.push_back(*std::move(manifest));
  }
  // The same trace named twice, or by several of its files (DIR/*.hp[st]), is one process.
  for (std::string& trace : inputs.traces) {
    std::error_code error;
    const auto canonical = std::filesystem::canonical(trace, error);
    if (!error) trace = canonical.string();
  }
  trace::KeepNewestFiles(inputs.traces);
  return inputs;
}

}  // namespace

absl::StatusOr<LoadedRun> LoadRun(const std::vector<std::string>& paths, bool counts_only) {
  auto inputs = FindInputs(paths);
  if (!inputs.ok()) return inputs.status();
  auto classifier = catalog::Classifier::Create();
  if (!classifier.ok()) return classifier.status();

  LoadedRun run;
  analyzers::AnalyzeOptions options;
  options.manifests = inputs->manifests;
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
  run.coverage = analyzers::JudgeCoverage(inputs->manifests, headers);
  return run;
}

}  // namespace hotproof::cli
