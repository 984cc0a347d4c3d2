// Who this process is, for the trace's header and file names. Reads /proc; called once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hotproof::tracer {

struct ProcessInfo {
  uint32_t pid = 0, parent_pid = 0;
  uint64_t start_ticks = 0;  // /proc/self/stat field 22
  std::string host, boot_id, executable;
  std::vector<std::string> arguments;    // redacted (trace/redact.h)
  std::vector<std::string> environment;  // allow-listed and redacted, NAME=VALUE
  std::string driver_name;               // /proc/driver/nvidia/version, e.g. "580.159.04"

  static ProcessInfo Read();
};

// A new trace's file name without its extension: host-pid-<random>, only letters, digits, '-', '.'.
std::string TraceFileStem(const ProcessInfo& info);

}  // namespace hotproof::tracer
