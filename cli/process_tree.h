// Which processes descend from one process, and what shows that they used a GPU. Owned and polled
// by `hotproof run` on its only thread; reads /proc and nothing else, changes nothing.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cli/process_stat.h"

namespace hotproof::cli {

// One descendant, as last seen.
struct SeenProcess {
  pid_t pid = 0, parent_pid = 0;
  pid_t namespace_pid = 0;   // in a pid namespace of its own; 0: it is in the one of /proc
  uint64_t start_ticks = 0;  // /proc/PID/stat field 22
  std::string executable;
  std::vector<std::string>
      arguments;  // not redacted; as its program was started, before setproctitle
  bool alive = true;
  bool preloaded = false;  // the tracer's library was mapped
  // Opened /dev/nvidia-uvm itself (not inherited by a fork), or, `marked_untraced` then, the tracer
  // in it says that it could not make a trace (trace/untraced_mark.h).
  bool holds_uvm = false;
  // Its descriptors may not be read (another user's, or not dumpable): nobody knows what it holds.
  bool unreadable = false;
  bool marked_untraced = false;
};

class ProcessTree {
 public:
  // `root`: whose descendants count (itself does not). `library_name`: file name to look for among
  // the mappings. `proc`: where procfs is mounted; another folder in tests.
  ProcessTree(pid_t root, std::string library_name, std::string proc = "/proc");

  // Looks once. True when something changed that SeenProcess shows.
  bool Poll();

  // Everything seen so far, in the order of appearance; ended processes stay.
  std::vector<SeenProcess> processes() const;
  std::vector<pid_t> alive() const;

 private:
  struct Entry {
    SeenProcess seen;
    ProcessStat::Image image;
    bool inherited_uvm = false;  // a forked child's copy of its parent's descriptor
    bool doubtful_uvm = false;   // perhaps such a copy
    int mapping_looks_left = 0;
    uint64_t holds_uvm_since_poll = 0;
  };

  struct Held {
    bool uvm = false, mark = false, unreadable = false;
  };
  Held HeldBy(pid_t pid) const;
  bool MapsLibrary(pid_t pid) const;
  std::vector<pid_t> ListPids() const;
  void Add(pid_t pid, const ProcessStat& stat);
  bool Refresh(Entry& entry, const ProcessStat& stat, bool first);
  bool RefreshUvm(Entry& entry, bool first);

  const pid_t root_;
  const std::string library_name_, proc_;
  std::vector<Entry> entries_;
  std::map<pid_t, size_t> alive_;  // pid -> entry
  std::set<pid_t> others_;         // processes that are not ours
  uint64_t polls_ = 0;
};

}  // namespace hotproof::cli
