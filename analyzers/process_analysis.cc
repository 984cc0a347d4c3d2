#include "analyzers/process_analysis.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "analyzers/launch_matching.h"

namespace hotproof::analyzers {

namespace {

// HOST-PID-RANDOM.hpt.
uint32_t PidInName(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  const std::vector<std::string> parts = absl::StrSplit(name.substr(0, name.rfind('.')), '-');
  uint32_t pid = 0;
  for (size_t from_end : {2, 1}) {
    if (parts.size() > from_end && absl::SimpleAtoi(parts[parts.size() - from_end], &pid)) break;
  }
  return pid;
}

}  // namespace

uint32_t ProcessAnalysis::pid() const {
  return header().format_major() != 0 ? header().pid() : PidInName(reader->path());
}

std::string ProcessAnalysis::name() const {
  if (header().format_major() == 0) {
    const std::string& path = reader->path();
    return absl::StrCat("(cut off: ", path.substr(path.rfind('/') + 1), ")");
  }
  return ProcessName(header().executable(),
                     {header().arguments().begin(), header().arguments().end()});
}

bool ProcessAnalysis::eager_order_proven() const {
  return completeness.completeness.lost() == 0 && completeness.completeness.untimed() == 0 &&
         reader->tables().rotated_out.files == 0;
}

bool HeadsTellCounts(const trace::Tables& tables) {
  uint64_t in_chunks = 0, by_site = 0;
  for (const trace::ChunkStatistics& chunk : tables.chunk_statistics) {
    in_chunks += chunk.record_count();
  }
  for (const uint64_t records : tables.site_records) by_site += records;
  in_chunks += tables.rotated_out.records;
  for (const uint64_t records : tables.rotated_out.site_records) by_site += records;
  if (by_site != in_chunks) return false;
  if (tables.header.mode() == trace::MODE_COUNT) return in_chunks == 0;
  if (!tables.has_footer) return false;
  for (const trace::Problem& problem : tables.problems) {
    if (problem.kind() == trace::PROBLEM_CUPTI_DROPPED_RECORDS ||
        problem.kind() == trace::PROBLEM_RECORDS_DISCARDED ||
        problem.kind() == trace::PROBLEM_LAUNCH_ENTRIES_DROPPED) {
      return false;
    }
  }
  const std::vector<uint64_t> asked = tables.LaunchesBySite(tables.asked);
  const auto at = [](const std::vector<uint64_t>& values, size_t site) {
    return site < values.size() ? values[site] : 0;
  };
  const auto ran = [&](size_t site) {
    return at(tables.site_records, site) + at(tables.rotated_out.site_records, site);
  };
  if (ran(0) != 0) return false;
  for (size_t site = 1; site < std::max(asked.size(), tables.site_records.size()); ++site) {
    if (ran(site) != at(asked, site)) return false;
  }
  return true;
}

ProcessAnalysis AnalyzeTrace(std::unique_ptr<const trace::TraceReader> reader,
                             const catalog::Classifier& classifier, const AnalyzeOptions& options) {
  ProcessAnalysis analysis;
  analysis.index = std::make_unique<TraceIndex>(reader->tables(), classifier);
  const TraceIndex& index = *analysis.index;

  // A new analyzer that reads launches or records is added here.
  SlotTimes times(index);
  LaunchMatching matching(index);
  const std::array<Analyzer*, 2> analyzers = {&times, &matching};
  std::vector<std::string> chunk_errors;
  if (!options.counts_only) chunk_errors = FoldTrace(*reader, analyzers, options.fold);

  analysis.times = std::move(times).Finish();
  analysis.helper_owner = GraphHelperOwners(index, analysis.times.slot_stream);
  analysis.completeness = JudgeCompleteness(
      {.index = index,
       .issues = reader->issues(),
       .chunk_errors = chunk_errors,
       .matching = std::move(matching),
       .times = analysis.times,
       .counts_only = options.counts_only,
       .still_running =
           options.still_running || IsStillRunning(options.manifests, reader->tables().header),
       .end_not_seen = options.end_not_seen});
  analysis.reader = std::move(reader);
  return analysis;
}

}  // namespace hotproof::analyzers
