#include "analyzers/expectation_check.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "analyzers/completeness.h"
#include "analyzers/number.h"
#include "analyzers/range_index.h"
#include "analyzers/what_ran.h"

namespace hotproof::analyzers {
namespace {

constexpr Verdict kFail = report::AssertReport::FAIL;
constexpr Verdict kInconclusive = report::AssertReport::INCONCLUSIVE;
constexpr double kNsPerMs = 1e6;

std::string BoundsText(const Bounds& bounds) {
  if (bounds.max && *bounds.max == 0) return "never";
  if (bounds.min && bounds.max && *bounds.min == *bounds.max)
    return absl::StrCat("exactly ", *bounds.min);
  std::vector<std::string> parts;
  if (bounds.min) parts.push_back(absl::StrCat("at least ", *bounds.min));
  if (bounds.max) parts.push_back(absl::StrCat("at most ", *bounds.max));
  return absl::StrJoin(parts, " and ");
}

// What a selection is of: "GEMM launches" where a path or shape asks for those.
std::string LaunchesText(const Selection& selection) {
  return selection.kind == catalog::Kind::kGemm && (selection.path || selection.shape)
             ? "GEMM launches"
             : "launches";
}

report::Check Ask(const CompiledExpectation& expectation, const std::string& quantity,
                  const std::string& expected) {
  report::Check check;
  const std::string what = absl::StrCat(quantity, " of ", expectation.selection.Text());
  check.set_expectation(expectation.name.empty() ? what : absl::StrCat(expectation.name, ": ", what));
  check.set_expected(expected);
  return check;
}

report::Check AskLaunches(const CompiledExpectation& expectation) {
  const Bounds& bounds = expectation.bounds;
  report::Check check = Ask(expectation, LaunchesText(expectation.selection), BoundsText(bounds));
  if (bounds.min) check.set_expected_min(Number(*bounds.min));
  if (bounds.max) check.set_expected_max(Number(*bounds.max));
  return check;
}

report::Check AskPerReplay(const CompiledExpectation& expectation) {
  const uint64_t expected = *expectation.per_replay;
  report::Check check =
      Ask(expectation, absl::StrCat(LaunchesText(expectation.selection), " a replay"),
          absl::StrCat("exactly ", expected));
  check.set_expected_min(Number(expected));
  check.set_expected_max(Number(expected));
  return check;
}

bool IsLeast(const RatioBound& bound) {
  return bound.op == RatioBound::Op::kGreaterEqual || bound.op == RatioBound::Op::kGreater;
}

report::Check AskRatio(const CompiledExpectation& expectation, const char* quantity,
                       const RatioBound& bound, const std::string& text) {
  report::Check check = Ask(expectation, quantity, text);
  if (IsLeast(bound)) {
    check.set_expected_min(bound.limit);
  } else {
    check.set_expected_max(bound.limit);
  }
  return check;
}

report::Check AskShare(const CompiledExpectation& expectation) {
  return AskRatio(expectation, "share of launches", *expectation.share, expectation.share_text);
}

report::Check AskTimeShare(const CompiledExpectation& expectation) {
  return AskRatio(expectation, "share of GPU time", *expectation.time_share,
                  expectation.time_share_text);
}

class Checker {
 public:
  Checker(const CompiledExpectation& expectation, const Tally& tally,
          std::span<const ProcessAnalysis* const> processes)
      : expectation_(expectation), tally_(tally), processes_(processes) {}

  std::vector<report::Check> Check() {
    if (expectation_.bounds.min || expectation_.bounds.max) CheckLaunches();
    if (expectation_.per_replay) CheckPerReplay();
    if (expectation_.share) CheckShare();
    if (expectation_.time_share) CheckTimeShare();
    return std::move(checks_);
  }

 private:
  void CheckLaunches() {
    const Bounds& bounds = expectation_.bounds;
    const Verdict decided = DecideLaunches(bounds, tally_.selected);
    // A phase in which nothing ran at all says nothing of what does not run in it.
    const bool empty = decided == report::AssertReport::PASS && tally_.all_launches == 0;
    report::Check& check = Add(AskLaunches(expectation_), empty ? kInconclusive : decided,
                               Known(absl::StrCat(tally_.selected.launches)));
    if (tally_.selected.evidence != Evidence::kNone)
      check.set_got_value(Number(tally_.selected.launches));
    Why why = tally_.why_counts;
    if (empty) {
      why.Add("no kernel at all was launched in this phase",
              "use --phase all, or trace until the program has served", "no_launch");
    }
    AddPossible(tally_.selected.possible, "may belong to it", &why);
    Explain(why, &check);
    const bool too_many = bounds.max && tally_.selected.launches > *bounds.max;
    ShowWhatRan(too_many ? &tally_.ran_selected : nullptr, &check, {});
  }

  void CheckPerReplay() {
    const uint64_t expected = *expectation_.per_replay;
    std::map<uint64_t, std::pair<uint64_t, uint64_t>, std::greater<>> by_count;  // graphs, replays
    uint64_t possible = 0;
    for (const PerReplay& graph : tally_.graphs) {
      ++by_count[graph.selected].first;
      by_count[graph.selected].second += graph.replays;
      possible += graph.possible;
    }
    std::vector<std::string> parts;
    for (const auto& [count, of] : by_count) {
      parts.push_back(absl::StrFormat("%d in each of %s replays of %d %s", count,
                                      WithThousands(static_cast<double>(of.second)), of.first,
                                      of.first == 1 ? "graph" : "graphs"));
    }
    report::Check& check = Add(AskPerReplay(expectation_),
                               DecidePerReplay(expected, tally_.selected.evidence, tally_.graphs),
                               Known(parts.empty() ? "no replay" : absl::StrJoin(parts, ", ")));
    if (by_count.size() == 1) check.set_got_value(Number(by_count.begin()->first));
    Why why = tally_.why_counts;
    if (tally_.graphs.empty() && why.text.empty()) {
      why.Add("no graph with a GEMM was replayed",
              absl::StrCat(tally_.phase == PhaseChoice::kAll ? "" : "use --phase all, or ",
                           "ask for --launches where a program makes no CUDA graphs"),
              "no_replay");
    }
    AddPossible(possible, "of these graphs may belong to it", &why);
    Explain(why, &check);
    const bool too_many = !by_count.empty() && by_count.begin()->first > expected;
    ShowWhatRan(too_many ? &tally_.ran_in_replays : nullptr, &check, {.replays = true});
  }

  void CheckShare() {
    const Observed& selected = tally_.in_share;
    const auto all = static_cast<double>(selected.launches + tally_.others.launches);
    // A kernel that was named for its share of GEMMs is meant to be one: 0.0000 would say that it
    // did not run.
    const bool not_of_kind = selected.launches == 0 && tally_.of_other_kinds > 0 &&
                             (expectation_.selection.kernel || expectation_.selection.code);
    const Verdict verdict = not_of_kind ? kInconclusive
                                        : DecideShare(*expectation_.share, selected, tally_.others,
                                                      tally_.possible_in_whole);
    const std::string beside =
        tally_.of_other_kinds == 0 || !expectation_.selection.share_kind
            ? ""
            : absl::StrCat("; ", tally_.of_other_kinds, " more of other kinds");
    std::string got = all == 0 ? absl::StrCat("no such ", Whole())
                               : absl::StrFormat("%.4f (%d of %.0f %s%s)", selected.launches / all,
                                                 selected.launches, all, Whole(), beside);
    got = not_of_kind ? "not known" : Known(got);
    report::Check& check = Add(AskShare(expectation_), verdict, got);
    if (all > 0 && !not_of_kind) check.set_got_value(selected.launches / all);
    Why why = tally_.why_counts;
    if (tally_.of_other_kinds > 0 && (not_of_kind || selected.possible > 0)) {
      why.Add(absl::StrCat(tally_.of_other_kinds, " of the selected launches are not known to be ",
                           Whole(), ", of which a share is taken"),
              "give --kind any (a share of all launches) or the kernel's own kind, or a rule that "
              "makes it a GEMM (docs/catalog.md)",
              "not_gemm");
    }
    AddPossible(tally_.selected.possible + tally_.others.possible, "may change it", &why);
    if (all == 0 && why.text.empty()) why.Add("there is nothing to take a share of", "", "");
    Explain(why, &check);
    if (not_of_kind) {
      AddLargest(tally_.ran_selected, /*by_time=*/false, &check);
    } else {
      ShowWhatRan(IsLeast(*expectation_.share) ? &tally_.ran_beside_share : &tally_.ran_in_share,
                  &check, {});
    }
  }

  void CheckTimeShare() {
    const double ratio = tally_.all_ns > 0 ? tally_.selected_ns / tally_.all_ns : 0;
    report::Check& check =
        Add(AskTimeShare(expectation_),
            DecideTimeShare(*expectation_.time_share, tally_.times, tally_.selected_ns,
                            tally_.possible_ns, tally_.all_ns),
            tally_.all_ns == 0
                ? "no execution observed"
                : absl::StrFormat("%.4f (%.3f of %.3f ms)", ratio, tally_.selected_ns / kNsPerMs,
                                  tally_.all_ns / kNsPerMs));
    if (tally_.all_ns > 0) check.set_got_value(ratio);
    Why why = tally_.why_times;
    if (tally_.possible_ns > 0) AddPossible(tally_.selected.possible, "may change it", &why);
    Explain(why, &check);
    ShowWhatRan(IsLeast(*expectation_.time_share) ? &tally_.ran_beside : &tally_.ran_selected,
                &check, {.by_time = true});
  }

  // What may be unknown of a launch so that it counts as possible.
  std::string Unknown() const {
    const Selection& selection = expectation_.selection;
    std::vector<std::string> unknown;
    if (selection.shape) unknown.push_back("shape");
    if (selection.code) unknown.push_back("cubin");
    if (selection.range) unknown.push_back("range");
    return absl::StrJoin(unknown, " or ");
  }

  void AddPossible(uint64_t possible, const char* may, Why* why) const {
    if (possible == 0) return;
    if (expectation_.selection.range && !expectation_.selection.shape && RangesReachedTheTracer()) {
      why->Add(absl::StrCat(possible, " more launches ", may,
                            ": not all is kept of the range they ran in ('(many)', or a name that was cut)"),
               "give ranges fewer or shorter names; docs/ranges.md says how much of them is kept",
               "unknown_range");
      return;
    }
    why->Add(
        absl::StrCat(possible, " more launches of unknown ", Unknown(), " ", may),
        expectation_.selection.shape ? "ask by --kernel or --path, which need no shape"
        : expectation_.selection.range
            ? "use NVTX or hotproof_range_push in the program, or trace it with run --torch-ops"
            : "",
        absl::StrCat("unknown_", absl::StrReplaceAll(Unknown(), {{" ", "_"}})));
    if (expectation_.selection.code && !expectation_.selection.code->why_incomplete.empty())
      why->Add(expectation_.selection.code->why_incomplete, "", "code_not_read");
  }

  bool RangesReachedTheTracer() const {
    return std::all_of(processes_.begin(), processes_.end(), [](const ProcessAnalysis* process) {
      return RangeIndex(*process->index).any_of_program();
    });
  }

  // What a share is taken of.
  std::string Whole() const {
    const std::optional<catalog::Kind> kind = expectation_.selection.WholeKind();
    if (!kind) return "launches";
    return *kind == catalog::Kind::kGemm
               ? "GEMMs"
               : absl::StrCat("launches of kind ", std::string(catalog::KindName(*kind)));
  }

  // Nothing was seen and that says nothing.
  bool Nothing() const {
    return tally_.steady + tally_.warmup == 0 &&
           std::all_of(processes_.begin(), processes_.end(), [](const ProcessAnalysis* process) {
             return process->completeness.completeness.state() ==
                    report::Completeness::NOT_COLLECTED;
           });
  }
  std::string Known(const std::string& got) const { return Nothing() ? "not known" : got; }

  report::Check& Add(report::Check asked, Verdict verdict, const std::string& got) {
    report::Check& check = checks_.emplace_back(std::move(asked));
    check.set_verdict(verdict);
    check.set_got(got);
    if (Nothing()) {
      // Zeros would be taken for counts.
    } else if (tally_.phased) {
      check.set_steady_launches(Number(tally_.steady));
      check.set_warmup_launches(Number(tally_.warmup));
    } else {
      check.set_unphased_launches(Number(tally_.warmup + tally_.steady));
    }
    check.set_captured_nodes(Number(tally_.captured));
    if (processes_.size() == 1) {
      check.set_pid(processes_[0]->pid());
      check.set_process(processes_[0]->name());
    } else {
      check.set_process(absl::StrCat("all ", processes_.size(), " processes together"));
    }
    return check;
  }

  // The kernels that a FAIL is about: those that were counted and are too many, what else has the
  // rest of a share that is too small, or (`culprits` null) what ran where too little of the
  // selection did.
  struct Which {
    bool by_time = false;
    bool replays = false;  // eager launches are nothing to the check
  };
  void ShowWhatRan(const RanByName* culprits, report::Check* check, Which which) {
    if (check->verdict() == kFail && culprits != nullptr) {
      AddLargest(*culprits, which.by_time, check);
    } else if (check->verdict() == kFail ||
               (check->verdict() == kInconclusive && tally_.selected.launches == 0)) {
      AddNear(expectation_.selection, processes_,
              which.replays ? std::optional(tally_.phase) : std::nullopt, check);
    }
  }

  static void Explain(const Why& why, report::Check* check) {
    if (check->verdict() != kInconclusive) return;
    check->set_reason(why.text);
    check->set_advice(why.advice);
    for (const std::string& id : why.ids) check->add_reason_ids(id);
  }

  const CompiledExpectation& expectation_;
  const Tally& tally_;
  const std::span<const ProcessAnalysis* const> processes_;
  std::vector<report::Check> checks_;
};

}  // namespace

std::vector<report::Check> ChecksAsked(const CompiledExpectation& expectation) {
  std::vector<report::Check> checks;
  if (expectation.bounds.min || expectation.bounds.max) checks.push_back(AskLaunches(expectation));
  if (expectation.per_replay) checks.push_back(AskPerReplay(expectation));
  if (expectation.share) checks.push_back(AskShare(expectation));
  if (expectation.time_share) checks.push_back(AskTimeShare(expectation));
  return checks;
}

std::vector<report::Check> ChecksOf(const CompiledExpectation& expectation, const Tally& tally,
                                    std::span<const ProcessAnalysis* const> processes) {
  return Checker(expectation, tally, processes).Check();
}

}  // namespace hotproof::analyzers
