#include "cli/compare.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzers/compare.h"
#include "cli/exit_codes.h"
#include "cli/folder_evidence.h"
#include "cli/load_run.h"
#include "cli/option_checks.h"
#include "cli/render/json.h"
#include "cli/render/table.h"
#include "cli/terminal.h"

namespace hotproof::cli {
namespace {

struct Options {
  std::string before, after;
  std::string phase = "steady";
  std::string format = "table";
  std::string rules;
  bool wide = false;
};

int Run(const Options& options) {
  LoadedRun runs[2];
  int side = 0;
  std::vector<std::string> left_out[2];
  for (const std::string& path : {options.before, options.after}) {
    auto run = LoadRun({path}, options.rules);
    if (!run.ok()) {
      PrintError(std::string(run.status().message()));
      return kBadInput;
    }
    if (run->processes.empty()) {
      const report::Problem problem = NoTraceFound({path});
      PrintError(absl::StrCat(problem.detail(), "; ", problem.advice()));
      return kInconclusive;
    }
    for (const report::Problem& problem : run->coverage.problems) {
      if (problem.name() == kNotNamed)
        left_out[side].push_back(absl::StrCat("pid ", problem.pid(), ": ", problem.detail()));
    }
    runs[side++] = *std::move(run);
  }
  const report::Comparison comparison = analyzers::CompareRuns(
      {options.before, runs[0].processes, runs[0].coverage, left_out[0]},
      {options.after, runs[1].processes, runs[1].coverage, left_out[1]},
      options.phase == "all" ? analyzers::PhaseChoice::kAll : analyzers::PhaseChoice::kSteady);
  if (options.format == "json") {
    std::cout << render::ToJson(comparison);
  } else {
    const TerminalStyle style = StdoutStyle();
    std::cout << render::ToTable(
        comparison, {.width = options.wide ? 0 : style.width, .colours = style.colours});
  }
  const bool known =
      std::all_of(comparison.sides().begin(), comparison.sides().end(),
                  [](const report::Side& compared) { return compared.has_launches(); });
  return known ? kPassed : kInconclusive;
}

}  // namespace

CLI::App* AddCompare(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* compare =
      app.add_subcommand("compare", "Say what differs between two runs: paths, launches, times");
  const char* const run = "Folder that hotproof run wrote, or one trace file";
  compare->add_option("before", options->before, run)->required()->type_name("DIR|FILE");
  compare->add_option("after", options->after, run)->required()->type_name("DIR|FILE");
  compare->add_option("--phase", options->phase, "steady: after warm-up; all: the whole run")
      ->check(CLI::IsMember({"steady", "all"}))
      ->capture_default_str();
  compare->add_flag("--wide", options->wide, "All columns, however long the lines get");
  compare->add_option("--rules", options->rules, "Rules of your own, tried first (textproto)")
      ->type_name("F.textproto")
      ->check(NotEmpty());
  compare->add_option("--format", options->format, "How to print it")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  compare->footer(
      "Exit code: 0 compared, 3 of one of the two no launch was seen and not everything was "
      "collected,\n"
      "2 bad usage or unreadable input. A difference is no failure: hold a run to expectations "
      "with hotproof assert.");
  compare->callback([options, &exit_code] { exit_code = Run(*options); });
  return compare;
}

}  // namespace hotproof::cli
