#include "analyzers/tally.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "analyzers/completeness.h"
#include "analyzers/loss_table.h"
#include "analyzers/replays.h"
#include "analyzers/rows.h"
#include "analyzers/selection_match.h"

namespace hotproof::analyzers {
namespace {

Evidence CountsEvidence(const ProcessAnalysis& process, PhaseChoice phase) {
  return phase == PhaseChoice::kAll ? process.completeness.counts_all
                                    : process.completeness.counts_steady;
}

// Without what was followed already or would not help.
std::string AdviceFor(bool boundary, const std::string& advice) {
  return boundary ? advice : absl::StrReplaceAll(advice, {{"use --phase all, or ", ""}});
}

// Why the evidence for counts (or times) is not exact; empty, if it is.
Why WhyUncertain(const ProcessAnalysis& process, PhaseChoice phase, bool of_times) {
  using report::Completeness;
  const Completeness& completeness = process.completeness.completeness;
  Why why;
  if (completeness.state() != Completeness::NOT_COLLECTED && phase == PhaseChoice::kSteady &&
      !process.index->phases().phased) {
    const LossKind& unphased = LossOf(Finding::kUnphased);
    why.Add(absl::StrCat("unphased: ", process.index->phases().detail), unphased.advice,
            unphased.name);
    return why;
  }
  if (!of_times && CountsEvidence(process, phase) == Evidence::kExact) return why;
  // Everything was counted, but a part of the trace that may say where serving begins is gone.
  const bool boundary = !of_times && process.completeness.counts_all == Evidence::kExact;
  for (const report::Reason& reason : completeness.reasons()) {
    if (!(of_times ? reason.affects_times() : reason.affects_counts())) continue;
    const auto& problems = process.completeness.problems;
    const auto problem = std::find_if(problems.begin(), problems.end(), [&](const auto& other) {
      return other.name() == reason.name() && other.detail() == reason.detail();
    });
    why.Add(reason.count() > 0
                ? absl::StrCat(reason.detail(), " (", WithThousands(reason.count()), ")")
                : reason.detail(),
            problem == problems.end() ? "" : AdviceFor(boundary, problem->advice()), reason.name());
  }
  if (of_times && completeness.state() == Completeness::COUNTED) {
    why.Add("launches were counted, their execution was not observed",
            "trace it with hotproof run --mode full, or ask for launches", "counted");
  }
  if (boundary) {
    why.text = absl::StrCat("the launches of the whole run are known, not which of them were while serving: ",
                            why.text);
  } else if (!why.text.empty() && completeness.state() != Completeness::COUNTED) {
    std::string state = Completeness::State_Name(completeness.state());
    why.text = absl::StrCat(absl::StrReplaceAll(state, {{"_", " "}}), ": ", why.text);
  }
  return why;
}

// What each replayed graph launches of the selection.
void AddReplays(const ProcessAnalysis& process, PhaseChoice phase,
                const std::vector<Membership>& of_slot, Tally* tally) {
  const TraceIndex& index = *process.index;
  for (const ReplayedGraph& graph : ReplayedGraphs(process, phase, of_slot)) {
    if (!graph.looked_at) {
      if (graph.has_unknown_kind) {
        ++tally->other_graphs;
        tally->other_replays += graph.launches.replays;
      }
      continue;
    }
    tally->graphs.push_back(graph.launches);
    for (uint32_t slot = graph.first_slot; slot < graph.end_slot; ++slot) {
      if (of_slot[slot] != Membership::kIn) continue;
      const uint32_t kernel = index.kernel_of_site(index.site_of_slot(slot));
      Ran& ran = tally->ran_in_replays[index.kernel(kernel).canonical];
      ran.launches += LaunchesIn(process, slot, phase);
      ran.steady += index.launches()[slot].steady;
      ran.warmup += index.launches()[slot].warmup;
    }
  }
}

void AddRan(const Ran& more, Ran* ran) {
  ran->launches += more.launches;
  ran->steady += more.steady;
  ran->warmup += more.warmup;
  ran->exclusive_ns += more.exclusive_ns;
}

void AddRan(const RanByName& more, RanByName* ran) {
  for (const auto& [name, of_name] : more) AddRan(of_name, &(*ran)[name]);
}

// What ran of `by_kernel`, by kernel id.
RanByName ByName(const TraceIndex& index, const std::vector<Ran>& by_kernel) {
  RanByName by_name;
  for (uint32_t id = 0; id < by_kernel.size(); ++id) {
    if (by_kernel[id].launches > 0) AddRan(by_kernel[id], &by_name[index.kernel(id).canonical]);
  }
  return by_name;
}

}  // namespace

void Why::Add(const std::string& more, const std::string& more_advice, const std::string& id) {
  absl::StrAppend(&text, text.empty() ? "" : "; ", more);
  if (advice.find(more_advice) == std::string::npos)
    absl::StrAppend(&advice, advice.empty() ? "" : "; ", more_advice);
  if (!id.empty()) ids.push_back(id);
}

void Tally::Add(const Tally& other) {
  selected.evidence = Weaker(selected.evidence, other.selected.evidence);
  selected.launches += other.selected.launches;
  selected.possible += other.selected.possible;
  in_share.evidence = Weaker(in_share.evidence, other.in_share.evidence);
  in_share.launches += other.in_share.launches;
  in_share.possible += other.in_share.possible;
  of_other_kinds += other.of_other_kinds;
  others.evidence = Weaker(others.evidence, other.others.evidence);
  others.launches += other.others.launches;
  others.possible += other.others.possible;
  times = Weaker(times, other.times);
  possible_in_whole += other.possible_in_whole;
  selected_ns += other.selected_ns;
  possible_ns += other.possible_ns;
  all_ns += other.all_ns;
  phased &= other.phased;
  steady += other.steady;
  warmup += other.warmup;
  captured += other.captured;
  all_launches += other.all_launches;
  AddRan(other.ran_selected, &ran_selected);
  AddRan(other.ran_in_share, &ran_in_share);
  AddRan(other.ran_beside_share, &ran_beside_share);
  AddRan(other.ran_beside, &ran_beside);
  if (why_counts.text.empty()) why_counts = other.why_counts;
  if (why_times.text.empty()) why_times = other.why_times;
}

Tally TallyOf(const Selection& selection, const ProcessAnalysis& process, PhaseChoice phase) {
  const TraceIndex& index = *process.index;
  const SiteMatcher matcher(selection, index);
  const std::vector<Membership> of_slot = MembershipOfSlots(selection, index);
  std::vector<Membership> in_whole(index.site_count());
  for (uint32_t site = 0; site < index.site_count(); ++site) in_whole[site] = matcher.OfWhole(site);
  Tally tally;
  tally.phase = phase;
  tally.phased = index.phases().phased;
  tally.selected.evidence = tally.in_share.evidence = tally.others.evidence =
      CountsEvidence(process, phase);
  tally.times =
      phase == PhaseChoice::kSteady && !tally.phased ? Evidence::kNone : process.completeness.times;
  tally.why_counts = WhyUncertain(process, phase, /*of_times=*/false);
  tally.why_times = WhyUncertain(process, phase, /*of_times=*/true);
  std::vector<Ran> selected(index.kernel_count()), in_share = selected, beside_share = selected,
                                                   beside = selected;
  for (uint32_t slot = 0; slot < index.slot_count(); ++slot) {
    const uint32_t site = index.site_of_slot(slot);
    const uint64_t launches = LaunchesIn(process, slot, phase);
    const auto exclusive_ns = static_cast<double>(TimesIn(process, slot, phase).exclusive_ns);
    tally.all_ns += exclusive_ns;
    tally.all_launches += launches;
    const auto add_to = [&](std::vector<Ran>& ran) {
      Ran& of_kernel = ran[index.kernel_of_site(site)];
      of_kernel.launches += launches;
      of_kernel.steady += index.launches()[slot].steady;
      of_kernel.warmup += index.launches()[slot].warmup;
      of_kernel.exclusive_ns += exclusive_ns;
    };
    const catalog::Kind kind = index.kind_of_site(site);
    const bool of_share_kind = !selection.share_kind || kind == *selection.share_kind;
    // A kernel that is asked for by its name or origin may be of the share's kind, if its own is
    // unknown.
    const bool may_be_of_share_kind =
        kind == catalog::Kind::kOther && (selection.kernel || selection.code);
    const Membership member = of_slot[slot];
    if (member == Membership::kIn) {
      tally.selected.launches += launches;
      tally.selected_ns += exclusive_ns;
      tally.steady += index.launches()[slot].steady;
      tally.warmup += index.launches()[slot].warmup;
      tally.captured += index.IsGraphSlot(slot) ? 1 : 0;
      add_to(selected);
      if (of_share_kind) {
        tally.in_share.launches += launches;
        add_to(in_share);
      } else {
        tally.of_other_kinds += launches;
        if (may_be_of_share_kind) tally.in_share.possible += launches;
      }
    } else if (member == Membership::kPossible) {
      tally.selected.possible += launches;
      tally.possible_ns += exclusive_ns;
      if (of_share_kind || may_be_of_share_kind) tally.in_share.possible += launches;
      // An unknown shape alone puts a launch into the whole only if it is selected.
      const bool unknown_beside_shape = selection.code || selection.range;
      if (in_whole[site] == Membership::kIn ||
          (in_whole[site] == Membership::kPossible && unknown_beside_shape)) {
        tally.possible_in_whole += launches;
      }
    } else if (in_whole[site] == Membership::kIn) {
      tally.others.launches += launches;
      add_to(beside_share);
    } else if (in_whole[site] == Membership::kPossible) {
      tally.others.possible += launches;
    }
    if (member == Membership::kOut) add_to(beside);
  }
  tally.ran_selected = ByName(index, selected);
  tally.ran_in_share = ByName(index, in_share);
  tally.ran_beside_share = ByName(index, beside_share);
  tally.ran_beside = ByName(index, beside);
  AddReplays(process, phase, of_slot, &tally);
  return tally;
}

}  // namespace hotproof::analyzers
