// What `assert` checks: expectations in their textual form, compiled once (selections, bounds), and
// their verdicts over the processes of a run. Pure: no I/O. The decision itself is decision.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzers/coverage.h"
#include "analyzers/decision.h"
#include "analyzers/process_analysis.h"
#include "analyzers/selection.h"
#include "proto/expectations.pb.h"
#include "proto/report.pb.h"

namespace hotproof::analyzers {

struct CompiledExpectation {
  std::string name;
  Selection selection;
  Bounds bounds;
  std::optional<uint64_t> per_replay;
  std::optional<RatioBound> share, time_share;
  std::string share_text, time_share_text;
  expectations::Processes processes = expectations::EVERY;
};

struct CompiledExpectations {
  std::vector<CompiledExpectation> expect;
  std::optional<uint32_t> processes;
  PhaseChoice phase = PhaseChoice::kSteady;
};

// Errors (one line: what, where, what to do): no expectation, one without a bound or that could
// never fail, a bad pattern, path, kind, shape, share.
absl::StatusOr<CompiledExpectations> CompileExpectations(const expectations::Expectations& source);

report::AssertReport CheckExpectations(const CompiledExpectations& expectations,
                                       std::span<const ProcessAnalysis> processes,
                                       const Coverage& coverage);

}  // namespace hotproof::analyzers
