// All that is known of one traced process: its tables, what was asked and what ran, by slot. Made
// once per trace by AnalyzeTrace; reports and assertions are views of it. Immutable afterwards.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzers/completeness.h"
#include "analyzers/coverage.h"
#include "analyzers/fold_trace.h"
#include "analyzers/slot_times.h"
#include "analyzers/trace_index.h"
#include "catalog/classifier.h"
#include "trace/reader.h"

namespace hotproof::analyzers {

enum class PhaseChoice { kSteady, kAll };

struct ProcessAnalysis {
  std::unique_ptr<const trace::TraceReader> reader;
  std::unique_ptr<const TraceIndex> index;
  SlotTimes::Result times;
  std::vector<uint32_t> helper_owner;  // by slot: slot of the GEMM a helper kernel belongs to, or 0
  CompletenessResult completeness;
  std::string run;  // the folder that it is of, as the user named it

  const trace::Header& header() const { return reader->tables().header; }
  // Where the trace is cut off before its header ends, by the file's name.
  uint32_t pid() const;
  std::string name() const;
  // Eager helpers count only where no record is missing between them and their GEMM.
  bool eager_order_proven() const;
};

struct AnalyzeOptions {
  FoldOptions fold;
  // Launch counts alone, without reading any columns: in time proportional to the number of chunks.
  // Only where HeadsTellCounts; everything else of the analysis is then empty.
  bool counts_only = false;
  std::vector<trace::Manifest> manifests;  // of the runs the trace may be of
  bool still_running = false;              // the process ran when its trace was opened
  bool end_not_seen = false;               // of CompletenessInput
};

// Whether what was asked can be told, and checked against what ran, without the columns: the process
// ended cleanly, lost no record, and by the chunks' statistics each site ran exactly as often as it
// was asked for. Fewer is no contradiction of the counts, but could hide a record too many.
bool HeadsTellCounts(const trace::Tables& tables);

ProcessAnalysis AnalyzeTrace(std::unique_ptr<const trace::TraceReader> reader,
                             const catalog::Classifier& classifier,
                             const AnalyzeOptions& options = {});

}  // namespace hotproof::analyzers
