// Which layouts of a user's rules read no launch at all: by a misspelt rule or name, or a parameter
// too few, and without a word where the shapes stay unknown. Used by LoadRun.
#pragma once

#include <span>
#include <vector>

#include "analyzers/process_analysis.h"
#include "catalog/classifier.h"
#include "proto/catalog.pb.h"
#include "proto/report.pb.h"

namespace hotproof::cli {

// One for each layout of `rules` that was for no kernel that `processes`
// launch, or whose parameters are those of no launch. `classifier`: made of these rules.
std::vector<report::Problem> UnusedLayouts(const catalog::RuleSet& rules,
                                           const catalog::Classifier& classifier,
                                           std::span<const analyzers::ProcessAnalysis> processes);

}  // namespace hotproof::cli
