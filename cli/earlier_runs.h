// Whether a folder without a manifest may hold several runs: `hotproof run` refuses a folder that
// is used, the library alone (LD_PRELOAD and HOTPROOF_OUT, as of a service that starts anew) cannot
// know.
#pragma once

#include <optional>
#include <vector>

#include "analyzers/process_analysis.h"
#include "proto/report.pb.h"

namespace hotproof::cli {

inline constexpr char kRunsAdded[] = "runs_added";  // the problem's name in reports

// For each folder in which a process began when all that were there before had ended, as far as
// their traces tell: that they may be two runs. Processes of one run that follow each other look
// the same.
std::vector<report::Problem> RunsInOneFolder(
    const std::vector<analyzers::ProcessAnalysis>& processes);

}  // namespace hotproof::cli
