// `hotproof run`: runs a command with the tracer preloaded and writes down which processes it had.
#pragma once

#include "CLI/App.hpp"

namespace hotproof::cli {

// Adds the subcommand. When it is chosen, parsing runs it and sets `exit_code`: the command's own,
// 128+n when signal n ended it, 127 when it could not be started, 2 when `run` itself could not
// begin.
CLI::App* AddRun(CLI::App& app, int& exit_code);

}  // namespace hotproof::cli
