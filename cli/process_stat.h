// What procfs says of one process: /proc/PID/stat. Used by the process tree of `hotproof run` and
// by trace_end.h.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace hotproof::cli {

struct ProcessStat {
  // What tells one program from the next in the same process: exec changes both addresses.
  struct Image {
    uint64_t stack_address = 0, arguments_address = 0;
    // A process that is ending gave its memory back and shows zeros, for seconds when a GPU's has
    // to be freed, before it becomes a zombie.
    bool known() const { return stack_address != 0 || arguments_address != 0; }
    friend bool operator==(const Image&, const Image&) = default;
  };
  char state = 0;
  int threads = 0;
  pid_t parent_pid = 0;
  uint64_t start_ticks = 0;
  Image image;
  // A zombie with threads left is a process whose first thread ended early.
  bool runs() const { return state != 'X' && (state != 'Z' || threads > 1); }
};

// nullopt: there is no such process. `proc`: where procfs is mounted; another folder in tests.
std::optional<ProcessStat> ReadProcessStat(pid_t pid, const std::string& proc = "/proc");

// The number that a process has in its own pid namespace (a container's), which is what it takes
// itself for: `pid` where that is the one of `proc`. 0: not known.
pid_t NamespacePid(pid_t pid, const std::string& proc = "/proc");

// Of this boot of this machine; empty: not known.
std::string BootId();

// Whether the process of that pid, start (/proc/PID/stat field 22) and boot is seen to run here. False
// also where it can't be told: it ran on another machine, in another container, or the start is not known.
bool IsSeenRunning(uint32_t pid, uint64_t start_ticks, const std::string& boot_id);

}  // namespace hotproof::cli
