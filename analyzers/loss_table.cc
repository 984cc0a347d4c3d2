#include "analyzers/loss_table.h"

namespace hotproof::analyzers {
namespace {

constexpr auto INFO = report::Problem::INFO;
constexpr auto WARNING = report::Problem::WARNING;
constexpr auto ERROR = report::Problem::ERROR;
using Read = trace::ReadIssue::Kind;

// Which answers a row makes uncertain.
struct Effect {
  bool counts, times, steady_counts, blinds;
};
constexpr Effect kNothing{false, false, false, false};
constexpr Effect kTimes{false, true, false, false};
constexpr Effect kCounts{true, false, false, false};
constexpr Effect kBoth{true, true, false, false};
constexpr Effect kBlind{true, true, false, true};
constexpr Effect kPhase{false, true, true, false};

constexpr LossKind Row(const char* name, report::Problem::Severity severity, Effect effect,
                       const char* meaning, const char* advice = "") {
  return {name,          severity, effect.counts, effect.times, effect.steady_counts,
          effect.blinds, meaning,  advice};
}
constexpr LossKind Of(trace::ProblemKind problem, LossKind row) {
  row.problem = problem;
  return row;
}
constexpr LossKind Of(trace::ProblemKind problem, std::string_view detail_prefix, LossKind row) {
  row.problem = problem;
  row.detail_prefix = detail_prefix;
  return row;
}
constexpr LossKind Of(trace::GraphCaveat caveat, LossKind row) {
  row.caveat = caveat;
  return row;
}
constexpr LossKind Of(Read issue, LossKind row) {
  row.read_issue = static_cast<int>(issue);
  return row;
}
constexpr LossKind Of(Finding finding, LossKind row) {
  row.finding = finding;
  return row;
}

constexpr LossKind kTable[] = {
    // ---- reported by the tracer. Dropped and discarded records are a cross-check: what they cost
    // is
    // measured by matching records with launches.
    Of(trace::PROBLEM_CUPTI_DROPPED_RECORDS,
       Row("cupti_dropped_records", WARNING, kNothing, "CUPTI dropped activity records")),
    Of(trace::PROBLEM_RECORDS_DISCARDED, "not written",
       Row("records_not_written", WARNING, kNothing, "records came while the disk took nothing")),
    Of(trace::PROBLEM_RECORDS_DISCARDED, Row("records_discarded", WARNING, kNothing,
                                             "records were discarded: the buffer pool was dry",
                                             "trace less at a time, or use --mode count")),
    Of(trace::PROBLEM_OPERATIONS_DISCARDED,
       Row("operations_discarded", WARNING, kNothing,
           "memory copies, synchronizations or event records were discarded: the pool was dry",
           "trace less at a time, or use --record kernels")),
    Of(trace::PROBLEM_RANGES_NOT_KEPT,
       Row("ranges_not_kept", INFO, kNothing,
           "more different ranges than are told apart: some launches say '(many)'")),
    Of(trace::PROBLEM_OTHER_SUBSCRIBER, "activity buffers",
       Row("buffers_taken_over", WARNING, kTimes, "another tool recorded in place of the tracer",
           "turn the other profiler off (torch.profiler, Nsight) and run again")),
    Of(trace::PROBLEM_OTHER_SUBSCRIBER,
       Row("other_subscriber", ERROR, kBlind, "another tool holds CUPTI",
           "turn the other profiler off (torch.profiler, Nsight) and run again")),
    Of(trace::PROBLEM_CUPTI_MISSING,
       Row("cupti_missing", ERROR, kBlind, "no usable libcupti was found",
           "set HOTPROOF_CUPTI to libcupti.so of CUDA 12.6 or later")),
    // The activity API only times; counting needs callbacks alone.
    Of(trace::PROBLEM_SYMBOL_MISSING, "cuptiActivity",
       Row("symbol_missing", ERROR, kTimes, "libcupti lacks a symbol that timing needs",
           "hotproof doctor shows which library was found")),
    Of(trace::PROBLEM_SYMBOL_MISSING, "cuptiGetTimestamp",
       Row("symbol_missing", WARNING, kNothing, "libcupti gives no clock to compare with others")),
    Of(trace::PROBLEM_SYMBOL_MISSING, "cuptiGetStreamIdEx",
       Row("symbol_missing", WARNING, kNothing, "libcupti does not tell launches' streams")),
    Of(trace::PROBLEM_SYMBOL_MISSING,
       Row("symbol_missing", ERROR, kBlind, "a library lacks a symbol the tracer needs",
           "hotproof doctor shows which library was found")),
    Of(trace::PROBLEM_CUPTI_ERROR, "cuptiActivity",
       Row("cupti_error", ERROR, kTimes, "a CUPTI call that timing needs failed")),
    Of(trace::PROBLEM_CUPTI_ERROR, Row("cupti_error", ERROR, kBlind, "a CUPTI call failed")),
    Of(trace::PROBLEM_COLLECTION_ENDED,
       Row("collection_ended", ERROR, kBlind, "CUPTI gave up while the program ran")),
    Of(trace::PROBLEM_COUNTERS_NOT_ON_DISK,
       Row("counters_not_on_disk", WARNING, kNothing,
           "counters were kept in memory: exact only if the process ended cleanly",
           "give the output folder more room")),
    Of(trace::PROBLEM_DISK_FULL,
       Row("disk_full", WARNING, kTimes,
           "the disk was full, failing or too slow: nothing was timed meanwhile, counting went on",
           "give the output folder more room, or a local disk")),
    Of(trace::PROBLEM_SLOTS_EXHAUSTED, Row("slots_exhausted", WARNING, kCounts,
                                           "launches beyond the counter table have no kernel")),
    Of(trace::PROBLEM_UNATTRIBUTED_RECORDS, Row("unattributed_records", WARNING, kBoth,
                                                "records disagree with what their node launches")),
    Of(trace::PROBLEM_ARGUMENT_SETS_OVERFLOWED,
       Row("argument_sets_overflowed", INFO, kNothing,
           "not all arguments were kept, so some shapes stay unknown")),
    Of(trace::PROBLEM_DEVICE_LAUNCH_POSSIBLE,
       Row("device_launch_possible", WARNING, kBoth,
           "kernels launched by the device itself cannot be seen")),
    Of(trace::PROBLEM_LAUNCH_ENTRIES_DROPPED,
       Row("launch_entries_dropped", WARNING, kTimes, "launches were counted but not listed")),
    Of(trace::PROBLEM_INTERNAL, "records were lost",
       Row("records_lost", WARNING, kTimes,
           "more came at once than a chunk holds: counting went on")),
    Of(trace::PROBLEM_INTERNAL,
       Row("tracer_internal", ERROR, kBlind, "the tracer reports a fault")),
    Of(trace::PROBLEM_ROTATION_FAILED,
       Row("rotation_failed", WARNING, kNothing, "no new file could be begun: the trace grew on",
           "give the output folder more room")),
    Of(trace::PROBLEM_NEWER_CUPTI, Row("newer_cupti", INFO, kNothing,
                                       "this CUPTI is newer than the tracer knows: counts only")),

    // ---- graphs, if they were replayed (or could have been without our knowing)
    Of(trace::GRAPH_CAVEAT_CONDITIONAL,
       Row("conditional_graph", WARNING, kBoth,
           "bodies of conditional nodes run an unknown number of times")),
    Of(trace::GRAPH_CAVEAT_DEVICE_UPDATABLE,
       Row("device_updatable_graph", WARNING, kBoth, "the device may change nodes of this graph")),
    Of(trace::GRAPH_CAVEAT_DEVICE_LAUNCHED,
       Row("device_launched_graph", WARNING, kBoth, "the device may launch this graph unseen")),
    Of(trace::GRAPH_CAVEAT_OLDER_THAN_TRACER,
       Row("graph_older_than_tracer", WARNING, kBoth, "the graph was made before tracing began",
           "start the program under hotproof run")),
    Of(trace::GRAPH_CAVEAT_UPDATED_UNSEEN,
       Row("graph_updated_unseen", WARNING, kBoth,
           "the graph was updated where CUPTI does not say how")),

    // ---- damage in the file
    Of(Read::kTornTail, Row("torn_tail", WARNING, kTimes, "the trace is cut off",
                            "if the process was not killed while it wrote, copy the trace again")),
    Of(Read::kCorruptFrame,
       Row("corrupt_frame", ERROR, kPhase, "a chunk of the trace does not decode",
           "use --phase all, or copy the trace again")),
    Of(Read::kCorruptColumns,
       Row("corrupt_columns", ERROR, kTimes,
           "a chunk's records do not decode: what was asked is known, not what ran",
           "copy the trace again")),
    Of(Read::kMissingChunk, Row("missing_chunk", ERROR, kPhase, "a chunk of the trace is missing",
                                "use --phase all, or copy the trace again")),
    Of(Read::kMalformedChunk,
       Row("malformed_chunk", ERROR, kPhase, "a chunk of the trace contradicts itself",
           "use --phase all, or copy the trace again")),
    Of(Read::kCounterFile,
       Row("counter_file", ERROR, kBlind, "the counters cannot be used",
           "keep the .hpc file of the same process, copied whole, beside its .hpt")),
    Of(Read::kUnknownField,
       Row("unknown_field", INFO, kNothing, "the trace has fields this version does not know",
           "use a newer hotproof")),

    // ---- found by the analyzers
    Of(Finding::kNoHeader,
       Row("no_header", ERROR, kBlind, "the trace does not say which process and mode it is from",
           "copy the trace again")),
    Of(Finding::kLostRecords,
       Row("lost_records", WARNING, kTimes, "launches without a record of their execution",
           "ask for launches, which are counted apart from records, or trace again")),
    Of(Finding::kRotatedOut,
       Row("rotated_out", WARNING, kTimes,
           "records in files that rotation took away: counted, their times are known as sums alone",
           "keep more (hotproof run --keep), or ask for times while the files are there")),
    Of(Finding::kUnfinishedTail,
       Row("unfinished_tail", WARNING, kTimes,
           "launches after the last that was recorded: their execution was not seen",
           "ask for launches, which are counted, or let the process end by itself")),
    Of(Finding::kNoRecords,
       Row("no_records", ERROR, kTimes, "kernels were launched but no execution was recorded",
           "if the process left by os._exit or a signal within a quarter of a second, let it end "
           "by exit; "
           "else hotproof doctor --probe shows whether CUPTI may collect here")),
    Of(Finding::kUntimedRecords,
       Row("untimed_records", WARNING, kTimes, "CUPTI lost the timestamps: counted, not timed",
           "ask for launches, which are counted")),
    Of(Finding::kClocksOutOfRange, Row("clocks_out_of_range", WARNING, kTimes,
                                       "records with times outside the process's life")),
    Of(Finding::kSurplusRecords,
       Row("surplus_records", ERROR, kBoth, "records that no launch explains")),
    Of(Finding::kRecordsWithoutLaunch, Row("records_without_launch", WARNING, kBoth,
                                           "records whose launch the tracer did not see")),
    Of(Finding::kRecordsWithoutSite,
       Row("records_without_site", WARNING, kBoth, "records of an unknown kernel")),
    Of(Finding::kUnattributedNodes, Row("unattributed_nodes", WARNING, kCounts,
                                        "launches of graph nodes whose kernel is unknown")),
    Of(Finding::kCountersFromChunks,
       Row("counters_from_chunks", WARNING, kBoth,
           "the counter file is missing, and the trace is damaged or was not closed at the end",
           "keep the .hpc file beside its .hpt")),
    Of(Finding::kCountersDisagree,
       Row("counters_disagree", ERROR, kBoth, "counters and trace contradict each other")),
    Of(Finding::kUnknownTargets,
       Row("unknown_targets", WARNING, kBoth, "launches whose description the trace has lost")),
    Of(Finding::kStillRunning, Row("still_running", WARNING, kBoth, "the process was still running",
                                   "stop it, or wait for it to end")),
    Of(Finding::kEndNotSeen,
       Row("end_not_seen", WARNING, kBoth,
           "nothing shows that the process has ended: this may be a copy made while it ran",
           "keep the manifest of hotproof run beside it, let the process end by exit, or read the "
           "files where they were written")),
    Of(Finding::kRanOn,
       Row("ran_on", WARNING, kNothing,
           "without a GPU so far, a process was still running when hotproof run ended",
           "stop it before the command ends: what it does later is not watched")),
    Of(Finding::kNotListed,
       Row("not_in_manifest", WARNING, kNothing,
           "a trace of a process that hotproof run did not see: others that left none may be "
           "missing, too",
           "give each run a folder of its own, or name the .hpt files of the process that is "
           "meant")),
    Of(Finding::kNoTrace, Row("no_trace", ERROR, kBlind, "a GPU process without a trace",
                              "hotproof doctor says what stops the preload")),
    Of(Finding::kTraceGone,
       Row("trace_gone", ERROR, kBlind, "a process was traced, but its trace is not there any more",
           "put its .hpt and .hpc back beside the manifest, or trace again")),
    Of(Finding::kNotLookedInto, Row("not_looked_into", ERROR, kBlind,
                                    "a process without a trace whose descriptors hotproof run may "
                                    "not read (set-uid, sudo) may have used a GPU",
                                    "run hotproof as that process's user, or as root")),
    Of(Finding::kInterposersLost,
       Row("interposers_lost", INFO, kNothing,
           "the process lost LD_PRELOAD: some shape evidence is missing")),
    Of(Finding::kShapeContradiction,
       Row("shape_contradiction", WARNING, kNothing, "evidence for a shape contradicts itself")),
    Of(Finding::kDurationsLeftOut,
       Row("durations_left_out", WARNING, kNothing,
           "more different durations than 256 MiB of histograms hold: no medians, sums are exact")),
    Of(Finding::kGapsForgotten, Row("exclusive_time_inexact", WARNING, kTimes,
                                    "records came too late to split overlapping kernels exactly")),
    Of(Finding::kSumsDisagree,
       Row("sums_disagree", ERROR, kBoth, "parts do not add up to the whole: a fault in hotproof",
           "please report it with the trace")),
    Of(Finding::kImpossiblyFast,
       Row("faster_than_memory", WARNING, kNothing,
           "a GEMM took less time than reading its operands at the memory's peak rate")),
    Of(Finding::kManifestUnfinished,
       Row("manifest_unfinished", WARNING, kNothing,
           "hotproof run has not ended, or was stopped: later processes are unknown",
           "let hotproof run end: it waits for its command")),
    Of(Finding::kUnphased,
       Row("unphased", INFO, kNothing, "the trace does not say where steady serving begins",
           "use --phase all, or call hotproof_mark(\"steady\")")),
};

template <typename Same>
const LossKind& Find(Same&& same) {
  for (const LossKind& row : kTable) {
    if (same(row)) return row;
  }
  for (const LossKind& row : kTable) {
    if (row.problem == trace::PROBLEM_INTERNAL && row.detail_prefix.empty()) return row;
  }
  return kTable[0];
}

}  // namespace

std::span<const LossKind> LossTable() { return kTable; }

const LossKind& LossOf(trace::ProblemKind problem, std::string_view detail) {
  return Find([=](const LossKind& row) {
    return problem != trace::PROBLEM_KIND_UNSPECIFIED && row.problem == problem &&
           detail.substr(0, row.detail_prefix.size()) == row.detail_prefix;
  });
}
const LossKind& LossOf(trace::GraphCaveat caveat) {
  return Find([=](const LossKind& row) {
    return caveat != trace::GRAPH_CAVEAT_UNSPECIFIED && row.caveat == caveat;
  });
}
const LossKind& LossOf(trace::ReadIssue::Kind issue) {
  return Find([=](const LossKind& row) { return row.read_issue == static_cast<int>(issue); });
}
const LossKind& LossOf(Finding finding) {
  return Find([=](const LossKind& row) { return row.finding == finding; });
}

}  // namespace hotproof::analyzers
