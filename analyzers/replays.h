// The graphs of which a number of launches a replay is asked. Used by tally.cc and what_ran.cc.
// Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analyzers/decision.h"
#include "analyzers/process_analysis.h"
#include "analyzers/selection.h"
#include "analyzers/selection_match.h"

namespace hotproof::analyzers {

struct ReplayedGraph {
  uint32_t first_slot = 0, end_slot = 0;
  PerReplay launches;
  bool looked_at = false;         // it launches a GEMM or one of the selection
  bool has_unknown_kind = false;  // it launches a kernel of which nothing is known
};

// Those that were replayed in `phase`. `of_slot`: the selection's.
std::vector<ReplayedGraph> ReplayedGraphs(const ProcessAnalysis& process, PhaseChoice phase,
                                          std::span<const Membership> of_slot);

// By slot: whether it is of a graph that was replayed in `phase` and is looked at.
std::vector<bool> SlotsLookedAt(const Selection& selection, const ProcessAnalysis& process,
                                PhaseChoice phase);

}  // namespace hotproof::analyzers
