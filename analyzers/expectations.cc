#include "analyzers/expectations.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzers/asides.h"
#include "analyzers/expectation_check.h"
#include "analyzers/loss_table.h"
#include "analyzers/tally.h"

namespace hotproof::analyzers {
namespace {

constexpr Verdict kPass = report::AssertReport::PASS;
constexpr Verdict kFail = report::AssertReport::FAIL;
constexpr Verdict kInconclusive = report::AssertReport::INCONCLUSIVE;

// A GPU process without a trace, or one that could not be observed, may have launched more.
void Weaken(const Why& why, Tally* tally) {
  tally->selected.evidence = Weaker(tally->selected.evidence, Evidence::kLowerBound);
  tally->in_share.evidence = Weaker(tally->in_share.evidence, Evidence::kLowerBound);
  tally->others.evidence = Weaker(tally->others.evidence, Evidence::kLowerBound);
  tally->times = Weaker(tally->times, Evidence::kLowerBound);
  for (Why* of : {&tally->why_counts, &tally->why_times}) {
    of->Add(why.text, why.advice, "");
    of->ids.insert(of->ids.end(), why.ids.begin(), why.ids.end());
  }
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

// Why nothing is known of that one.
Why MissingWhy(const trace::Process& missing) {
  const LossKind& kind = LossOf(FindingOf(missing));
  const bool is_folder = IsFolder(missing);
  return {is_folder ? NoTraceOf(missing.executable()) : kind.meaning,
          is_folder ? kNoTraceInAdvice : kind.advice,
          {kind.name}};
}

Why CoverageGap(const Coverage& coverage) {
  Why gap;
  std::map<Finding, std::vector<std::string>> pids;
  for (const trace::Process& process : coverage.missing) {
    if (!IsFolder(process)) {
      pids[FindingOf(process)].push_back(absl::StrCat("pid ", process.pid()));
      continue;
    }
    const Why why = MissingWhy(process);
    gap.Add(why.text, why.advice, why.ids[0]);
  }
  for (const trace::Process& process : coverage.still_running)
    pids[Finding::kRanOn].push_back(absl::StrCat("pid ", process.pid()));
  for (const uint32_t pid : coverage.not_listed)
    pids[Finding::kNotListed].push_back(absl::StrCat("pid ", pid));
  const auto add = [&gap](Finding finding, const std::vector<std::string>& of) {
    const LossKind& kind = LossOf(finding);
    gap.Add(absl::StrCat(kind.meaning, of.empty() ? "" : ": ", absl::StrJoin(of, ", ")),
            kind.advice, kind.name);
  };
  if (coverage.unfinished) pids[Finding::kManifestUnfinished] = {};
  for (const auto& [finding, of] : pids) add(finding, of);
  if (gap.text.empty()) add(Finding::kNoHeader, {});
  return gap;
}

// Launches that were not seen could make it fail.
bool HasUpperBound(const CompiledExpectation& expectation) {
  const auto is_most = [](const std::optional<RatioBound>& bound) {
    return bound && (bound->op == RatioBound::Op::kLessEqual || bound->op == RatioBound::Op::kLess);
  };
  return expectation.bounds.max || is_most(expectation.share) || is_most(expectation.time_share);
}

const Why kBlind{"a process was not collected in full",
                 "its report says why (hotproof report)",
                 {"not_collected"}};
const Why kNothingLaunched{
    "no kernel launch in any process",
    "trace the process that does the work: hotproof report lists those there are",
    {"no_launch"}};

void Explain(const Why& why, report::Check* check) {
  check->set_reason(why.text);
  check->set_advice(why.advice);
  for (const std::string& id : why.ids) check->add_reason_ids(id);
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
    return TallyOf(expectation.selection, process, expectations_.phase);
  }
  std::vector<report::Check> ChecksIn(const CompiledExpectation& expectation,
                                      const ProcessAnalysis* process) const {
    return ChecksOf(expectation, TallyIn(expectation, *process), std::span(&process, 1));
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
    if (launched_.empty() && blind_.empty() && coverage_.missing.empty()) {
      Why why = kNothingLaunched;
      if (idle_.empty())
        why = {"no trace", "run the program under hotproof run -o DIR -- COMMAND", {"no_trace"}};
      return KeepUnknown(expectation, why, {}, "");
    }
    switch (expectation.processes) {
      case expectations::SUM:
        return CheckSum(expectation);
      case expectations::ANY:
        return CheckAny(expectation);
      default:
        return CheckEvery(expectation);
    }
  }

  // Of a process of which nothing is known.
  void KeepUnknown(const CompiledExpectation& expectation, const Why& why, uint32_t pid,
                   const std::string& process) {
    std::vector<report::Check> checks = ChecksAsked(expectation);
    for (report::Check& check : checks) {
      check.set_verdict(kInconclusive);
      check.set_got("not known");
      check.set_pid(pid);
      check.set_process(process);
      Explain(why, &check);
    }
    Conclude(kInconclusive);
    Keep(std::move(checks));
  }

  // A process that may be there and was not seen is one of them.
  void CheckEvery(const CompiledExpectation& expectation) {
    for (const auto* group : {&launched_, &blind_}) {
      for (const ProcessAnalysis* process : *group) {
        std::vector<report::Check> checks = ChecksIn(expectation, process);
        Conclude(AllOf(checks));
        Keep(std::move(checks));
      }
    }
    if (!coverage_.partial()) return;
    Why why = CoverageGap(coverage_);
    absl::StrAppend(&why.advice, why.advice.empty() ? "" : "; ",
                    "where one process is enough, --processes any");
    for (const trace::Process& missing : coverage_.missing) {
      why.text = MissingWhy(missing).text;
      KeepUnknown(expectation, why, missing.pid(),
                  ProcessName(missing.executable(),
                              {missing.arguments().begin(), missing.arguments().end()}));
    }
    if (!coverage_.missing.empty()) return;
    // One that launched nothing until `run` ended is none of those that are judged, but for what it
    // may launch that should not be.
    const bool unseen = !coverage_.not_listed.empty();
    if (unseen || coverage_.unfinished || coverage_.still_running.empty() ||
        HasUpperBound(expectation))
      KeepUnknown(expectation, why, 0, unseen ? "processes not seen" : "later processes");
  }

  // The line of the process that does best stands for all.
  void CheckAny(const CompiledExpectation& expectation) {
    Verdict best = kFail;
    std::vector<report::Check> best_checks;
    for (const auto* group : {&launched_, &blind_}) {
      for (const ProcessAnalysis* process : *group) {
        std::vector<report::Check> checks = ChecksIn(expectation, process);
        const Verdict verdict = AllOf(checks);
        if (best_checks.empty() || (verdict != best && Either(verdict, best) == verdict)) {
          best = verdict;
          best_checks = std::move(checks);
        }
      }
    }
    if (best_checks.empty()) return KeepUnknown(expectation, CoverageGap(coverage_), 0, "");
    // A process that was not seen could be the one.
    if (best == kFail && coverage_.partial()) {
      best = kInconclusive;
      for (report::Check& check : best_checks) {
        if (check.verdict() != kFail) continue;
        check.set_verdict(kInconclusive);
        Explain(CoverageGap(coverage_), &check);
      }
    }
    Conclude(best);
    Keep(std::move(best_checks));
  }

  void CheckSum(const CompiledExpectation& expectation) {
    if (launched_.empty()) return CheckEvery(expectation);
    Tally sum = TallyIn(expectation, *launched_.front());
    for (size_t i = 1; i < launched_.size(); ++i) sum.Add(TallyIn(expectation, *launched_[i]));
    if (coverage_.partial()) Weaken(CoverageGap(coverage_), &sum);
    if (!blind_.empty()) Weaken(kBlind, &sum);
    std::vector<report::Check> checks = ChecksOf(expectation, sum, launched_);
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
    check.set_expected_min(expected);
    check.set_expected_max(expected);
    check.set_got_value(static_cast<double>(got));
    if (verdict == kInconclusive) {
      Explain(!blind_.empty()       ? kBlind
              : coverage_.partial() ? CoverageGap(coverage_)
                                    : kNothingLaunched,
              &check);
    }
    Conclude(verdict);
    Keep({std::move(check)});
  }

  void Warn(const std::string& text) {
    report_.add_notes(text);
    report_.add_warnings(text);
  }

  void AddNotes() {
    for (const ProcessAnalysis* process : idle_) {
      report_.add_notes(absl::StrCat("not judged: pid ", process->pid(), " ", process->name(),
                                     " launched no kernel"));
    }
    AddAsides(expectations_, launched_, &report_);
    if (coverage_.state == report::Process::NOT_CHECKED) {
      Warn(
          "coverage not checked: no manifest of hotproof run, so a process that left no trace is "
          "not "
          "known of (--expect-processes N counts those that did)");
    } else if (coverage_.partial()) {
      Warn(absl::StrCat("not judged: ", CoverageGap(coverage_).text));
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
