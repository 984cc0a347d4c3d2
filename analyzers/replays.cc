#include "analyzers/replays.h"

#include <algorithm>

#include "analyzers/rows.h"

namespace hotproof::analyzers {

std::vector<ReplayedGraph> ReplayedGraphs(const ProcessAnalysis& process, PhaseChoice phase,
                                          std::span<const Membership> of_slot) {
  const TraceIndex& index = *process.index;
  std::vector<ReplayedGraph> replayed;
  for (uint32_t graph = 1; graph < index.tables().graphs.size(); ++graph) {
    ReplayedGraph of;
    of.first_slot = index.first_slot_of_graph(graph);
    of.end_slot = index.first_slot_of_graph(graph + 1);
    if (of.first_slot == of.end_slot) continue;
    of.launches.replays = LaunchesIn(process, of.first_slot, phase);
    if (of.launches.replays == 0) continue;
    for (uint32_t slot = of.first_slot; slot < of.end_slot; ++slot) {
      of.launches.selected += of_slot[slot] == Membership::kIn;
      of.launches.possible += of_slot[slot] == Membership::kPossible;
      const catalog::Kind kind = index.kind_of_site(index.site_of_slot(slot));
      of.looked_at |= kind == catalog::Kind::kGemm;
      of.has_unknown_kind |= kind == catalog::Kind::kOther;
    }
    of.looked_at |= of.launches.selected + of.launches.possible > 0;
    replayed.push_back(of);
  }
  return replayed;
}

std::vector<bool> SlotsLookedAt(const Selection& selection, const ProcessAnalysis& process,
                                PhaseChoice phase) {
  std::vector<bool> looked_at(process.index->slot_count());
  for (const ReplayedGraph& graph :
       ReplayedGraphs(process, phase, MembershipOfSlots(selection, *process.index))) {
    if (!graph.looked_at) continue;
    std::fill(looked_at.begin() + graph.first_slot, looked_at.begin() + graph.end_slot, true);
  }
  return looked_at;
}

}  // namespace hotproof::analyzers
