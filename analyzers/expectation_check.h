// The checks that one expectation makes of what one process launched, or several together. Used by
// expectations.cc. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analyzers/expectations.h"
#include "analyzers/tally.h"

namespace hotproof::analyzers {

// What is asked, without verdict and answer: a check for each bound, at least one. "launches of path custom",
// with the expectation's own name before it, if it has one; "exactly 256", "at least 1 and at most 5", "never".
std::vector<report::Check> ChecksAsked(const CompiledExpectation& expectation);

// The same, answered. A check that does not pass says why, what to do and what ran.
std::vector<report::Check> ChecksOf(const CompiledExpectation& expectation, const Tally& tally,
                                    std::span<const ProcessAnalysis* const> processes);

}  // namespace hotproof::analyzers
