#include "cli/doctor.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "cli/render/json.h"
#include "cli/render/printable.h"
#include "cli/system_checks.h"

namespace hotproof::cli {
namespace {

using doctor::Check;
using doctor::Report;
using doctor::State;

struct Options {
  std::string folder = ".";
  std::string format = "table";
  bool probe = false;
};

struct StateName {
  const char* name;
  const char* color;
};

StateName NameOf(State state) {
  switch (state) {
    case State::OK:
      return {"ok", "\33[32m"};
    case State::NOTE:
      return {"note", "\33[36m"};
    case State::WARNING:
      return {"warning", "\33[33m"};
    case State::MISSING:
      return {"missing", "\33[31m"};
    case State::BROKEN:
      return {"broken", "\33[31m"};
    default:
      return {"?", ""};
  }
}

void PrintTable(const Report& report, std::ostream& out) {
  const bool color = isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
  for (const Check& check : report.checks()) {
    const StateName state = NameOf(check.state());
    out << (color ? state.color : "") << std::left << std::setw(8) << state.name
        << (color ? "\33[0m" : "") << std::setw(12) << check.id() << render::Printable(check.found()) << "\n";
    if (!check.advice().empty()) out << std::string(20, ' ') << "-> " << check.advice() << "\n";
  }
  if (report.quirks_size() > 0) out << "\nKnown faults of this CUPTI, and what hotproof does\n";
  for (const doctor::Quirk& quirk : report.quirks()) {
    out << "  " << quirk.id() << ": " << quirk.behaviour() << "\n      -> " << quirk.response()
        << "\n";
  }
  out << "\n"
      << (report.can_trace()
              ? "A traced run can work here. Next: hotproof run -o traces -- COMMAND...\n"
              : "A traced run cannot work here; traces from elsewhere can be read: hotproof report "
                "FILE\n");
}

void PrintJson(const Report& report, std::ostream& out) {
  out << render::ToJson(report);
}

int ExitCode(const Report& report) {
  const auto any = [&](State state) {
    return std::any_of(report.checks().begin(), report.checks().end(),
                       [&](const Check& check) { return check.state() == state; });
  };
  return any(State::BROKEN) ? 1 : any(State::MISSING) ? 3 : 0;
}

int Main(const Options& options) {
  Machine machine = Machine::This();
  machine.folder = options.folder;
  if (options.probe) machine.probe_cuda = ProbeCuda;
  const Report report = ExamineMachine(machine);
  if (options.format == "json") {
    PrintJson(report, std::cout);
  } else {
    PrintTable(report, std::cout);
  }
  return ExitCode(report);
}

}  // namespace

CLI::App* AddDoctor(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* doctor =
      app.add_subcommand("doctor", "Tell whether this machine can trace, and what is missing");
  doctor->add_option("-o,--out", options->folder, "Folder that traces would be written to")
      ->type_name("DIR")
      ->capture_default_str();
  doctor->add_option("--format", options->format, "table or json")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  doctor->add_flag("--probe", options->probe,
                   "Start CUDA on the first GPU and try CUPTI (some seconds)");
  doctor->footer(
      "Without --probe nothing is started on the GPU.\n"
      "Exit code: 0 a traced run can work here, 3 it cannot, 1 something of hotproof's own is "
      "broken,\n"
      "2 wrong usage.");
  doctor->callback([options, &exit_code] { exit_code = Main(*options); });
  return doctor;
}

}  // namespace hotproof::cli
