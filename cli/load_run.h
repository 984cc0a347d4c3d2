// Reads and analyses the traces that a command line names.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzers/coverage.h"
#include "analyzers/process_analysis.h"

namespace hotproof::cli {

inline constexpr char kRuleUnused[] = "rule_unused";  // the problem's name in reports

struct LoadedRun {
  std::vector<analyzers::ProcessAnalysis> processes;  // sorted by trace path
  analyzers::Coverage coverage;
};

// `paths`: .hpt files and folders, held to the manifest of their folder; a process whose trace is there
// but was not named is not judged. A folder without a trace is no error: the run is then empty. Errors
// are one line: what, where, what to do.
// `rules`: a file of rules tried before the built-in ones (catalog/classifier.h), or empty.
// `counts_only`: as AnalyzeOptions, for every trace whose heads tell them; the others are read whole.
absl::StatusOr<LoadedRun> LoadRun(const std::vector<std::string>& paths, const std::string& rules,
                                  bool counts_only = false);

// Of at least one process something was.
bool AnyCollected(const LoadedRun& run);

// What to say where `paths` hold no trace; where folders in them do, which.
report::Problem NoTraceFound(const std::vector<std::string>& paths);

}  // namespace hotproof::cli
