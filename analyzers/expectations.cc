#include "analyzers/expectations.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "analyzers/number.h"

namespace hotproof::analyzers {
namespace {

constexpr Verdict kPass = report::AssertReport::PASS;
constexpr Verdict kFail = report::AssertReport::FAIL;
constexpr Verdict kInconclusive = report::AssertReport::INCONCLUSIVE;

std::string BoundsText(const Bounds& bounds) {
  if (bounds.min && bounds.max && *bounds.min == *bounds.max) {
    return *bounds.min == 0 ? "never" : absl::StrCat("exactly ", *bounds.min);
  }
  if (bounds.max && *bounds.max == 0) return "never";
  std::vector<std::string> parts;
  if (bounds.min) parts.push_back(absl::StrCat("at least ", *bounds.min));
  if (bounds.max) parts.push_back(absl::StrCat("at most ", *bounds.max));
  return absl::StrJoin(parts, " and ");
}

// The checks that one expectation makes of one tally.
class Checker {
 public:
  explicit Checker(const CompiledExpectation& expectation) : expectation_(expectation) {}

  std::vector<report::Check> Check(const Tally& tally,
                                   std::span<const ProcessAnalysis* const> processes) const {
    std::vector<report::Check> checks;
    const Bounds& bounds = expectation_.bounds;
    if (bounds.min || bounds.max) {
      checks.push_back(Make(tally, processes, DecideLaunches(bounds, tally.selected), "launches",
                            BoundsText(bounds), absl::StrCat(tally.selected.launches)));
      if (tally.selected.possible > 0) {
        const std::string unknown = absl::StrCat(
            tally.selected.possible, " more launches of unknown ", Unknown(), " may belong to it");
        AddReason(unknown, &checks.back());
        if (expectation_.selection.code) {
          AddReason(expectation_.selection.code->why_incomplete, &checks.back());
        }
      }
    }
    if (expectation_.share) {
      const auto all = static_cast<double>(tally.selected.launches + tally.others.launches);
      checks.push_back(Make(
          tally, processes,
          DecideShare(*expectation_.share, tally.selected, tally.others, tally.possible_in_whole),
          "share of launches", expectation_.share_text,
          all == 0 ? absl::StrCat("no such ", Whole())
                   : absl::StrFormat("%.4f (%d of %.0f %s)", tally.selected.launches / all,
                                     tally.selected.launches, all, Whole())));
      const uint64_t possible = tally.selected.possible + tally.others.possible;
      if (possible > 0) {
        AddReason(absl::StrCat(possible, " launches of unknown ", Unknown(), " may change it"),
                  &checks.back());
      }
    }
    if (expectation_.time_share) {
      checks.push_back(Make(tally, processes,
                            DecideTimeShare(*expectation_.time_share, tally.times,
                                            tally.selected_ns, tally.possible_ns, tally.all_ns),
                            "share of GPU time", expectation_.time_share_text,
                            tally.all_ns == 0
                                ? "no execution observed"
                                : absl::StrFormat("%.4f", tally.selected_ns / tally.all_ns)));
      if (tally.possible_ns > 0) {
        AddReason(absl::StrCat(tally.selected.possible, " launches of unknown ", Unknown(),
                               " may change it"),
                  &checks.back());
      }
    }
    return checks;
  }

 private:
  // What may be unknown of a launch so that it counts as possible.
  std::string Unknown() const {
    const Selection& selection = expectation_.selection;
    std::vector<std::string> unknown;
    if (selection.shape) unknown.push_back("shape");
    if (selection.code) unknown.push_back("cubin");
    if (selection.range) unknown.push_back("range");
    return absl::StrJoin(unknown, " or ");
  }

  // What a share is taken of.
  std::string Whole() const {
    const std::optional<catalog::Kind>& kind = expectation_.selection.kind;
    if (!kind) return "launches";
    return *kind == catalog::Kind::kGemm
               ? "GEMMs"
               : absl::StrCat("launches of kind ", std::string(catalog::KindName(*kind)));
  }

  report::Check Make(const Tally& tally, std::span<const ProcessAnalysis* const> processes,
                     Verdict verdict, const std::string& quantity, const std::string& expected,
                     const std::string& got) const {
    report::Check check;
    check.set_verdict(verdict);
    check.set_expectation(expectation_.name.empty()
                              ? absl::StrCat(quantity, " of ", expectation_.selection.Text())
                              : absl::StrCat(expectation_.name, ": ", quantity));
    check.set_expected(expected);
    check.set_got(got);
    if (tally.phased) check.set_steady_launches(Number(tally.steady));
    check.set_warmup_launches(Number(tally.phased ? tally.warmup : tally.warmup + tally.steady));
    check.set_captured_nodes(Number(tally.captured));
    if (processes.size() == 1) {
      check.set_pid(processes[0]->header().pid());
      check.set_process(processes[0]->name());
    } else {
      check.set_process(absl::StrCat("all ", processes.size(), " processes together"));
    }
    if (verdict == kInconclusive) AddReason(tally.why_inconclusive, &check);
    if (verdict != kPass) AddNear(expectation_.selection, processes, &check);
    return check;
  }

  static void AddReason(const std::string& reason, report::Check* check) {
    if (check->verdict() == kPass || reason.empty()) return;
    const bool states_nothing = reason == "COMPLETE" || reason == "COUNTED";
    if (check->reason().empty()) {
      if (!states_nothing) check->set_reason(reason);
    } else {
      check->set_reason(absl::StrCat(check->reason(), "; ", reason));
    }
  }

  const CompiledExpectation& expectation_;
};

// A GPU process without a trace, or one that could not be observed, may have launched more.
void Weaken(const std::string& why, Tally* tally) {
  tally->selected.evidence = Weaker(tally->selected.evidence, Evidence::kLowerBound);
  tally->others.evidence = Weaker(tally->others.evidence, Evidence::kLowerBound);
  tally->times = Weaker(tally->times, Evidence::kLowerBound);
  tally->why_inconclusive = tally->why_inconclusive.empty() ||
                                    tally->why_inconclusive == "COMPLETE" ||
                                    tally->why_inconclusive == "COUNTED"
                                ? why
                                : absl::StrCat(why, "; ", tally->why_inconclusive);
}

bool IsCollected(const ProcessAnalysis& process) {
  return process.completeness.completeness.state() != report::Completeness::NOT_COLLECTED;
}

// That it launched nothing must be known, too: one that still runs may have launched what no
// counter tells.
bool IsIdle(const ProcessAnalysis& process) {
  return IsCollected(process) && process.completeness.counts_all == Evidence::kExact;
}

bool Launched(const ProcessAnalysis& process) {
  return process.completeness.completeness.expected() > 0;
}

std::string CoverageGap(const Coverage& coverage) {
  std::vector<std::string> missing;
  for (const trace::Process& process : coverage.missing) {
    missing.push_back(absl::StrCat("pid ", process.pid()));
  }
  if (missing.empty()) return "hotproof run was stopped early: later processes are unknown";
  return absl::StrCat("GPU process without a trace: ", absl::StrJoin(missing, ", "));
}

class Judge {
 public:
  Judge(const CompiledExpectations& expectations, std::span<const ProcessAnalysis> processes,
        const Coverage& coverage)
      : expectations_(expectations), coverage_(coverage) {
    for (const ProcessAnalysis& process : processes) {
      if (Launched(process)) {
        launched_.push_back(&process);
      } else if (IsIdle(process)) {
        idle_.push_back(&process);
      } else {
        blind_.push_back(&process);
      }
    }
  }

  report::AssertReport Run() {
    report_.set_verdict(kPass);
    report_.set_phase(expectations_.phase == PhaseChoice::kAll ? "all" : "steady");
    for (const CompiledExpectation& expectation : expectations_.expect) CheckOne(expectation);
    if (expectations_.processes) CheckProcesses(*expectations_.processes);
    AddNotes();
    return std::move(report_);
  }

 private:
  Tally TallyIn(const CompiledExpectation& expectation, const ProcessAnalysis& process) const {
    Tally tally = TallyOf(expectation.selection, process, expectations_.phase);
    if (coverage_.partial()) Weaken(CoverageGap(coverage_), &tally);
    return tally;
  }

  void Conclude(Verdict verdict) { report_.set_verdict(Both(report_.verdict(), verdict)); }

  void Keep(std::vector<report::Check> checks) {
    for (report::Check& check : checks) *report_.add_checks() = std::move(check);
  }

  static Verdict AllOf(const std::vector<report::Check>& checks) {
    Verdict verdict = kPass;
    for (const report::Check& check : checks) verdict = Both(verdict, check.verdict());
    return verdict;
  }

  void CheckOne(const CompiledExpectation& expectation) {
    const Checker checker(expectation);
    if (launched_.empty() && blind_.empty()) {
      report::Check check;
      check.set_verdict(kInconclusive);
      check.set_expectation(expectation.name.empty() ? expectation.selection.Text()
                                                     : expectation.name);
      check.set_expected(BoundsText(expectation.bounds));
      check.set_got("nothing");
      check.set_reason(idle_.empty() ? "no trace" : "no kernel launch in any process");
      Keep({std::move(check)});
      Conclude(kInconclusive);
      return;
    }
    switch (expectation.processes) {
      case expectations::SUM:
        return CheckSum(expectation, checker);
      case expectations::ANY:
        return CheckAny(expectation, checker);
      default:
        return CheckEvery(expectation, checker);
    }
  }

  void CheckEvery(const CompiledExpectation& expectation, const Checker& checker) {
    for (const auto* group : {&launched_, &blind_}) {
      for (const ProcessAnalysis* process : *group) {
        std::vector<report::Check> checks =
            checker.Check(TallyIn(expectation, *process), std::span(&process, 1));
        Conclude(AllOf(checks));
        Keep(std::move(checks));
      }
    }
  }

  // The line of the process that does best stands for all.
  void CheckAny(const CompiledExpectation& expectation, const Checker& checker) {
    Verdict best = kFail;
    std::vector<report::Check> best_checks;
    for (const auto* group : {&launched_, &blind_}) {
      for (const ProcessAnalysis* process : *group) {
        std::vector<report::Check> checks =
            checker.Check(TallyIn(expectation, *process), std::span(&process, 1));
        const Verdict verdict = AllOf(checks);
        if (best_checks.empty() || (verdict != best && Either(verdict, best) == verdict)) {
          best = verdict;
          best_checks = std::move(checks);
        }
      }
    }
    // A process that was not seen could be the one.
    if (best == kFail && coverage_.partial()) {
      best = kInconclusive;
      for (report::Check& check : best_checks) {
        if (check.verdict() != kFail) continue;
        check.set_verdict(kInconclusive);
        check.set_reason(CoverageGap(coverage_));
      }
    }
    Conclude(best);
    Keep(std::move(best_checks));
  }

  void CheckSum(const CompiledExpectation& expectation, const Checker& checker) {
    if (launched_.empty()) return CheckEvery(expectation, checker);
    Tally sum = TallyIn(expectation, *launched_.front());
    for (size_t i = 1; i < launched_.size(); ++i) sum.Add(TallyIn(expectation, *launched_[i]));
    if (!blind_.empty()) Weaken("a process was not collected in full", &sum);
    std::vector<report::Check> checks = checker.Check(sum, launched_);
    Conclude(AllOf(checks));
    Keep(std::move(checks));
  }

  void CheckProcesses(uint32_t expected) {
    const size_t got = launched_.size();
    const bool exact = blind_.empty() && !coverage_.partial();
    Verdict verdict = got == expected && exact ? kPass : kFail;
    if (!exact && got <= expected) verdict = kInconclusive;
    if (got == 0) verdict = kInconclusive;
    report::Check check;
    check.set_verdict(verdict);
    check.set_expectation("processes with a kernel launch");
    check.set_expected(absl::StrCat("exactly ", expected));
    check.set_got(absl::StrCat(got));
    if (verdict == kInconclusive) {
      check.set_reason(!blind_.empty()       ? "a process was not collected in full"
                       : coverage_.partial() ? CoverageGap(coverage_)
                                             : "no kernel launch in any process");
    }
    Conclude(verdict);
    Keep({std::move(check)});
  }

  // A path means its GEMMs. Where it had none, what else it ran may be what was meant.
  void NoteOtherKinds(const CompiledExpectation& expectation) {
    if (!expectation.selection.kind_implied || !expectation.selection.path) return;
    Selection any_kind = expectation.selection;
    any_kind.kind.reset();
    uint64_t gemms = 0, launches = 0;
    for (const ProcessAnalysis* process : launched_) {
      gemms += TallyOf(expectation.selection, *process, expectations_.phase).selected.launches;
      launches += TallyOf(any_kind, *process, expectations_.phase).selected.launches;
    }
    if (gemms > 0 || launches == 0) return;
    report_.add_notes(absl::StrCat("path ", catalog::PathName(*any_kind.path).data(),
                                   " launched no GEMM, but ", launches,
                                   " kernels of other kinds: --kind any counts them"));
  }

  void AddNotes() {
    auto note = [this](const std::string& text) { report_.add_notes(text); };
    for (const ProcessAnalysis* process : idle_) {
      note(absl::StrCat("not judged: pid ", process->header().pid(), " ", process->name(),
                        " launched no kernel"));
    }
    for (const CompiledExpectation& expectation : expectations_.expect) NoteOtherKinds(expectation);
    if (coverage_.state == report::Process::NOT_CHECKED) {
      note("coverage not checked: no manifest of hotproof run");
    } else if (coverage_.partial()) {
      note(absl::StrCat("not judged: ", CoverageGap(coverage_)));
    }
  }

  const CompiledExpectations& expectations_;
  const Coverage& coverage_;
  std::vector<const ProcessAnalysis*> launched_, idle_, blind_;
  report::AssertReport report_;
};

}  // namespace

report::AssertReport CheckExpectations(const CompiledExpectations& expectations,
                                       std::span<const ProcessAnalysis> processes,
                                       const Coverage& coverage) {
  return Judge(expectations, processes, coverage).Run();
}

}  // namespace hotproof::analyzers
