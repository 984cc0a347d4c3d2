#include "cli/report.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analyzers/report.h"
#include "cli/command_end.h"
#include "cli/exit_codes.h"
#include "cli/load_run.h"
#include "cli/option_checks.h"
#include "cli/render/json.h"
#include "cli/render/table.h"
#include "cli/terminal.h"

namespace hotproof::cli {
namespace {

struct Options {
  std::vector<std::string> paths;
  std::string phase = "steady";
  std::string format = "table";
  std::string by;
  std::string rules;
  bool wide = false;
  bool totals = false;
};

void AddNoRange(report::Report* report) {
  report::Problem* problem = report->add_problems();
  problem->set_severity(report::Problem::INFO);
  problem->set_name("no_range");
  problem->set_detail("no launch was in a named range");
  problem->set_advice(
      "use NVTX or hotproof_range_push in the program, or trace it with run --torch-ops");
}

// Never freed: the process ends sooner than all parts of a report are given back. Once a type.
template <typename T>
T& Keep(T value) {
  static T& kept = *new T(std::move(value));
  return kept;
}

// `message`: a Report or Totals. Returns the exit code.
template <typename Message>
int Show(const LoadedRun& run, const Options& options, Message& message) {
  const bool json = options.format == "json";
  if (message.processes_size() == 0) {
    // Readers of the JSON see no exit code.
    const report::Problem& problem = *message.add_problems() = NoTraceFound(options.paths);
    if (json) std::cout << render::ToJson(message);
    PrintError(problem.detail() + "; " + problem.advice());
    return kInconclusive;
  }
  if (run.processes.empty()) *message.add_problems() = NoTraceFound(options.paths);
  for (const report::Problem& problem : CommandsThatFailed(options.paths))
    *message.add_problems() = problem;
  if (json) {
    std::cout << render::ToJson(message);
  } else {
    const TerminalStyle style = StdoutStyle();
    std::cout << render::ToTable(
        message, {.width = options.wide ? 0 : style.width, .colours = style.colours});
  }
  return AnyCollected(run) ? kPassed : kInconclusive;
}

int Run(const Options& options) {
  const auto& run = Keep(LoadRun(options.paths, options.rules, /*counts_only=*/options.totals));
  if (!run.ok()) {
    PrintError(std::string(run.status().message()));
    return kBadInput;
  }
  if (options.totals)
    return Show(*run, options, Keep(analyzers::BuildTotals(run->processes, run->coverage)));
  report::Report& report = Keep(analyzers::BuildReport(
      run->processes, run->coverage,
      options.phase == "all" ? analyzers::PhaseChoice::kAll : analyzers::PhaseChoice::kSteady));
  if (options.by == "range") {
    if (report.processes_size() > 0 && report.ranges_size() == 0) AddNoRange(&report);
  } else if (options.format != "json") {
    report.clear_ranges();
  }
  return Show(*run, options, report);
}

}  // namespace

CLI::App* AddReport(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* report =
      app.add_subcommand("report", "Say which path ran each GEMM, how often, for how long");
  report
      ->add_option("path", options->paths, "Trace files (.hpt) or folders that hotproof run wrote")
      ->required()
      ->type_name("DIR|FILE");
  report->add_option("--phase", options->phase, "steady: after warm-up; all: the whole run")
      ->check(CLI::IsMember({"steady", "all"}))
      ->capture_default_str();
  report
      ->add_option("--by", options->by,
                   "range: also a table of what ran in each named range (NVTX, run --torch-ops)")
      ->check(CLI::IsMember({"range"}));
  report
      ->add_flag(
          "--totals", options->totals,
          "Only launches and time by kernel name, over the whole run: from sums in the trace,\n"
          "in a fraction of the time; no phases, shapes, quantiles")
      ->excludes("--phase", "--by");
  report->add_flag("--wide", options->wide,
                   "Whole names, however long the lines get; so it is in a pipe or a file, too,\n"
                   "unless COLUMNS is set");
  report->add_option("--rules", options->rules, "Rules of your own, tried first (textproto)")
      ->type_name("F.textproto")
      ->check(NotEmpty());
  report->add_option("--format", options->format, "How to print it")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  report->footer(
      "Exit code: 0 reported, 3 nothing was collected (no trace, or NOT COLLECTED), 2 bad usage "
      "or\n"
      "unreadable input.");
  report->callback([options, &exit_code] { exit_code = Run(*options); });
  return report;
}

}  // namespace hotproof::cli
