// `hotproof report`: what ran, from the traces of a run.
#pragma once

#include <CLI/App.hpp>

namespace hotproof::cli {

// Adds the subcommand. When it is chosen, parsing runs it and sets `exit_code`: 0, 2 for bad input,
// 3 where no trace was found or none of them collected anything.
CLI::App* AddReport(CLI::App& app, int& exit_code);

}  // namespace hotproof::cli
