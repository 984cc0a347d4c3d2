// Reads and analyses the traces that a command line names.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzers/coverage.h"
#include "analyzers/process_analysis.h"

namespace hotproof::cli {

struct LoadedRun {
  std::vector<analyzers::ProcessAnalysis> processes;  // sorted by trace path
  analyzers::Coverage coverage;
};

// `paths`: .hpt files, each judged as itself, and folders, each held to its manifest. A folder
// without a trace is no error: the run is then empty. Errors are one line: what, where, what to do.
// `counts_only`: as AnalyzeOptions, for every trace whose heads tell them; the others are read whole.
absl::StatusOr<LoadedRun> LoadRun(const std::vector<std::string>& paths, bool counts_only = false);

}  // namespace hotproof::cli
