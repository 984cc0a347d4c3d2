// The kernels that a check names: those that were counted, or what ran in place of what was asked for.
// Used by expectation_check.cc. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "absl/container/btree_map.h"
#include "analyzers/process_analysis.h"
#include "analyzers/selection.h"
#include "proto/report.pb.h"

namespace hotproof::analyzers {

// Launches of one kernel, or of those of its sites that a list is about.
struct Ran {
  uint64_t launches = 0;            // in the phase asked for
  uint64_t steady = 0, warmup = 0;  // where unphased: one of the two
  double exclusive_ns = 0;          // in the phase asked for
};
using RanByName = absl::btree_map<std::string, Ran>;

// Appends the kernels with the most launches (or GPU time) first.
void AddLargest(const RanByName& ran, bool by_time, report::Check* check);

// Appends the kernels that ran where the selected ones did not, most similar first. `replays_in`:
// only what the graphs launched of which a number a replay is asked in that phase.
void AddNear(const Selection& selection, std::span<const ProcessAnalysis* const> processes,
             std::optional<PhaseChoice> replays_in, report::Check* check);

}  // namespace hotproof::analyzers
