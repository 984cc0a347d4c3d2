// `hotproof classify`: what kernels' names say about them.
#pragma once

#include "CLI/App.hpp"

namespace hotproof::cli {

// Adds the subcommand. When it is chosen, parsing runs it and sets `exit_code`: 0, or 2 when the
// rules or the names could not be read. Writes to stdout, one record per name in the order given.
CLI::App* AddClassify(CLI::App& app, int& exit_code);

}  // namespace hotproof::cli
