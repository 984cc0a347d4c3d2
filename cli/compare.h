// `hotproof compare`: what differs between two runs.
#pragma once

#include <CLI/App.hpp>

namespace hotproof::cli {

// Adds the subcommand. When it is chosen, parsing runs it and sets `exit_code`: 0 compared, 3 one of the
// runs has nothing to compare, 2 bad input.
CLI::App* AddCompare(CLI::App& app, int& exit_code);

}  // namespace hotproof::cli
