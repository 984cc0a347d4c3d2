// Everything that can keep a trace from being complete, as one table: what it is called, which
// answers it makes uncertain and what a user can do. The tracer's problems, graph caveats and
// damage found by the reader map to rows; what the analyzers find themselves has rows of its own.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "proto/report.pb.h"
#include "proto/trace.pb.h"
#include "trace/reader.h"

namespace hotproof::analyzers {

// Found by analyzers.
enum class Finding {
  kNone,
  kNoHeader,
  kLostRecords,
  kRotatedOut,
  kUnfinishedTail,
  kNoRecords,
  kUntimedRecords,
  kClocksOutOfRange,
  kSurplusRecords,
  kRecordsWithoutLaunch,
  kRecordsWithoutSite,
  kUnattributedNodes,
  kCountersFromChunks,
  kCountersDisagree,
  kUnknownTargets,
  kStillRunning,
  kEndNotSeen,
  kRanOn,  // not even a GPU process when `run` ended
  kNotListed,
  kNoTrace,
  kTraceGone,  // `run` saw it
  kNotLookedInto,  // perhaps a GPU process without a trace
  kInterposersLost,
  kShapeContradiction,
  kGapsForgotten,
  kDurationsLeftOut,
  kSumsDisagree,
  kImpossiblyFast,
  kManifestUnfinished,
  kUnphased,
};

struct LossKind {
  const char* name;
  report::Problem::Severity severity;
  bool counts;         // launch counts become lower bounds
  bool times;          // GPU times become lower bounds
  bool steady_counts;  // the launches of one phase cannot be told from the other's
  bool blinds;         // if no launch was counted, nothing was collected
  const char* meaning;
  const char* advice;
  // What it stands for; at most one is set.
  trace::ProblemKind problem = trace::PROBLEM_KIND_UNSPECIFIED;
  trace::GraphCaveat caveat = trace::GRAPH_CAVEAT_UNSPECIFIED;
  std::string_view detail_prefix = {};  // of a problem: only those whose detail begins so
  int read_issue = -1;                  // trace::ReadIssue::Kind
  Finding finding = Finding::kNone;
};

std::span<const LossKind> LossTable();

// Every value has a row; one that a newer trace brings gets the row of PROBLEM_INTERNAL.
const LossKind& LossOf(trace::ProblemKind problem, std::string_view detail);
const LossKind& LossOf(trace::GraphCaveat caveat);
const LossKind& LossOf(trace::ReadIssue::Kind issue);
const LossKind& LossOf(Finding finding);

}  // namespace hotproof::analyzers
