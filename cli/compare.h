// `hotproof compare`: what differs between two runs.
#pragma once

#include <CLI/App.hpp>

namespace hotproof::cli {

// Adds the subcommand. When it is chosen, parsing runs it and sets `exit_code`: 0 compared, 3 of
// one of the runs no launch was seen and not everything was collected, 2 bad input.
CLI::App* AddCompare(CLI::App& app, int& exit_code);

}  // namespace hotproof::cli
