// `hotproof doctor`: what is here, what is missing, and which of CUPTI's known faults apply.
#pragma once

#include "CLI/App.hpp"

namespace hotproof::cli {

// Adds the subcommand. When it is chosen, parsing runs it and sets `exit_code`: 0 a traced run can
// work here, 3 it cannot (no GPU, driver or CUPTI), 1 something of hotproof's own is broken, 2
// wrong usage.
CLI::App* AddDoctor(CLI::App& app, int& exit_code);

}  // namespace hotproof::cli
