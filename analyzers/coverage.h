// Whether every GPU process of a run has a trace, by the manifest that `hotproof run` left.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analyzers/loss_table.h"
#include "proto/manifest.pb.h"
#include "proto/report.pb.h"
#include "trace/tables.h"

namespace hotproof::analyzers {

// What tells a process from others, as far as it is known; 0 and empty: not known.
struct ProcessIdentity {
  uint32_t pid = 0;
  uint64_t start_ticks = 0;
  std::string boot_id;
};
// Nothing that is known of both says otherwise.
bool MayBeSame(const ProcessIdentity& a, const ProcessIdentity& b);
// What a process of the manifest is called in its trace and counter file: by the number that it has
// itself.
ProcessIdentity InItsTrace(const trace::Process& process, const std::string& boot_id);

// Reads hotproof-manifest.json. Errors: one line with the path and what to do.
absl::StatusOr<trace::Manifest> LoadManifest(const std::string& path);

struct Coverage {
  report::Process::Coverage state = report::Process::NOT_CHECKED;  // of the run: never MISSING
  std::vector<trace::Process> missing;  // GPU processes without a trace, folders without any
  // Without a GPU until `hotproof run` ended, and running then: what they did later is not known.
  std::vector<trace::Process> still_running;
  std::vector<uint32_t> not_listed;  // pids of traces that no manifest has
  bool unfinished = false;           // by a manifest, `hotproof run` has not ended
  std::vector<report::Problem> problems;

  bool partial() const { return state == report::Process::PARTIAL; }
};

// `headers`: of the traces that were read. No manifest: NOT_CHECKED. A trace that the manifests do not list
// shows that they are not the whole. `apart`: of traces in folders that have none, beside folders that do.
Coverage JudgeCoverage(const std::vector<trace::Manifest>& manifests,
                       const std::vector<const trace::Header*>& headers,
                       const std::vector<const trace::Header*>& apart = {});

// `run` saw that it ended.
bool HasEnded(const std::vector<trace::Manifest>& manifests, const trace::Header& header);
bool IsStillRunning(const std::vector<trace::Manifest>& manifests, const trace::Header& header);

// Of those missing: a folder that was named as one of several, not a process.
inline bool IsFolder(const trace::Process& missing) {
  return !missing.gpu() && !missing.gpu_unknown();
}
// What is wrong with one that is missing.
Finding FindingOf(const trace::Process& missing);
std::string NoTraceOf(const std::string& folder);
inline constexpr char kNoTraceInAdvice[] =
    "name the folders of runs that were traced alone; where it was run under hotproof run, "
    "hotproof "
    "doctor says what stops the preload";

// "python3 serve.py" from an executable and its arguments.
std::string ProcessName(const std::string& executable, const std::vector<std::string>& arguments);

}  // namespace hotproof::analyzers
