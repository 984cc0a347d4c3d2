// Two runs side by side: launches, path and GPU time of each GEMM shape, path and kind, and what
// keeps them from being compared. Pure; any thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analyzers/coverage.h"
#include "analyzers/process_analysis.h"
#include "proto/report.pb.h"

namespace hotproof::analyzers {

struct ComparedRun {
  std::string name;  // as the user gave it
  std::span<const ProcessAnalysis> processes;
  const Coverage& coverage;
  std::vector<std::string> caveats = {};  // further ones, to be said of it
};

// GEMMs are the same if M, N, K, batch and operand types are, an M that is not known being one of
// its own; where N or K is not known, if the kernel is, too. Longest time of both together first.
report::Comparison CompareRuns(const ComparedRun& before, const ComparedRun& after,
                               PhaseChoice phase);

}  // namespace hotproof::analyzers
