// `hotproof assert`: holds a run to expectations, with an exit code for CI.
#pragma once

#include <CLI/App.hpp>

namespace hotproof::cli {

// Adds the subcommand. When it is chosen, parsing runs it and sets `exit_code`: 0 PASS, 1 FAIL, 3
// INCONCLUSIVE, 2 for bad input, which is never a PASS.
CLI::App* AddAssert(CLI::App& app, int& exit_code);

}  // namespace hotproof::cli
