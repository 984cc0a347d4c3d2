#include "analyzers/asides.h"

#include <algorithm>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzers/hints.h"
#include "analyzers/late_capture.h"
#include "analyzers/tally.h"

namespace hotproof::analyzers {
namespace {

class Asides {
 public:
  Asides(const CompiledExpectations& expectations, std::span<const ProcessAnalysis* const> launched,
         report::AssertReport* report)
      : expectations_(expectations), launched_(launched), report_(report) {}

  void Add() {
    for (const CompiledExpectation& expectation : expectations_.expect) {
      WarnOfOtherKinds(expectation);
      AddHints(expectation.selection);
      WarnOfOtherGraphs(expectation);
    }
    NoteUnknownKinds();
    WarnOfUnknownPaths();
    WarnOfLateCaptures();
    NoteEmptyPhases();
  }

 private:
  // Launches of the selection if GEMMs were not meant, by kind.
  std::map<std::string, uint64_t> OtherKinds(const Selection& selection) const {
    std::map<std::string, uint64_t> launches;
    for (int kind = 0; kind <= static_cast<int>(catalog::Kind::kElementwise); ++kind) {
      Selection of_kind = selection;
      of_kind.kind = static_cast<catalog::Kind>(kind);
      if (*of_kind.kind == catalog::Kind::kGemm) continue;
      for (const ProcessAnalysis* process : launched_) {
        const Tally tally = TallyOf(of_kind, *process, expectations_.phase);
        if (tally.selected.launches > 0)
          launches[std::string(catalog::KindName(*of_kind.kind))] += tally.selected.launches;
      }
    }
    return launches;
  }

  // A path means its GEMMs. Where it had none, what else it ran may be what was meant.
  void WarnOfOtherKinds(const CompiledExpectation& expectation) {
    if (!expectation.selection.kind_implied || !expectation.selection.path) return;
    for (const ProcessAnalysis* process : launched_) {
      if (TallyOf(expectation.selection, *process, expectations_.phase).selected.launches > 0)
        return;
    }
    const auto others = OtherKinds(expectation.selection);
    if (others.empty()) return;
    Warn(absl::StrCat("path ", std::string(catalog::PathName(*expectation.selection.path)),
                      " launched no GEMM, but kernels of kind ",
                      absl::StrJoin(others, ", ",
                                    [](std::string* out, const auto& of) {
                                      absl::StrAppend(out, of.first, " (", of.second, " launches)");
                                    }),
                      ": --kind ", others.size() == 1 ? others.begin()->first : "any",
                      " counts them"));
  }

  // Kernels that nothing is known of may be GEMMs: shares, 'at most' and 'a replay' have none of
  // them.
  void NoteUnknownKinds() {
    const bool asked = std::any_of(
        expectations_.expect.begin(), expectations_.expect.end(), [](const auto& expectation) {
          const Selection& selection = expectation.selection;
          return expectation.per_replay ||
                 (selection.kind == catalog::Kind::kGemm &&
                  (expectation.bounds.max || expectation.time_share)) ||
                 (selection.WholeKind() == catalog::Kind::kGemm && expectation.share);
        });
    if (!asked) return;
    Selection unknown;
    unknown.kind = catalog::Kind::kOther;
    uint64_t launches = 0;
    for (const ProcessAnalysis* process : launched_)
      launches += TallyOf(unknown, *process, expectations_.phase).selected.launches;
    if (launches == 0) return;
    report_->add_notes(absl::StrCat(launches,
                                    " launches of kernels of unknown kind are not taken for GEMMs: "
                                    "hotproof report lists them as kind other"));
  }

  // Graphs that fell back to a kernel that nothing is known of are not among those that are looked
  // at.
  void WarnOfOtherGraphs(const CompiledExpectation& expectation) {
    if (!expectation.per_replay) return;
    uint64_t graphs = 0, replays = 0;
    for (const ProcessAnalysis* process : launched_) {
      const Tally tally = TallyOf(expectation.selection, *process, expectations_.phase);
      graphs += tally.other_graphs;
      replays += tally.other_replays;
    }
    if (graphs == 0) return;
    Warn(absl::StrCat(
        replays, " replays of ", graphs, graphs == 1 ? " graph" : " graphs",
        " were not looked at: they launch no known GEMM, but kernels of unknown kind (a rule "
        "makes those GEMMs: docs/catalog.md)"));
  }

  // GEMMs of a path that nobody knows count as not of the path that is asked for.
  void WarnOfUnknownPaths() {
    const bool asked = std::any_of(
        expectations_.expect.begin(), expectations_.expect.end(), [](const auto& expectation) {
          return expectation.selection.path.value_or(catalog::Path::kUnknown) !=
                 catalog::Path::kUnknown;
        });
    if (!asked) return;
    Selection unknown;
    unknown.kind = catalog::Kind::kGemm;
    unknown.path = catalog::Path::kUnknown;
    uint64_t launches = 0;
    for (const ProcessAnalysis* process : launched_)
      launches += TallyOf(unknown, *process, expectations_.phase).selected.launches;
    if (launches == 0) return;
    Warn(absl::StrCat(
        launches,
        " launches of GEMMs are of path unknown: a kernel of your own gets its path by a "
        "rule (docs/catalog.md), or is asked for by --kernel"));
  }

  // Launches before the last capture are warm-up, though graphs were in use by then.
  void WarnOfLateCaptures() {
    if (expectations_.phase != PhaseChoice::kSteady) return;
    for (const ProcessAnalysis* process : launched_) {
      const uint64_t replays =
          ReplaysBeforeLateCapture(process->index->tables(), process->index->phases());
      if (replays == 0) continue;
      Warn(absl::StrCat("pid ", process->pid(), ": steady begins behind a capture that came after ",
                        replays, " replays: ", LaunchesOf(*process).warmup,
                        " launches before it are not judged (--phase all, or mark steady in the program)"));
    }
  }

  // A sum hides that a process has no part in it; of each process that is a verdict of its own.
  void NoteEmptyPhases() {
    if (expectations_.phase != PhaseChoice::kSteady || launched_.size() < 2) return;
    const bool asked = std::any_of(
        expectations_.expect.begin(), expectations_.expect.end(),
        [](const auto& expectation) { return expectation.processes == expectations::SUM; });
    if (!asked) return;
    for (const ProcessAnalysis* process : launched_) {
      const SlotLaunches launches = LaunchesOf(*process);
      if (!process->index->phases().phased || launches.steady > 0) continue;
      report_->add_notes(absl::StrCat("pid ", process->pid(), " ", process->name(),
                                      " launched nothing in phase steady, and adds nothing to a sum: its ",
                                      launches.warmup, " launches are warm-up (--phase all)"));
    }
  }

  static SlotLaunches LaunchesOf(const ProcessAnalysis& process) {
    SlotLaunches sum;
    for (const SlotLaunches& launches : process.index->launches()) {
      sum.warmup += launches.warmup;
      sum.steady += launches.steady;
    }
    return sum;
  }

  // What was named and ran nowhere may be a slip: 'never' would pass.
  void AddHints(const Selection& selection) {
    for (const Hint& hint : HintsFor(selection, launched_)) {
      if (Has(report_->notes(), hint.text)) continue;
      report_->add_notes(hint.text);
      if (hint.warns) report_->add_warnings(hint.text);
    }
  }

  static bool Has(const auto& texts, const std::string& text) {
    return std::find(texts.begin(), texts.end(), text) != texts.end();
  }

  // Once, whichever of the expectations it is of.
  void Warn(const std::string& text) {
    if (Has(report_->warnings(), text)) return;
    report_->add_notes(text);
    report_->add_warnings(text);
  }

  const CompiledExpectations& expectations_;
  const std::span<const ProcessAnalysis* const> launched_;
  report::AssertReport* const report_;
};

}  // namespace

void AddAsides(const CompiledExpectations& expectations,
               std::span<const ProcessAnalysis* const> launched, report::AssertReport* report) {
  Asides(expectations, launched, report).Add();
}

}  // namespace hotproof::analyzers
