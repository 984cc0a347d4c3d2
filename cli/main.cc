// hotproof: which GPU kernels a serving run really executed. One file per subcommand.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <iostream>
#include <string>
#include <vector>

#include "cli/assert.h"
#include "cli/compare.h"
#include "cli/heap.h"
#include "cli/render/printable.h"
#include "cli/report.h"
#ifdef HOTPROOF_HAS_CLASSIFY
#include "cli/classify.h"
#endif
#ifdef HOTPROOF_HAS_DOCTOR
#include "cli/doctor.h"
#endif
#ifdef HOTPROOF_HAS_RUN
#include "cli/run.h"
#endif

using hotproof::cli::render::Printable;

int main(int argc, char** argv) {
  hotproof::cli::TakeMemoryFast();

  CLI::App app("Proves which GPU kernels a serving run really executed", "hotproof");
  app.set_version_flag("--version", HOTPROOF_VERSION);
  app.require_subcommand(1);
  int exit_code = 0;
#ifdef HOTPROOF_HAS_RUN
  hotproof::cli::AddRun(app, exit_code);
#endif
  hotproof::cli::AddReport(app, exit_code);
  hotproof::cli::AddCompare(app, exit_code);
  hotproof::cli::AddAssert(app, exit_code);
#ifdef HOTPROOF_HAS_CLASSIFY
  hotproof::cli::AddClassify(app, exit_code);
#endif
#ifdef HOTPROOF_HAS_DOCTOR
  hotproof::cli::AddDoctor(app, exit_code);
#endif
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const std::vector<CLI::App*> chosen = app.get_subcommands();
    const bool no_command = chosen.empty() && argc > 1 && argv[1][0] != '-';
    if (error.get_exit_code() == 0 && !no_command) return app.exit(error);  // --help, --version
    if (no_command) {
      std::cerr << "hotproof: there is no command '" << Printable(argv[1])
                << "'; see hotproof --help\n";
      return 2;
    }
    if (chosen.empty() && argc > 1) {
      std::cerr << "hotproof: there is no option " << Printable(argv[1])
                << "; see hotproof --help\n";
      return 2;
    }
    // CLI11 looks for what is required first, and an unknown option is no positional.
    const bool unknown = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr &&
                         !chosen.empty() && chosen[0]->remaining_size() > 0;
    const std::string what =
        unknown ? "there is no option " + chosen[0]->remaining()[0] : error.what();
    std::cerr << "hotproof: " << Printable(what) << "; see hotproof";
    if (!chosen.empty()) std::cerr << " " << chosen[0]->get_name();
    std::cerr << " --help";
    // An option that is not ours may be meant for the command.
    if (!chosen.empty() && chosen[0]->get_name() == "run") {
      std::cerr << "; usage: hotproof run -o DIR -- COMMAND...";
    }
    std::cerr << "\n";
    if (!chosen.empty() && chosen[0]->get_name() == "assert")
      hotproof::cli::WrongUsageOfAssert(argc, argv, what);
    return 2;
  }
  std::cout.flush();
  if (!std::cout) {
    std::cerr
        << "hotproof: the output could not be written; check where it goes and its free space\n";
    return 2;
  }
  return exit_code;
}
