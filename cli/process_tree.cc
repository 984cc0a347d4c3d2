#include "cli/process_tree.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "cli/read_file.h"
#include "trace/untraced_mark.h"

namespace hotproof::cli {
namespace {

constexpr char kUvmDevice[] = "/dev/nvidia-uvm";
// The loader maps preloaded libraries within the first milliseconds after exec.
constexpr int kMappingLooks = 4;

std::string ReadLink(const std::string& path) {
  char target[4096];
  const ssize_t length = readlink(path.c_str(), target, sizeof(target));
  return length > 0 ? std::string(target, static_cast<size_t>(length)) : std::string();
}

// Calls visit(name) for each entry of a folder that begins with a digit; false when it cannot be
// read.
template <typename Visit>
bool ForEachNumber(const std::string& folder, Visit visit) {
  DIR* directory = opendir(folder.c_str());
  if (directory == nullptr) return false;
  while (const dirent* entry = readdir(directory)) {
    if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9') visit(entry->d_name);
  }
  closedir(directory);
  return true;
}

std::vector<std::string> SplitAtZeros(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\0', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

ProcessTree::ProcessTree(pid_t root, std::string library_name, std::string proc)
    : root_(root), library_name_(std::move(library_name)), proc_(std::move(proc)) {}

ProcessTree::Held ProcessTree::HeldBy(pid_t pid) const {
  const std::string folder = proc_ + "/" + std::to_string(pid) + "/fd";
  Held held;
  const bool listed = ForEachNumber(folder, [&](const char* name) {
    const std::string target = ReadLink(folder + "/" + name);
    held.uvm |= target == kUvmDevice;
    held.mark |= target == trace::kUntracedLink;
  });
  held.unreadable = !listed && errno != ENOENT && errno != ESRCH;
  return held;
}

bool ProcessTree::MapsLibrary(pid_t pid) const {
  std::ifstream maps(proc_ + "/" + std::to_string(pid) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.ends_with("/" + library_name_)) return true;
  }
  return false;
}

std::vector<pid_t> ProcessTree::ListPids() const {
  std::vector<pid_t> pids;
  ForEachNumber(proc_, [&](const char* name) { pids.push_back(std::atoi(name)); });
  std::sort(pids.begin(), pids.end());
  return pids;
}

void ProcessTree::Add(pid_t pid, const ProcessStat& stat) {
  Entry entry;
  entry.seen.pid = pid;
  entry.seen.parent_pid = stat.parent_pid;
  if (const pid_t own = NamespacePid(pid, proc_); own != pid) entry.seen.namespace_pid = own;
  entry.seen.start_ticks = stat.start_ticks;
  alive_[pid] = entries_.size();
  entries_.push_back(std::move(entry));
  Refresh(entries_.back(), stat, true);
}

// A descriptor that a process had when it was first seen, running the program of a parent that
// already held one, came with the fork. CUDA does not work in such a child, so it is no GPU
// process; after an exec (the driver's descriptors close then) it is judged anew. The tracer's mark
// counts as one of the driver's.
bool ProcessTree::RefreshUvm(Entry& entry, bool first) {
  if (entry.seen.holds_uvm) return false;
  const Held held = HeldBy(entry.seen.pid);
  if (held.unreadable) return !std::exchange(entry.seen.unreadable, true);
  entry.seen.unreadable = false;
  if (!held.uvm && !held.mark) {
    entry.inherited_uvm = false;
    return false;
  }
  if (first) {
    const auto found = alive_.find(entry.seen.parent_pid);
    const Entry* parent = found == alive_.end() ? nullptr : &entries_[found->second];
    const bool may_be_inherited =
        parent != nullptr && parent->seen.holds_uvm && parent->image == entry.image;
    // Seen in the same poll, nobody knows which came first: then it counts until an exec clears it
    // up.
    entry.inherited_uvm = may_be_inherited && parent->holds_uvm_since_poll < polls_;
    entry.doubtful_uvm = may_be_inherited && !entry.inherited_uvm;
  }
  if (entry.inherited_uvm) return false;
  entry.seen.holds_uvm = true;
  entry.seen.marked_untraced = held.mark;
  entry.holds_uvm_since_poll = polls_;
  return true;
}

bool ProcessTree::Refresh(Entry& entry, const ProcessStat& stat, bool first) {
  const std::string folder = proc_ + "/" + std::to_string(entry.seen.pid);
  bool changed = first;
  const bool new_image = first || (stat.image.known() && !(stat.image == entry.image));
  if (new_image) {
    entry.image = stat.image;
    entry.inherited_uvm = false;
    if (std::exchange(entry.doubtful_uvm, false)) entry.seen.holds_uvm = false;
    entry.mapping_looks_left = kMappingLooks;
    entry.seen.preloaded = false;
    entry.seen.arguments.clear();
    changed = true;
  }
  if (entry.seen.arguments.empty()) {
    // Empty while the program is being loaded, and for good once the process has ended.
    std::vector<std::string> arguments = SplitAtZeros(ReadFile(folder + "/cmdline"));
    if (!arguments.empty()) {
      entry.seen.arguments = std::move(arguments);
      entry.seen.executable = ReadLink(folder + "/exe");
      changed = true;
    }
  }
  if (!entry.seen.preloaded && entry.mapping_looks_left > 0) {
    --entry.mapping_looks_left;
    entry.seen.preloaded = MapsLibrary(entry.seen.pid);
    changed = changed || entry.seen.preloaded;
  }
  return RefreshUvm(entry, new_image) || changed;
}

bool ProcessTree::Poll() {
  ++polls_;
  bool changed = false;
  const std::vector<pid_t> pids = ListPids();

  // Those known: ended, another process under the same number, or perhaps another program by now.
  for (auto it = alive_.begin(); it != alive_.end();) {
    Entry& entry = entries_[it->second];
    const auto stat = ReadProcessStat(it->first, proc_);
    if (stat && stat->runs() && stat->start_ticks == entry.seen.start_ticks) {
      changed |= Refresh(entry, *stat, false);
      ++it;
    } else {
      entry.seen.alive = false;
      changed = true;
      it = alive_.erase(it);
    }
  }

  // Those new: a child may be listed before its parent, so look until nothing more is found.
  std::erase_if(others_,
                [&](pid_t pid) { return !std::binary_search(pids.begin(), pids.end(), pid); });
  std::map<pid_t, ProcessStat> pending;
  for (pid_t pid : pids) {
    if (pid == root_ || alive_.contains(pid) || others_.contains(pid)) continue;
    const auto stat = ReadProcessStat(pid, proc_);
    if (stat && stat->runs()) pending[pid] = *stat;
  }
  for (bool found = true; found;) {
    found = false;
    for (auto it = pending.begin(); it != pending.end();) {
      if (it->second.parent_pid == root_ || alive_.contains(it->second.parent_pid)) {
        Add(it->first, it->second);
        it = pending.erase(it);
        found = changed = true;
      } else {
        ++it;
      }
    }
  }
  // Somebody else's, if the parent is known to be; a parent that appeared meanwhile decides next
  // time.
  for (const auto& [pid, stat] : pending) {
    if (stat.parent_pid == 0 || std::binary_search(pids.begin(), pids.end(), stat.parent_pid)) {
      others_.insert(pid);
    }
  }
  return changed;
}

std::vector<SeenProcess> ProcessTree::processes() const {
  std::vector<SeenProcess> seen;
  seen.reserve(entries_.size());
  for (const Entry& entry : entries_) seen.push_back(entry.seen);
  return seen;
}

std::vector<pid_t> ProcessTree::alive() const {
  std::vector<pid_t> pids;
  for (const auto& [pid, index] : alive_) pids.push_back(pid);
  return pids;
}

}  // namespace hotproof::cli
