#include "cli/assert.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzers/expectations.h"
#include "catalog/kernel_class.h"
#include "cli/assert_output.h"
#include "cli/command_end.h"
#include "cli/device_code.h"
#include "cli/exit_codes.h"
#include "cli/folder_evidence.h"
#include "cli/load_run.h"
#include "cli/option_checks.h"
#include "cli/render/json.h"
#include "cli/terminal.h"
#include "proto/expectations.pb.h"

namespace hotproof::cli {
namespace {

constexpr char kGithub[] = "github";

struct Options {
  std::vector<std::string> paths;
  std::string rules;
  std::string expect_file;
  std::string kernel, path, shape, kind, cubin_of, range, share, time_share;
  std::optional<uint64_t> launches, min_launches, max_launches, per_replay;
  std::optional<std::string> processes, phase;
  std::optional<uint32_t> expect_processes;
  std::string junit_file;
  std::string format = "text";
};

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
                     ": cannot be read or is empty; --expect takes a textproto "
                     "of expectations (proto/expectations.proto)"));
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

bool HasFlagExpectation(const Options& options) {
  const bool selects = !options.kernel.empty() || !options.path.empty() || !options.shape.empty() ||
                       !options.kind.empty() || !options.cubin_of.empty() || !options.range.empty();
  const bool bounds = options.launches || options.min_launches || options.max_launches ||
                      options.per_replay || !options.share.empty() || !options.time_share.empty();
  return selects || bounds;
}

expectations::Expectation FlagExpectation(const Options& options) {
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
absl::StatusOr<analyzers::CompiledExpectations> Compile(const Options& options) {
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

bool WriteFile(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  return !file.fail();
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

// Says what is wrong, in the JUnit file too: one from an earlier run must not be taken for this
// one's.
int BadInput(const Options& options, const std::string& what) {
  PrintError(what);
  if (options.format == kGithub) std::cout << ErrorAsGithub(what);
  if (!options.junit_file.empty()) WriteFile(options.junit_file, ErrorAsJunit(what));
  return kBadInput;
}

// Whether there is no other file in the way: a line that does not parse may name anything.
bool MayBeJunit(const std::string& path) {
  std::ifstream file(path);
  std::string start(5, ' ');
  if (!file || !file.read(start.data(), 5)) return true;
  return start == "<?xml";
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
      if (problem.name() != kRuleUnused) continue;
      report.add_notes(absl::StrCat(problem.detail(), ": ", problem.advice()));
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

int Run(const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  const auto expectations = Compile(options);
  if (!expectations.ok()) {
    return BadInput(options, absl::StrCat("assert: ", expectations.status().message()));
  }
  const auto checked = Check(*expectations, options.paths, options.rules);
  if (!checked.ok()) return BadInput(options, std::string(checked.status().message()));
  const report::AssertReport& report = *checked;
  if (options.format == "json") {
    std::cout << render::ToJson(report);
  } else if (options.format == kGithub) {
    std::cout << AssertAsGithub(report);
  } else {
    const TerminalStyle style = StdoutStyle();
    std::cout << AssertAsText(report, style.colours);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (!options.junit_file.empty() &&
      !WriteFile(options.junit_file, AssertAsJunit(report, took.count()))) {
    const std::string what =
        absl::StrCat("cannot write ", options.junit_file, "; check its folder and free space");
    PrintError(what);
    if (options.format == kGithub) std::cout << ErrorAsGithub(what);
    return kBadInput;
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
    if (!path.empty() && MayBeJunit(path)) WriteFile(path, ErrorAsJunit(what));
    if (given("--format") == kGithub) std::cout << ErrorAsGithub(what);
  }
}

CLI::App* AddAssert(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("assert", "Hold a run to expectations; the exit code is the verdict");
  command
      ->add_option("path", options->paths, "Trace files (.hpt) or folders that hotproof run wrote")
      ->required()
      ->type_name("DIR|FILE");
  command
      ->add_option("--expect", options->expect_file,
                   "Expectations in a file (proto/expectations.proto)")
      ->type_name("F.textproto")
      ->check(NotEmpty());
  command->add_option("--rules", options->rules, "Rules of your own, tried first (textproto)")
      ->type_name("F.textproto")
      ->check(NotEmpty());
  const char* const selection = "Which launches";
  command
      ->add_option("--kernel", options->kernel,
                   "RE2 pattern, anywhere in the mangled or demangled name")
      ->type_name("RE2")
      ->check(NotEmpty())
      ->group(selection);
  command
      ->add_option("--path", options->path, "GEMM launches of this path, e.g. cutlass_vllm, custom")
      ->type_name("P")
      ->check(NotEmpty())
      ->group(selection);
  command->add_option("--shape", options->shape, "GEMM launches with this N and K, e.g. 34816x5120")
      ->type_name("NxK")
      ->check(NotEmpty())
      ->group(selection);
  command
      ->add_option("--kind", options->kind,
                   "Launches of this kind, or any; default: gemm with --path or --shape, "
                   "without --kernel")
      ->check(NotEmpty())
      ->group(selection);
  command
      ->add_option("--range", options->range,
                   "Launches in these named ranges: RE2 pattern, anywhere in e.g. "
                   "model.layers.3/mlp")
      ->type_name("RE2")
      ->check(NotEmpty())
      ->group(selection);
  command
      ->add_option("--cubin-of", options->cubin_of,
                   "Launches of the kernels that this library, program or cubin embeds, "
                   "by the hash of the cubin that was loaded")
      ->type_name("FILE")
      ->check(NotEmpty())
      ->group(selection);
  const char* const bounds = "What is expected of them";
  command->add_option("--launches", options->launches, "Exactly so many")
      ->check(WholeNumber())
      ->group(bounds);
  command->add_option("--min-launches", options->min_launches, "At least so many")
      ->check(WholeNumber())
      ->group(bounds);
  command->add_option("--max-launches", options->max_launches, "At most so many; 0: never")
      ->check(WholeNumber())
      ->group(bounds);
  command
      ->add_option("--launches-per-replay", options->per_replay,
                   "Exactly so many in each replay of each graph that launches a GEMM or one of them")
      ->check(WholeNumber())
      ->group(bounds);
  command
      ->add_option("--share", options->share,
                   "Their share of the launches of the shape's GEMMs, e.g. '>=0.99'")
      ->check(NotEmpty())
      ->group(bounds);
  command
      ->add_option("--time-share", options->time_share, "Their share of all GPU time, e.g. '>=0.5'")
      ->check(NotEmpty())
      ->group(bounds);
  command
      ->add_option("--processes", options->processes,
                   "every process that launched a kernel (default), any one of them, or their sum")
      ->check(CLI::IsMember({"every", "any", "sum"}));
  command
      ->add_option("--expect-processes", options->expect_processes,
                   "Exactly so many processes launched a kernel")
      ->check(WholeNumber(UINT32_MAX));
  command
      ->add_option("--phase", options->phase, "steady (default): after warm-up; all: the whole run")
      ->check(CLI::IsMember({"steady", "all"}));
  command->add_option("--junit", options->junit_file, "Also write the result as JUnit XML")
      ->type_name("F")
      ->check(NotEmpty());
  command->add_option("--format", options->format, "How to print the result")
      ->check(CLI::IsMember({"text", "json", "github"}))
      ->capture_default_str();
  command->footer(absl::StrCat(
      "Paths: ", absl::StrJoin(catalog::PathNames(), " "), "\n",
      "Kinds: ", absl::StrJoin(catalog::KindNames(), " "), " any\n",
      "Exit code: 0 PASS, 1 FAIL, 3 INCONCLUSIVE, 2 bad usage or unreadable input."));
  command->callback([options, &exit_code] { exit_code = Run(*options); });
  return command;
}

}  // namespace hotproof::cli
