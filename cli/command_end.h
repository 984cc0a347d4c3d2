// How the command of a run ended, by the manifest that `hotproof run` left: a server that died
// while it started shows no fallback, either. Used by report and assert, which say it and judge as
// before.
#pragma once

#include <string>
#include <vector>

#include "proto/report.pb.h"

namespace hotproof::cli {

// One for each run whose command ended by an exit code that is not 0; 130 and 143, as servers that
// were asked to stop have it, are none. `paths`: folders, or files in them. What cannot be read is
// left out.
std::vector<report::Problem> CommandsThatFailed(const std::vector<std::string>& paths);

}  // namespace hotproof::cli
