// How complete the trace of one process is, per process and device: counters (what was asked)
// against records (what ran), with a named reason for everything that is missing.
#pragma once

#include <string>
#include <vector>

#include "analyzers/decision.h"
#include "analyzers/launch_matching.h"
#include "analyzers/slot_times.h"
#include "analyzers/trace_index.h"
#include "proto/report.pb.h"
#include "trace/reader.h"

namespace hotproof::analyzers {

struct CompletenessResult {
  report::Completeness completeness;
  std::vector<report::DeviceCompleteness> devices;
  std::vector<report::Problem> problems;     // all findings, also those that cost nothing
  Evidence counts_all = Evidence::kNone;     // launches of the whole run
  Evidence counts_steady = Evidence::kNone;  // launches of the steady phase alone
  Evidence times = Evidence::kNone;
};

struct CompletenessInput {
  const TraceIndex& index;
  const std::vector<trace::ReadIssue>& issues;
  const std::vector<std::string>& chunk_errors;  // from FoldTrace
  LaunchMatching&& matching;
  const SlotTimes::Result& times;
  bool counts_only = false;  // no columns were read: nothing is said of what ran
  bool still_running = false;  // by the manifest
  bool end_not_seen = false;   // no footer, and nothing else shows that the process has ended
};
CompletenessResult JudgeCompleteness(CompletenessInput input);

// The sentence a reader sees first, e.g. "COMPLETE: all 1,234 kernel launches were recorded."
std::string VerdictSentence(const CompletenessResult& result);

// 12345 -> "12,345".
std::string WithThousands(double count);

}  // namespace hotproof::analyzers
