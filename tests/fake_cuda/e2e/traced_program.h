// Runs a program under the stand-in driver, with or without libhotproof.so preloaded, and reads
// what the tracer left. Used by the e2e tests, on one thread.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "trace/reader.h"

namespace hotproof::e2e {

struct RunOptions {
  bool traced = true;
  std::string out_directory;  // HOTPROOF_OUT
  std::string cupti;          // HOTPROOF_CUPTI; empty: the stand-in, whole
  std::string preload;        // one more library, when traced
  std::map<std::string, std::string> environment;
  int timeout_s = 20;  // then the program is killed and `timed_out` set
};

struct RunResult {
  bool exited = false;  // else by signal
  int code = 0;         // exit code or signal number
  bool timed_out = false;
  std::string output, errors;  // stdout, stderr
  // "pid": 123 becomes "pid": PID, so that two runs can be compared.
  std::string OutputWithoutPids() const;
};
RunResult RunProgram(const std::vector<std::string>& command, const RunOptions& options);

struct TracedLaunch {
  uint64_t correlation_id, enter_ns, call_ns;
};

struct TracedOperation {
  trace::OperationKind kind;
  uint32_t copy_kind, synchronization_type;
  uint64_t correlation_id, start_ns, end_ns;
  uint32_t stream_id;  // CUPTI's
  uint64_t node_id, amount, detail;
};

// One process's trace, added up. Keys are (kernel name, grid x).
using KernelCounts = std::map<std::pair<std::string, uint32_t>, uint64_t>;
struct TraceSummary {
  trace::Tables tables;
  std::vector<trace::ReadIssue> issues;
  uint64_t without_launch = 0;  // timed records whose launch is not known
  KernelCounts asked;     // by the counters, replays multiplied out
  KernelCounts recorded;  // timed and untimed records, by the site they were given
  uint64_t timed = 0, untimed = 0, unattributed = 0;
  uint64_t recorded_launches = 0;  // launch entries listed
  std::vector<TracedLaunch> launches;
  std::map<uint64_t, uint64_t> first_start_ns;  // of a launch's records, by its correlation id
  std::vector<TracedOperation> operations;

  uint64_t Asked() const;
  uint64_t Recorded() const { return timed + untimed; }
  // Count of the problem, 0 if it is not there; detail of its first entry.
  uint64_t ProblemCount(trace::ProblemKind kind) const;
  bool HasProblem(trace::ProblemKind kind) const;
  std::string ProblemDetail(trace::ProblemKind kind) const;
  std::string Describe() const;  // several lines, for a person
};

// Every trace in the folder, sorted by file name. A trace that can't be read fails the test.
std::vector<TraceSummary> ReadTraces(const std::string& directory);

// A folder of its own under the test's temporary folder, removed at the end of the process.
std::string NewDirectory();

// Paths that CMake gives: programs and libraries of the build.
std::string Probe();
std::string SelfCount();
std::string FaultsProgram();
std::string SlowDisk();  // to preload: programs/slow_disk.cc
std::string FakeCupti(const std::string& variant = "");  // "", "_without_exec_id", "_without_flush"

}  // namespace hotproof::e2e
