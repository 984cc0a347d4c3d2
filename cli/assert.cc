#include "cli/assert.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "analyzers/expectations.h"
#include "catalog/kernel_class.h"
#include "cli/assert_options.h"
#include "cli/assert_output.h"
#include "cli/command_end.h"
#include "cli/device_code.h"
#include "cli/earlier_runs.h"
#include "cli/exit_codes.h"
#include "cli/folder_evidence.h"
#include "cli/load_run.h"
#include "cli/output_file.h"
#include "cli/render/json.h"
#include "cli/terminal.h"
#include "proto/expectations.pb.h"

namespace hotproof::cli {
namespace {

constexpr char kGithub[] = "github";

// The first complaint of a textproto, with its place.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, google::protobuf::io::ColumnNumber column,
                const std::string& text) override {
    if (message.empty())
      message = absl::StrCat("line ", line + 1, ", column ", column + 1, ": ", text);
  }
  std::string message;
};

// Looks into the file that each expectation names as its kernels' origin.
absl::Status FillInDeviceCode(expectations::Expectations& source) {
  for (expectations::Expectation& expectation : *source.mutable_expect()) {
    if (expectation.cubin_of().empty() || expectation.has_device_code()) continue;
    const auto found = ReadDeviceCode(expectation.cubin_of());
    if (!found.ok()) return found.status();
    expectations::DeviceCode& code = *expectation.mutable_device_code();
    code.mutable_cubin_hashes()->Add(found->cubin_hashes.begin(), found->cubin_hashes.end());
    for (const std::string& kernel : found->ptx_kernels) code.add_ptx_kernels(kernel);
    code.set_unreadable(found->unreadable);
    code.set_why_unreadable(found->why_unreadable);
  }
  return absl::OkStatus();
}

absl::StatusOr<expectations::Expectations> ReadExpectFile(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  if (!file || !(text << file.rdbuf())) {
    return absl::NotFoundError(
        absl::StrCat(path,
                     ": cannot be read or is empty; give a textproto of expectations "
                     "(proto/expectations.proto)"));
  }
  expectations::Expectations parsed;
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  if (!parser.ParseFromString(text.str(), &parsed)) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": ", error.message, "; see proto/expectations.proto for what may be written"));
  }
  if (const absl::Status status = FillInDeviceCode(parsed); !status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", status.message()));
  }
  const auto compiled = analyzers::CompileExpectations(parsed);
  if (!compiled.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", compiled.status().message()));
  }
  return parsed;
}

bool HasFlagExpectation(const AssertOptions& options) {
  const bool selects = !options.kernel.empty() || !options.path.empty() || !options.shape.empty() ||
                       !options.kind.empty() || !options.cubin_of.empty() || !options.range.empty();
  const bool bounds = options.launches || options.min_launches || options.max_launches ||
                      options.per_replay || !options.share.empty() || !options.time_share.empty();
  return selects || bounds;
}

expectations::Expectation FlagExpectation(const AssertOptions& options) {
  expectations::Expectation expectation;
  if (!options.kernel.empty()) expectation.set_kernel(options.kernel);
  if (!options.path.empty()) expectation.set_path(options.path);
  if (!options.shape.empty()) expectation.set_shape(options.shape);
  if (!options.kind.empty()) expectation.set_kind(options.kind);
  if (!options.range.empty()) expectation.set_range(options.range);
  if (!options.cubin_of.empty()) expectation.set_cubin_of(options.cubin_of);
  if (!options.share.empty()) expectation.set_share(options.share);
  if (!options.time_share.empty()) expectation.set_time_share(options.time_share);
  if (options.launches) expectation.set_launches(*options.launches);
  if (options.min_launches) expectation.set_min_launches(*options.min_launches);
  if (options.max_launches) expectation.set_max_launches(*options.max_launches);
  if (options.per_replay) expectation.set_launches_per_replay(*options.per_replay);
  return expectation;
}

// What the file and the flags ask for together; flags decide where both speak.
absl::StatusOr<analyzers::CompiledExpectations> Compile(const AssertOptions& options) {
  expectations::Expectations source;
  if (!options.expect_file.empty()) {
    auto file = ReadExpectFile(options.expect_file);
    if (!file.ok()) return file.status();
    source = *std::move(file);
  }
  if (HasFlagExpectation(options)) *source.add_expect() = FlagExpectation(options);
  if (const absl::Status status = FillInDeviceCode(source); !status.ok()) return status;
  if (options.expect_processes) source.set_processes(*options.expect_processes);
  if (options.phase)
    source.set_phase(*options.phase == "all" ? expectations::ALL : expectations::STEADY);
  if (options.processes) {
    const auto which = *options.processes == "any"   ? expectations::ANY
                       : *options.processes == "sum" ? expectations::SUM
                                                     : expectations::EVERY;
    for (expectations::Expectation& expectation : *source.mutable_expect()) {
      if (expectation.processes() == expectations::PROCESSES_UNSPECIFIED) {
        expectation.set_processes(which);
      }
    }
  }
  return analyzers::CompileExpectations(source);
}

int ExitCode(report::AssertReport::Verdict verdict) {
  switch (verdict) {
    case report::AssertReport::PASS:
      return kPassed;
    case report::AssertReport::FAIL:
      return kFailed;
    default:
      return kInconclusive;
  }
}

// Whether there is no other file in the way: a line that does not parse may name anything.
bool MayBeJunit(const std::string& path) {
  if (!RefuseInputAsOutput(path, {}).ok()) return false;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return true;  // reading a pipe would wait
  std::ifstream file(path);
  std::string start(5, ' ');
  if (!file || !file.read(start.data(), 5)) return true;
  return start == "<?xml";
}

// If it cannot be written, there is an error to be seen already.
void WriteErrorAsJunit(const std::string& path, const std::string& what) {
  if (path.empty() || !MayBeJunit(path)) return;
  auto file = OutputFile::Open(path);
  if (file.ok()) file->Write(ErrorAsJunit(what)).IgnoreError();
}

int Refuse(const AssertOptions& options, const std::string& what) {
  PrintError(what);
  if (options.format == kGithub) std::cout << ErrorAsGithub(what);
  return kBadInput;
}

// Says what is wrong, in the JUnit file too: one from an earlier run must not be taken for this
// one's.
int BadInput(const AssertOptions& options, const std::string& what) {
  WriteErrorAsJunit(options.junit_file, what);
  return Refuse(options, what);
}

// Who asks for `memory` may think of copies, of which 0 would be shown and not one counted.
void NoteKindMemory(const analyzers::CompiledExpectations& expectations,
                    report::AssertReport& report) {
  const bool asked =
      std::any_of(expectations.expect.begin(), expectations.expect.end(), [](const auto& expected) {
        return expected.selection.kind == catalog::Kind::kMemory;
      });
  if (!asked) return;
  report.add_notes(
      "kind memory is kernels that only move data: copies and memsets that the program asks of CUDA "
      "are no launches and not counted");
  report.add_warnings(report.notes(report.notes_size() - 1));
}

bool AsksForTimes(const analyzers::CompiledExpectations& expectations) {
  return std::any_of(expectations.expect.begin(), expectations.expect.end(),
                     [](const auto& expectation) { return expectation.time_share.has_value(); });
}

// Counts come from the heads of a trace, which are soon read. Where those do not decide, the whole
// trace is read, if only to say why.
absl::StatusOr<report::AssertReport> Check(const analyzers::CompiledExpectations& expectations,
                                           const std::vector<std::string>& paths,
                                           const std::string& rules) {
  const auto judge = [&](const LoadedRun& run) {
    report::AssertReport report =
        analyzers::CheckExpectations(expectations, run.processes, run.coverage);
    for (const report::Problem& problem : run.coverage.problems) {
      if (problem.name() == kNotNamed)
        report.add_notes(absl::StrCat("pid ", problem.pid(), " ", problem.detail()));
      if (problem.name() != kRuleUnused && problem.name() != kRunsAdded) continue;
      report.add_notes(absl::StrCat(problem.pid() != 0 ? absl::StrCat("pid ", problem.pid(), ": ") : "",
                                    problem.detail(), ": ", problem.advice()));
      report.add_warnings(report.notes(report.notes_size() - 1));
    }
    NoteKindMemory(expectations, report);
    for (const report::Problem& problem : CommandsThatFailed(paths))
      report.add_notes(absl::StrCat(problem.detail(), ": ", problem.advice()));
    // Where folders below hold traces, which.
    if (run.processes.empty() && run.coverage.missing.empty()) {
      const report::Problem problem = NoTraceFound(paths);
      for (report::Check& check : *report.mutable_checks()) {
        check.set_reason(problem.detail());
        check.set_advice(problem.advice());
      }
    }
    return report;
  };
  if (!AsksForTimes(expectations)) {
    const auto run = LoadRun(paths, rules, /*counts_only=*/true);
    if (!run.ok()) return run.status();
    report::AssertReport report = judge(*run);
    const bool decided = std::none_of(
        report.checks().begin(), report.checks().end(),
        [](const auto& check) { return check.verdict() == report::AssertReport::INCONCLUSIVE; });
    if (decided) return report;
  }
  const auto run = LoadRun(paths, rules);
  if (!run.ok()) return run.status();
  return judge(*run);
}

int Run(const AssertOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::string> inputs = options.paths;
  inputs.insert(inputs.end(), {options.expect_file, options.rules, options.cubin_of});
  const auto expectations = Compile(options);
  if (expectations.ok()) {
    for (const auto& expectation : expectations->expect) {
      if (expectation.selection.code) inputs.push_back(expectation.selection.code->file);
    }
  }
  if (const absl::Status status = RefuseInputAsOutput(options.junit_file, inputs); !status.ok()) {
    return Refuse(options, absl::StrCat("--junit: ", status.message()));
  }
  if (!expectations.ok()) {
    return BadInput(options, absl::StrCat("assert: ", expectations.status().message()));
  }
  // Before traces are read, which takes long: a file that cannot be written is a mistake of the
  // line.
  std::optional<OutputFile> junit;
  if (!options.junit_file.empty()) {
    auto file = OutputFile::Open(options.junit_file);
    if (!file.ok()) return Refuse(options, absl::StrCat("--junit: ", file.status().message()));
    junit.emplace(*std::move(file));
  }
  const auto checked = Check(*expectations, options.paths, options.rules);
  if (!checked.ok()) return BadInput(options, std::string(checked.status().message()));
  const report::AssertReport& report = *checked;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  // No verdict is told that the file does not have.
  if (junit) {
    const absl::Status status = junit->Write(AssertAsJunit(report, took.count()));
    if (!status.ok()) return Refuse(options, absl::StrCat("--junit: ", status.message()));
  }
  if (options.format == "json") {
    std::cout << render::ToJson(report);
  } else if (options.format == kGithub) {
    std::cout << AssertAsGithub(report);
  } else {
    const TerminalStyle style = StdoutStyle();
    std::cout << AssertAsText(report, style.colours);
  }
  return ExitCode(report.verdict());
}

}  // namespace

void WrongUsageOfAssert(int argc, const char* const* argv, const std::string& what) {
  for (int i = 1; i < argc && std::string(argv[i]) != "--"; ++i) {
    // What is given to `flag` here; "" where it is another argument.
    const auto given = [&](const std::string& flag) -> std::string {
      const std::string argument = argv[i];
      if (argument == flag && i + 1 < argc && argv[i + 1][0] != '-') return argv[i + 1];
      return argument.starts_with(flag + "=") ? argument.substr(flag.size() + 1) : "";
    };
    const std::string path = given("--junit");
    WriteErrorAsJunit(path, what);
    if (given("--format") == kGithub) std::cout << ErrorAsGithub(what);
  }
}

CLI::App* AddAssert(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<AssertOptions>();
  CLI::App* command =
      app.add_subcommand("assert", "Hold a run to expectations; the exit code is the verdict");
  AddAssertOptions(*command, *options);
  command->callback([options, &exit_code] { exit_code = Run(*options); });
  return command;
}

}  // namespace hotproof::cli
