// The report of a run: every analyzer's message over all its processes.
#pragma once

#include <span>

#include "analyzers/coverage.h"
#include "analyzers/process_analysis.h"
#include "proto/report.pb.h"

namespace hotproof::analyzers {

// Rows add up: kernels and kinds to all launches and all busy time, GEMM rows to the kind gemm. If
// they did not, the report would say so in `problems` ("sums_disagree").
report::Report BuildReport(std::span<const ProcessAnalysis> processes, const Coverage& coverage,
                           PhaseChoice phase);

// Sums by kernel name of the whole run. Reads heads alone: analyses that are `counts_only` suffice.
report::Totals BuildTotals(std::span<const ProcessAnalysis> processes, const Coverage& coverage);

}  // namespace hotproof::analyzers
