// Which process wrote a trace, read from the beginning of the file alone: `hotproof run` asks while
// the process may still be writing. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hotproof::cli {

struct TraceIdentity {
  std::string path;
  uint32_t pid = 0, parent_pid = 0;
  uint64_t start_ticks = 0;  // /proc/PID/stat field 22
  bool preloaded = false;    // not only brought in by the driver
  std::string executable;
  std::vector<std::string> arguments;  // redacted by the tracer
};

// Nothing: not a trace, or its first frame is not complete yet.
std::optional<TraceIdentity> ReadTraceIdentity(const std::string& path);

}  // namespace hotproof::cli
