#include "analyzers/completeness.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analyzers/loss_table.h"
#include "analyzers/number.h"
#include "catalog/classifier.h"

namespace hotproof::analyzers {
namespace {

using report::Completeness;

// Collects findings as reasons (those that make an answer uncertain) and problems (all).
class Findings {
 public:
  explicit Findings(CompletenessResult& result) : result_(result) {}

  void Add(const LossKind& kind, uint64_t count, const std::string& detail = "") {
    report::Problem problem;
    problem.set_severity(kind.severity);
    problem.set_name(kind.name);
    problem.set_count(Number(count));
    problem.set_detail(detail.empty() ? kind.meaning : absl::StrCat(kind.meaning, ": ", detail));
    problem.set_advice(kind.advice);
    result_.problems.push_back(problem);
    counts_ |= kind.counts;
    times_ |= kind.times;
    steady_counts_ |= kind.steady_counts;
    blinds_ |= kind.blinds;
    if (!kind.counts && !kind.times && !kind.steady_counts) return;
    report::Reason* reason = result_.completeness.add_reasons();
    reason->set_name(problem.name());
    reason->set_count(problem.count());
    reason->set_detail(problem.detail());
    reason->set_affects_counts(kind.counts || kind.steady_counts);
    reason->set_affects_times(kind.times);
  }
  void AddIf(uint64_t count, Finding finding, const std::string& detail = "") {
    if (count > 0) Add(LossOf(finding), count, detail);
  }

  bool counts() const { return counts_; }
  bool times() const { return times_; }
  bool steady_counts() const { return steady_counts_; }
  bool blinds() const { return blinds_; }

 private:
  CompletenessResult& result_;
  bool counts_ = false, times_ = false, steady_counts_ = false, blinds_ = false;
};

uint64_t CountedLaunches(const TraceIndex& index) {
  uint64_t counted = 0;
  for (const SlotLaunches& launches : index.launches()) counted += launches.total();
  return counted;
}

bool HasProblem(const trace::Tables& tables, trace::ProblemKind kind) {
  return std::any_of(tables.problems.begin(), tables.problems.end(),
                     [=](const trace::Problem& problem) { return problem.kind() == kind; });
}

// Of heads: tables, statistics and snapshots may be gone.
bool IsDamage(trace::ReadIssue::Kind kind) {
  return kind != trace::ReadIssue::Kind::kUnknownField &&
         kind != trace::ReadIssue::Kind::kCorruptColumns;
}

// The tracer's counts are cumulative for their kind and detail: the last one holds.
void AddTracerProblems(const trace::Tables& tables, Findings& findings) {
  std::vector<const trace::Problem*> last;
  std::map<std::pair<int, std::string_view>, size_t> places;  // in `last`
  for (const trace::Problem& problem : tables.problems) {
    const auto [place, is_new] =
        places.try_emplace({problem.kind(), problem.detail()}, last.size());
    if (is_new) {
      last.push_back(&problem);
    } else if (problem.count() >= last[place->second]->count()) {
      last[place->second] = &problem;
    }
  }
  // What changes no answer is said once, with an example: argument sets overflow for dozens of
  // kernels in a server, and some have names of a thousand characters.
  constexpr size_t kExampleCharacters = 60;  // one line
  struct Notes {
    uint64_t count = 0;
    std::vector<std::string> details;
  };
  std::vector<std::pair<const LossKind*, Notes>> notes;
  for (const trace::Problem* problem : last) {
    const LossKind& kind = LossOf(problem->kind(), problem->detail());
    if (kind.severity != report::Problem::INFO) {
      findings.Add(kind, problem->count(), problem->detail());
      continue;
    }
    auto same = std::find_if(notes.begin(), notes.end(),
                             [&](const auto& entry) { return entry.first == &kind; });
    if (same == notes.end()) same = notes.insert(same, {&kind, {}});
    same->second.count += problem->count();
    same->second.details.push_back(absl::StartsWith(problem->detail(), "_Z")
                                       ? catalog::CanonicalName(problem->detail())
                                       : problem->detail());
  }
  for (auto& [kind, of] : notes) {
    std::string detail = of.details[0];
    if (detail.size() > kExampleCharacters) detail = detail.substr(0, kExampleCharacters) + "...";
    if (of.details.size() > 1) absl::StrAppend(&detail, " and ", of.details.size() - 1, " more");
    findings.Add(*kind, of.count, detail);
  }
}

void AddGraphCaveats(const TraceIndex& index, Findings& findings) {
  const trace::Tables& tables = index.tables();
  for (size_t id = 1; id < tables.graphs.size(); ++id) {
    const uint64_t replays = id < tables.asked.graphs.size() ? tables.asked.graphs[id] : 0;
    for (const trace::GraphCaveat caveat : tables.graphs[id].caveats) {
      // A graph that was never replayed ran nothing, unless the device may have launched it.
      if (replays == 0 && caveat != trace::GRAPH_CAVEAT_DEVICE_LAUNCHED) continue;
      findings.Add(LossOf(caveat), replays, absl::StrCat("graph ", id));
    }
  }
}

// A damaged file may have as many places as it has frames: the first of each kind are told one by
// one.
void AddDamage(const CompletenessInput& input, Findings& findings) {
  constexpr uint64_t kMostTold = 32;
  using Kind = trace::ReadIssue::Kind;
  struct More {
    uint64_t told = 0, places = 0, lost_bytes = 0;
  };
  std::map<Kind, More> kinds;
  const auto add = [&](Kind kind, uint64_t count, uint64_t lost_bytes, const auto& detail) {
    More& of = kinds[kind];
    if (of.told < kMostTold) {
      ++of.told;
      return findings.Add(LossOf(kind), count, detail());
    }
    ++of.places;
    of.lost_bytes += lost_bytes;
  };
  for (const trace::ReadIssue& issue : input.issues) {
    add(issue.kind, 0, issue.lost_bytes, [&] {
      std::string detail = issue.detail;
      if (issue.kind != Kind::kCounterFile) {
        absl::StrAppend(&detail, detail.empty() ? "" : ", ", "at byte ", issue.offset_bytes);
      }
      if (issue.lost_bytes > 0) absl::StrAppend(&detail, ", ", issue.lost_bytes, " bytes lost");
      return detail;
    });
  }
  for (const std::string& error : input.chunk_errors) {
    add(Kind::kCorruptColumns, 1, 0, [&] { return error; });
  }
  for (const auto& [kind, more] : kinds) {
    if (more.places == 0) continue;
    std::string detail = absl::StrCat("and in ", more.places, " more places");
    if (more.lost_bytes > 0) absl::StrAppend(&detail, ", ", more.lost_bytes, " bytes lost");
    findings.Add(LossOf(kind), 0, detail);
  }
}

// `file_useless`: the counter file, which was said.
void AddCounterFindings(const TraceIndex& index, bool damaged, bool file_useless, uint64_t counted,
                        Findings& findings) {
  const trace::Tables& tables = index.tables();
  // Without a header it is not known which file has the counters.
  if (tables.header.format_major() == 0) {
    findings.Add(LossOf(Finding::kNoHeader), 0);
  } else if (tables.asked_source == trace::CounterSource::kChunks &&
             (!tables.has_footer || damaged) && !file_useless) {
    findings.Add(LossOf(Finding::kCountersFromChunks), 0);
  }
  if (index.counters_ran_backwards()) {
    findings.Add(LossOf(Finding::kCountersDisagree), 0, "a snapshot exceeds the final counters");
  }
  if (tables.has_footer && tables.footer.launches() > counted) {
    findings.Add(LossOf(Finding::kCountersDisagree), tables.footer.launches() - counted,
                 absl::StrCat("the footer says ", tables.footer.launches(),
                              " launches, the counters ", counted));
  }
  findings.AddIf(index.launches_without_table(), Finding::kUnknownTargets,
                 "launches of lost sites and kernels");
  findings.AddIf(index.replays_without_table(), Finding::kUnknownTargets, "replays of lost graphs");
  if (!HasProblem(tables, trace::PROBLEM_SLOTS_EXHAUSTED)) {
    // The counter file knows sites that the trace does not: they were in a part that is gone.
    const bool cut_off = damaged || !tables.has_footer;
    findings.AddIf(cut_off ? index.launches_without_slot() : 0, Finding::kUnknownTargets,
                   "launches of sites in a part that is gone");
    if (!cut_off && index.launches_without_slot() > 0) {
      findings.Add(LossOf(trace::PROBLEM_SLOTS_EXHAUSTED, ""), index.launches_without_slot());
    }
  }
  uint64_t unattributed = 0;
  for (uint32_t slot = 0; slot < index.slot_count(); ++slot) {
    if (index.IsGraphSlot(slot) && index.site_of_slot(slot) == 0) {
      unattributed += index.launches()[slot].total();
    }
  }
  findings.AddIf(unattributed, Finding::kUnattributedNodes);
}

uint64_t RecordedByHeads(const trace::Tables& tables) {
  uint64_t records = tables.rotated_out.records;
  for (const trace::ChunkStatistics& chunk : tables.chunk_statistics)
    records += chunk.record_count();
  return records;
}

// A file may end where a chunk ends and yet not be whole: the counter file knows how much it had.
void AddWrittenFindings(const trace::Tables& tables, Findings& findings) {
  const uint64_t here = RecordedByHeads(tables);
  if (tables.records_written <= here) return;
  findings.Add(LossOf(trace::ReadIssue::Kind::kMissingChunk), tables.records_written - here,
               "records that were written are not in it");
}

std::string DeviceName(const trace::Header& header, uint32_t device_id) {
  for (const trace::Device& device : header.devices()) {
    if (device.id() == device_id) return device.name();
  }
  return "";
}

void FillDevices(const TraceIndex& index, const LaunchMatching::Result& matched,
                 CompletenessResult& result) {
  for (uint32_t id = 0; id < matched.devices.size(); ++id) {
    const MatchCounts& counts = matched.devices[id];
    if (counts.expected + counts.surplus == 0) continue;
    report::DeviceCompleteness& device = result.devices.emplace_back();
    device.set_device(id);
    device.set_name(DeviceName(index.tables().header, id));
    device.set_expected(Number(counts.expected));
    device.set_recorded(Number(counts.recorded));
    device.set_lost(Number(counts.lost));
    device.set_in_flight(Number(counts.in_flight));
    device.set_untimed(Number(counts.untimed));
    device.set_surplus(Number(counts.surplus));
  }
}

// `part_is_gone`: of the trace, and records may have been in it.
void AddMatchFindings(const LaunchMatching::Result& matched, const SlotTimes::Result& times,
                      const trace::RotatedOut& gone, uint64_t counted, bool part_is_gone,
                      Findings& findings) {
  const MatchCounts total = matched.Total();
  findings.AddIf(total.lost, Finding::kLostRecords,
                 part_is_gone ? "it may be in the part of the trace that is gone" : "");
  findings.AddIf(total.in_flight, Finding::kUnfinishedTail);
  // Whatever the matching made of it: single times that were in a file that is gone are not here.
  if (gone.files != 0) findings.Add(LossOf(Finding::kRotatedOut), gone.records);
  if (counted > 0 && times.records + times.untimed + gone.records == 0 && !part_is_gone) {
    findings.Add(LossOf(Finding::kNoRecords), counted);
  }
  findings.AddIf(times.untimed, Finding::kUntimedRecords);
  findings.AddIf(times.out_of_range, Finding::kClocksOutOfRange);
  findings.AddIf(total.surplus, Finding::kSurplusRecords);
  findings.AddIf(matched.records_without_launch, Finding::kRecordsWithoutLaunch);
  findings.AddIf(matched.records_without_site, Finding::kRecordsWithoutSite);
  findings.AddIf(times.forgotten_gaps, Finding::kGapsForgotten);
  findings.AddIf(times.durations[0].too_many() + times.durations[1].too_many(),
                 Finding::kDurationsLeftOut);
  if (total.expected > counted) {
    findings.Add(
        LossOf(Finding::kCountersDisagree), total.expected - counted,
        absl::StrCat("the trace lists ", total.expected, " launches, the counters ", counted));
  }
}

Completeness::State StateOf(const Findings& findings, uint64_t counted, bool count_only) {
  if (counted == 0 && findings.blinds()) return Completeness::NOT_COLLECTED;
  if (findings.counts()) return Completeness::LOWER_BOUND;
  if (count_only) return Completeness::COUNTED;
  return findings.times() ? Completeness::LOWER_BOUND : Completeness::COMPLETE;
}

void SetEvidence(const TraceIndex& index, const Findings& findings, CompletenessResult& result) {
  const Completeness::State state = result.completeness.state();
  if (state == Completeness::NOT_COLLECTED) return;
  result.counts_all = findings.counts() ? Evidence::kLowerBound : Evidence::kExact;
  const bool phases_known = index.phases().phased && !findings.steady_counts();
  result.counts_steady = phases_known ? result.counts_all : Evidence::kNone;
  result.times = state == Completeness::COMPLETE ? Evidence::kExact : Evidence::kLowerBound;
}

}  // namespace

CompletenessResult JudgeCompleteness(CompletenessInput input) {
  const TraceIndex& index = input.index;
  const trace::Tables& tables = index.tables();
  CompletenessResult result;
  Findings findings(result);

  AddTracerProblems(tables, findings);
  AddGraphCaveats(index, findings);
  bool damaged = false, counters_useless = false, columns_lost = !input.chunk_errors.empty();
  for (const trace::ReadIssue& issue : input.issues) {
    damaged |= IsDamage(issue.kind);
    columns_lost |= issue.kind == trace::ReadIssue::Kind::kCorruptColumns;
    counters_useless |= issue.kind == trace::ReadIssue::Kind::kCounterFile;
  }
  AddDamage(input, findings);

  const uint64_t counted = CountedLaunches(index);
  AddCounterFindings(index, damaged, counters_useless, counted, findings);
  if (!damaged && !columns_lost && !input.still_running) AddWrittenFindings(tables, findings);
  const bool count_only = input.counts_only || tables.header.mode() == trace::MODE_COUNT ||
                          HasProblem(tables, trace::PROBLEM_NEWER_CUPTI);
  Completeness& completeness = result.completeness;
  completeness.set_expected(Number(counted));
  if (input.counts_only) completeness.set_recorded(Number(RecordedByHeads(tables)));
  if (!count_only) {
    const bool entries_lost =
        damaged || columns_lost || HasProblem(tables, trace::PROBLEM_LAUNCH_ENTRIES_DROPPED);
    const LaunchMatching::Result matched = std::move(input.matching).Finish(counted, entries_lost);
    FillDevices(index, matched, result);
    AddMatchFindings(matched, input.times, tables.rotated_out, counted, damaged || columns_lost,
                     findings);
    const MatchCounts total = matched.Total();
    completeness.set_recorded(Number(total.recorded));
    completeness.set_lost(Number(total.lost));
    completeness.set_in_flight(Number(total.in_flight));
    completeness.set_untimed(
        Number(input.times.untimed + input.times.out_of_range + tables.rotated_out.untimed));
    completeness.set_surplus(Number(total.surplus + matched.records_without_launch));
  }
  if (input.still_running) {
    findings.Add(LossOf(Finding::kStillRunning), 0);
  } else if (input.end_not_seen) {
    findings.Add(LossOf(Finding::kEndNotSeen), 0);
  }
  if (!tables.header.interposers() && tables.header.format_major() != 0) {
    findings.Add(LossOf(Finding::kInterposersLost), 0);
  }
  findings.AddIf(
      index.shape_contradictions().size(), Finding::kShapeContradiction,
      index.shape_contradictions().empty() ? "" : index.shape_contradictions().begin()->second);

  completeness.set_state(StateOf(findings, counted, count_only));
  SetEvidence(index, findings, result);
  completeness.set_counts_exact(result.counts_all == Evidence::kExact);
  if (!index.phases().phased && counted > 0) {
    findings.Add(LossOf(Finding::kUnphased), 0, index.phases().detail);
  }
  return result;
}

std::string WithThousands(double count) {
  const std::string digits = absl::StrCat(static_cast<uint64_t>(count));
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string VerdictSentence(const CompletenessResult& result) {
  const Completeness& completeness = result.completeness;
  const std::string expected = WithThousands(completeness.expected());
  std::vector<std::string> reasons;
  for (const report::Reason& reason : completeness.reasons()) {
    reasons.push_back(reason.count() > 0
                          ? absl::StrCat(reason.detail(), " (", WithThousands(reason.count()), ")")
                          : reason.detail());
  }
  const std::string because = absl::StrJoin(reasons, "; ");
  switch (completeness.state()) {
    case Completeness::COMPLETE:
      if (completeness.expected() == 0) return "COMPLETE: no kernel was launched";
      return absl::StrCat("COMPLETE: all ", expected, " kernel launches were recorded");
    case Completeness::COUNTED:
      if (completeness.expected() == 0) return "COUNTED: no kernel launch was asked";
      if (completeness.recorded() == completeness.expected()) {
        return absl::StrCat("COUNTED: exactly ", expected,
                            " kernel launches were asked, and recorded by the trace's sums");
      }
      return absl::StrCat("COUNTED: exactly ", expected,
                          " kernel launches were asked; their execution was not observed");
    case Completeness::LOWER_BOUND:
      if (completeness.counts_exact()) {
        return absl::StrCat("LOWER BOUND for times, counts exact: ", expected,
                            " kernel launches asked, ", WithThousands(completeness.recorded()),
                            " recorded; ", because);
      }
      return absl::StrCat("LOWER BOUND: at least ", expected, " kernel launches; ", because);
    default:
      return absl::StrCat("NOT COLLECTED, so this says nothing about what ran: ", because);
  }
}

}  // namespace hotproof::analyzers
