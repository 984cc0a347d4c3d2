// What an assertion report says beside its verdicts of what was asked: what may have been meant,
// and what the answer leaves out because nobody knows what it is. Used by expectations.cc. Pure.
#pragma once

#include <span>

#include "analyzers/expectations.h"
#include "analyzers/process_analysis.h"
#include "proto/report.pb.h"

namespace hotproof::analyzers {

// Adds notes to `report`, and those that may change what one makes of a PASS to its warnings, too.
// `launched`: the processes that launched a kernel.
void AddAsides(const CompiledExpectations& expectations,
               std::span<const ProcessAnalysis* const> launched, report::AssertReport* report);

}  // namespace hotproof::analyzers
