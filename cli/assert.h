// `hotproof assert`: holds a run to expectations, with an exit code for CI.
#pragma once

#include <CLI/App.hpp>
#include <string>

namespace hotproof::cli {

// Adds the subcommand. When it is chosen, parsing runs it and sets `exit_code`: 0 PASS, 1 FAIL, 3
// INCONCLUSIVE, 2 for bad input, which is never a PASS.
CLI::App* AddAssert(CLI::App& app, int& exit_code);

// What main() does of a command line for `assert` that does not parse, beside printing `what`: says so in
// the JUnit file, if one is named, so that one of an earlier run is not taken for this one's, and to GitHub,
// if its format is asked for.
void WrongUsageOfAssert(int argc, const char* const* argv, const std::string& what);

}  // namespace hotproof::cli
