// Whether the process of a trace runs, or has ended: by the lock that it holds on the file, by its
// pid, by what it left. Used by those who read traces while their process may still run, and by
// `hotproof run`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzers/coverage.h"
#include "trace/reader.h"

namespace hotproof::cli {

// Whether somebody has that trace open to write: its process runs, in any container of this machine
// (the tracer locks the file, trace/frame_output.h). nullopt: the file system has no locks.
std::optional<bool> IsBeingWritten(const std::string& trace_path);

// Whether the process that the trace names is seen to run here.
bool IsRunning(const std::string& trace_path);

// Whether it is known that all that will ever be in the trace is there. One without an end mark is
// of a process that was killed, or a copy that was made while it ran. `closed`: its process does
// not write to it.
bool IsEndSeen(const trace::TraceReader& reader, const std::vector<trace::Manifest>& manifests,
               bool closed);

}  // namespace hotproof::cli
