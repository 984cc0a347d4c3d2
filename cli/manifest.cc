#include "cli/manifest.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <set>
#include <utility>

#include "cli/render/json.h"
#include "trace/redact.h"

namespace hotproof::cli {
namespace {

// A build inside the run starts thousands of short-lived compilers; those that had nothing to do
// with a GPU are listed up to this many.
constexpr int kMaxPlainProcesses = 2000;

using Key = std::pair<uint32_t, uint64_t>;  // pid and start, as the process itself sees them

Key KeyOf(const SeenProcess& process) {
  const pid_t pid = process.namespace_pid != 0 ? process.namespace_pid : process.pid;
  return {static_cast<uint32_t>(pid), process.start_ticks};
}

// Processes with a trace of theirs. In pid namespaces of their own, several may have one key: then
// there are no more of them than traces, and those that used a GPU come first.
std::map<const SeenProcess*, const TraceIdentity*> MatchTraces(
    const std::vector<SeenProcess>& seen, const std::vector<TraceIdentity>& traces) {
  std::map<Key, std::vector<const TraceIdentity*>> by_key;
  for (const TraceIdentity& trace : traces)
    by_key[{trace.pid, trace.start_ticks}].push_back(&trace);
  std::map<const SeenProcess*, const TraceIdentity*> matched;
  for (const bool holds_uvm : {true, false}) {
    for (const SeenProcess& process : seen) {
      if (process.holds_uvm != holds_uvm) continue;
      const auto found = by_key.find(KeyOf(process));
      if (found == by_key.end() || found->second.empty()) continue;
      matched[&process] = found->second.back();
      found->second.pop_back();
    }
  }
  return matched;
}

bool WriteAll(int fd, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t n = write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) done += static_cast<size_t>(n);
  }
  return true;
}

}  // namespace

void TraceFolder::Refresh() {
  DIR* directory = opendir(path_.c_str());
  if (directory == nullptr) return;
  while (const dirent* entry = readdir(directory)) {
    const std::string name = entry->d_name;
    if (!name.ends_with(".hpt")) continue;
    std::optional<TraceIdentity>& identity = by_name_[name];
    if (!identity) identity = ReadTraceIdentity(path_ + "/" + name);
  }
  closedir(directory);
}

std::vector<TraceIdentity> TraceFolder::traces() const {
  std::vector<TraceIdentity> traces;
  for (const auto& [name, identity] : by_name_) {
    if (identity) traces.push_back(*identity);
  }
  return traces;
}

void FillProcesses(const std::vector<SeenProcess>& seen, const std::vector<TraceIdentity>& traces,
                   trace::Manifest& manifest) {
  std::set<Key> listed;
  const std::map<const SeenProcess*, const TraceIdentity*> traced = MatchTraces(seen, traces);

  manifest.clear_processes();
  int plain = 0;
  for (const SeenProcess& process : seen) {
    const Key key = KeyOf(process);
    const auto found = traced.find(&process);
    const bool has_trace = found != traced.end();
    const bool may_hold_uvm = !process.holds_uvm && process.unreadable;
    if (!has_trace && !process.holds_uvm && !may_hold_uvm && ++plain > kMaxPlainProcesses) continue;
    listed.insert(key);
    trace::Process& entry = *manifest.add_processes();
    entry.set_pid(static_cast<uint32_t>(process.pid));
    entry.set_namespace_pid(static_cast<uint32_t>(process.namespace_pid));
    entry.set_parent_pid(static_cast<uint32_t>(process.parent_pid));
    entry.set_start_ticks(process.start_ticks);
    entry.set_executable(process.executable);
    for (const std::string& argument : trace::RedactArguments(process.arguments)) {
      entry.add_arguments(argument);
    }
    entry.set_gpu(process.holds_uvm || has_trace);
    entry.set_gpu_unknown(may_hold_uvm && !has_trace);
    entry.set_traced(has_trace);
    // A short process may be gone before its mappings are looked at; its trace knows.
    entry.set_preloaded(process.preloaded || (has_trace && found->second->preloaded));
    entry.set_gpu_evidence(process.marked_untraced ? "no trace could be made"
                           : process.holds_uvm     ? "uvm fd"
                           : has_trace             ? "trace"
                                                   : "");
  }
  for (const TraceIdentity& trace : traces) {
    if (!listed.insert({trace.pid, trace.start_ticks}).second) continue;
    trace::Process& entry = *manifest.add_processes();
    entry.set_pid(trace.pid);
    entry.set_parent_pid(trace.parent_pid);
    entry.set_start_ticks(trace.start_ticks);
    entry.set_executable(trace.executable);
    for (const std::string& argument : trace.arguments) entry.add_arguments(argument);
    entry.set_gpu(true);
    entry.set_traced(true);
    entry.set_preloaded(trace.preloaded);
    entry.set_gpu_evidence("trace");
  }
}

namespace {

// Where the file system knows no such rename, another's file goes: the caller has looked for one
// before.
bool Publish(const std::string& temporary, const std::string& path, bool is_first) {
  if (is_first) {
    if (renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0)
      return true;
    if (errno != EINVAL && errno != ENOSYS) return false;
  }
  return rename(temporary.c_str(), path.c_str()) == 0;
}

}  // namespace

bool WriteManifest(const std::string& folder, const trace::Manifest& manifest, bool is_first) {
  const std::string json = render::ToJson(manifest);
  const std::string path = folder + "/" + kManifestName;
  const std::string temporary = path + "." + std::to_string(getpid()) + ".tmp";
  unlink(temporary.c_str());
  const int fd =
      open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  const bool written = WriteAll(fd, json);
  const int error = errno;
  if (close(fd) == 0 && written && Publish(temporary, path, is_first)) return true;
  const int last_error = written ? errno : error;
  unlink(temporary.c_str());
  errno = last_error;
  return false;
}

}  // namespace hotproof::cli
