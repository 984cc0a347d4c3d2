#include "cli/load_run.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "catalog/classifier.h"
#include "catalog/rule_text.h"
#include "cli/earlier_runs.h"
#include "cli/folder_evidence.h"
#include "cli/manifest.h"
#include "cli/terminal.h"
#include "cli/trace_end.h"
#include "cli/unused_layouts.h"
#include "trace/reader.h"
#include "trace/segments.h"

namespace hotproof::cli {
namespace {

struct Inputs {
  std::vector<std::string> traces;          // canonical
  std::map<std::string, std::string> runs;  // by folder of theirs, as it was named
  std::vector<FolderEvidence> folders;
};

absl::StatusOr<Inputs> FindInputs(const std::vector<std::string>& paths) {
  Inputs inputs;
  std::set<std::string> folders;
  std::map<std::string, std::string> in_vain;  // folders without a trace, as they were named
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
    const bool is_folder = std::filesystem::is_directory(place, error);
    const std::string folder = is_folder ? place : place.parent_path();
    folders.insert(folder);
    if (is_folder && found->trace_paths.empty()) in_vain[folder] = path;
    std::string named = is_folder ? path : std::filesystem::path(path).parent_path().string();
    while (named.size() > 1 && named.back() == '/') named.pop_back();
    inputs.runs.try_emplace(folder, named.empty() ? "." : named);
  }
  trace::KeepNewestFiles(inputs.traces);
  for (const std::string& folder : folders) {
    auto evidence = LookBeside(folder, inputs.traces);
    if (!evidence.ok()) return evidence.status();
    if (!inputs.traces.empty()) evidence->named_in_vain = in_vain[folder];
    inputs.folders.push_back(*std::move(evidence));
  }
  return inputs;
}

// What the trace says of its process; where it is cut off before that, what its file's name does.
trace::Header IdentityOf(const analyzers::ProcessAnalysis& process) {
  trace::Header header = process.header();
  header.set_pid(process.pid());
  return header;
}

// A copied folder or file would be counted twice. (Programs that one process ran, each by exec,
// began to be traced at times of their own.)
absl::Status RefuseCopies(const std::vector<analyzers::ProcessAnalysis>& processes) {
  std::map<std::tuple<std::string, uint32_t, uint64_t, uint64_t>, std::string> seen;
  for (const analyzers::ProcessAnalysis& process : processes) {
    const std::string& path = process.reader->path();
    const trace::Header& header = process.header();
    if (header.process_start_ticks() == 0) continue;
    const auto [first, is_new] = seen.try_emplace(
        {header.boot_id(), header.pid(), header.process_start_ticks(), header.start_realtime_ns()},
        path);
    if (is_new) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        path, " is a copy of ", first->second, ", and would be counted twice; name one of them"));
  }
  return absl::OkStatus();
}

// What to do about a trace that cannot be read; the reader says what is wrong with it.
absl::Status WithAdvice(const absl::Status& status) {
  const auto with = [&status](const char* advice) {
    return absl::Status(status.code(), absl::StrCat(status.message(), "; ", advice));
  };
  switch (status.code()) {
    case absl::StatusCode::kFailedPrecondition:  // of a newer version, which says so
      return status;
    case absl::StatusCode::kInvalidArgument:  // taken for a trace: all of a folder's files, say
      return with("give the folder, or its .hpt files alone");
    case absl::StatusCode::kResourceExhausted:
      return with("copy it again from where it was written");
    default:
      return with("check that it is there and may be read");
  }
}

// A trace without a header shows that there was a process, not what it did.
void JudgeFolders(bool without_manifest, LoadedRun& run) {
  const bool all_tell =
      std::all_of(run.processes.begin(), run.processes.end(),
                  [](const auto& process) { return process.header().format_major() != 0; });
  if (!all_tell && run.coverage.state == report::Process::FULL)
    run.coverage.state = report::Process::PARTIAL;
  if (!without_manifest) return;
  for (report::Problem& problem : RunsInOneFolder(run.processes))
    run.coverage.problems.push_back(std::move(problem));
}

// A misspelt pattern is silent otherwise.
void FindUnusedRules(const std::string& rules_path, const catalog::Classifier& classifier,
                     LoadedRun& run) {
  if (rules_path.empty()) return;
  const auto rules = catalog::ReadRulesFile(rules_path);
  if (!rules.ok()) return;  // a pipe: it was read
  std::set<std::string> used;
  for (const analyzers::ProcessAnalysis& process : run.processes) {
    for (uint32_t id = 1; id < process.index->kernel_count(); ++id)
      used.insert(process.index->kernel(id).kernel_class.rule);
  }
  for (const auto& rule : rules->rule()) {
    if (used.contains(rule.id())) continue;
    report::Problem& problem = run.coverage.problems.emplace_back();
    problem.set_severity(report::Problem::INFO);
    problem.set_name(kRuleUnused);
    problem.set_detail(absl::StrCat("rule ", rule.id(), " of ", rules_path, " decided no kernel"));
    problem.set_advice("hotproof classify --rules tries it on names, which it has to match whole");
  }
  for (report::Problem& problem : UnusedLayouts(*rules, classifier, run.processes)) {
    problem.set_name(kRuleUnused);
    problem.set_detail(absl::StrCat(problem.detail(), " (", rules_path, ")"));
    run.coverage.problems.push_back(std::move(problem));
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
    // Asked before it is read: what a process does meanwhile must not be taken for its end.
    const std::optional<bool> written = IsBeingWritten(inputs->traces[i]);
    options.still_running = written.value_or(false) || IsRunning(inputs->traces[i]);
    auto reader = trace::TraceReader::Open(inputs->traces[i], {.verify_columns = !counts_only});
    options.counts_only =
        counts_only && reader.ok() && analyzers::HeadsTellCounts((*reader)->tables());
    if (counts_only && !options.counts_only && reader.ok()) {
      reader = trace::TraceReader::Open(inputs->traces[i]);
    }
    if (!reader.ok()) return WithAdvice(reader.status());
    options.end_not_seen = !IsEndSeen(**reader, options.manifests, !written.value_or(true));
    run.processes.push_back(analyzers::AnalyzeTrace(*std::move(reader), *classifier, options));
    run.processes.back().run = inputs->runs[std::filesystem::path(inputs->traces[i]).parent_path()];
  }
  if (const absl::Status status = RefuseCopies(run.processes); !status.ok()) return status;
  std::vector<trace::Header> identities;
  for (const analyzers::ProcessAnalysis& process : run.processes)
    identities.push_back(IdentityOf(process));
  std::vector<const trace::Header*> headers, apart;
  for (size_t i = 0; i < identities.size(); ++i) {
    const auto folder = std::filesystem::path(inputs->traces[i]).parent_path();
    std::error_code error;
    const bool has_manifest = std::filesystem::exists(folder / kManifestName, error);
    (has_manifest ? headers : apart).push_back(&identities[i]);
  }
  run.coverage = analyzers::JudgeCoverage(options.manifests, headers, apart);
  for (const FolderEvidence& folder : inputs->folders) AddEvidence(folder, run.coverage);
  JudgeFolders(options.manifests.empty(), run);
  FindUnusedRules(rules, *classifier, run);
  return run;
}

bool AnyCollected(const LoadedRun& run) {
  return std::any_of(
      run.processes.begin(), run.processes.end(), [](const analyzers::ProcessAnalysis& process) {
        return process.completeness.completeness.state() != report::Completeness::NOT_COLLECTED;
      });
}

report::Problem NoTraceFound(const std::vector<std::string>& paths) {
  constexpr int kDeepest = 4;
  constexpr size_t kMostNamed = 5;
  std::set<std::string> below;
  for (const std::string& path : paths) {
    std::error_code error;
    namespace fs = std::filesystem;
    fs::recursive_directory_iterator it(path, fs::directory_options::skip_permission_denied, error);
    for (const fs::recursive_directory_iterator end; !error && it != end; it.increment(error)) {
      if (it.depth() >= kDeepest) it.disable_recursion_pending();
      if (it->path().extension() == ".hpt") below.insert(it->path().parent_path());
    }
  }
  report::Problem problem;
  problem.set_severity(report::Problem::ERROR);
  problem.set_name("no_trace");
  problem.set_detail("no trace (.hpt) found in " + absl::StrJoin(paths, ", "));
  const bool was_run = std::any_of(paths.begin(), paths.end(), [](const std::string& path) {
    std::error_code error;
    return std::filesystem::exists(std::filesystem::path(path) / kManifestName, error);
  });
  problem.set_advice(was_run ? "it was run under hotproof run, and no process used CUDA with the tracer in it: hotproof "
                               "doctor says what is missing here; docs/tracing.md has what takes the tracer away"
                             : "run the program under hotproof run -o DIR -- COMMAND");
  if (below.empty()) return problem;
  const size_t more = below.size() > kMostNamed ? below.size() - kMostNamed : 0;
  while (below.size() > kMostNamed) below.erase(std::prev(below.end()));
  problem.set_advice(absl::StrCat("name the folder of one run: ", absl::StrJoin(below, ", "),
                                  more > 0 ? absl::StrCat(" or ", more, " more") : ""));
  return problem;
}

}  // namespace hotproof::cli
