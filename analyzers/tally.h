// What a selection comes to in one process, or in several together. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzers/decision.h"
#include "analyzers/process_analysis.h"
#include "analyzers/selection.h"
#include "analyzers/what_ran.h"

namespace hotproof::analyzers {

// Why evidence decides less than it might, as sentences, and what to do.
struct Why {
  std::string text, advice;
  std::vector<std::string> ids;  // the names of loss_table.h

  void Add(const std::string& more, const std::string& more_advice, const std::string& id);
};

// What a selection got in one process or, added up, in all of them.
struct Tally {
  Observed selected;  // in the phase asked for
  // For a share: `in_share` of the selected are of the whole's kind, and `others` are what else is
  // of the whole's kind and shape. Selected launches of a kernel of unknown kind are possible.
  Observed in_share, others;
  uint64_t possible_in_whole = 0;  // of in_share.possible: others, if they are not selected
  uint64_t of_other_kinds = 0;     // selected launches that are not in in_share.launches
  Evidence times = Evidence::kExact;
  double selected_ns = 0, possible_ns = 0, all_ns = 0;
  PhaseChoice phase = PhaseChoice::kSteady;
  bool phased = true;
  uint64_t steady = 0, warmup = 0, captured = 0;
  uint64_t all_launches = 0;  // of any kernel, in the phase asked for
  Why why_counts, why_times;
  // Of the graphs that were replayed in the phase and hold a GEMM or one of the selected launches.
  std::vector<PerReplay> graphs;
  // Of those that were replayed and hold neither, but kernels of unknown kind.
  uint64_t other_graphs = 0, other_replays = 0;
  // Of what was selected, what those graphs launched, by the kernels' names.
  RanByName ran_in_replays;
  // By the kernels' names: what was selected, what of it counts in the share, and what else is in
  // the whole of the share and of all GPU time.
  RanByName ran_selected, ran_in_share, ran_beside_share, ran_beside;

  void Add(const Tally& other);
};

Tally TallyOf(const Selection& selection, const ProcessAnalysis& process, PhaseChoice phase);

}  // namespace hotproof::analyzers
