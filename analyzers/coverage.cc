#include "analyzers/coverage.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analyzers/loss_table.h"
#include "analyzers/number.h"

namespace hotproof::analyzers {
namespace {

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool IsTraceOf(const trace::Header& header, const trace::Process& process,
               const trace::Manifest& manifest) {
  return MayBeSame({header.pid(), header.process_start_ticks(), header.boot_id()},
                   InItsTrace(process, manifest.boot_id()));
}

bool IsListed(const trace::Header& header, const std::vector<trace::Manifest>& manifests) {
  return std::any_of(manifests.begin(), manifests.end(), [&](const trace::Manifest& manifest) {
    return std::any_of(
        manifest.processes().begin(), manifest.processes().end(),
        [&](const trace::Process& process) { return IsTraceOf(header, process, manifest); });
  });
}

// The last process of that pid: those before it have ended.
trace::Process LastOf(uint32_t pid, const trace::Manifest& manifest) {
  trace::Process last;
  last.set_pid(pid);
  for (const trace::Process& process : manifest.processes()) {
    if (process.pid() == pid) last = process;
  }
  return last;
}

}  // namespace

bool MayBeSame(const ProcessIdentity& a, const ProcessIdentity& b) {
  auto same_or_unknown = [](const auto& x, const auto& y, const auto& unknown) {
    return x == y || x == unknown || y == unknown;
  };
  return a.pid == b.pid && same_or_unknown(a.start_ticks, b.start_ticks, uint64_t{0}) &&
         same_or_unknown(a.boot_id, b.boot_id, std::string());
}

ProcessIdentity InItsTrace(const trace::Process& process, const std::string& boot_id) {
  const uint32_t pid = process.namespace_pid() != 0 ? process.namespace_pid() : process.pid();
  return {pid, process.start_ticks(), boot_id};
}

absl::StatusOr<trace::Manifest> LoadManifest(const std::string& path) {
  std::ifstream file(path);
  if (!file)
    return absl::NotFoundError(absl::StrCat(path, ": cannot be read; check its permissions"));
  std::stringstream text;
  text << file.rdbuf();
  trace::Manifest manifest;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;  // of a newer hotproof
  const auto status = google::protobuf::util::JsonStringToMessage(text.str(), &manifest, options);
  if (!status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": not a hotproof manifest (", std::string(status.message()),
                     "); move it away to judge the traces without one"));
  }
  return manifest;
}

Coverage JudgeCoverage(const std::vector<trace::Manifest>& manifests,
                       const std::vector<const trace::Header*>& headers,
                       const std::vector<const trace::Header*>& apart) {
  Coverage coverage;
  if (manifests.empty()) return coverage;
  coverage.state = apart.empty() ? report::Process::FULL : report::Process::NOT_CHECKED;
  auto add_problem = [&](Finding finding, uint32_t pid, const std::string& detail) {
    const LossKind& kind = LossOf(finding);
    report::Problem& problem = coverage.problems.emplace_back();
    problem.set_severity(kind.severity);
    problem.set_pid(pid);
    problem.set_name(kind.name);
    problem.set_detail(detail.empty() ? kind.meaning : absl::StrCat(kind.meaning, ": ", detail));
    problem.set_advice(kind.advice);
    coverage.state = report::Process::PARTIAL;
  };
  for (const trace::Manifest& manifest : manifests) {
    std::map<std::pair<uint32_t, uint64_t>, int> alike;  // seen so far
    for (const trace::Process& process : manifest.processes()) {
      if (!process.gpu() && !process.gpu_unknown()) continue;
      const auto traces = std::count_if(
          headers.begin(), headers.end(),
          [&](const trace::Header* header) { return IsTraceOf(*header, process, manifest); });
      // In pid namespaces of their own several may call themselves the same.
      const ProcessIdentity identity = InItsTrace(process, "");
      if (traces > alike[{identity.pid, identity.start_ticks}]++) continue;
      coverage.missing.push_back(process);
      add_problem(FindingOf(process), process.pid(),
                  ProcessName(process.executable(),
                              {process.arguments().begin(), process.arguments().end()}));
    }
    for (const uint32_t pid : manifest.alive_pids()) {
      const trace::Process process = LastOf(pid, manifest);
      const bool traced = std::any_of(
          headers.begin(), headers.end(),
          [&](const trace::Header* header) { return IsTraceOf(*header, process, manifest); });
      if (traced || process.gpu()) continue;
      coverage.still_running.push_back(process);
      add_problem(Finding::kRanOn, pid,
                  ProcessName(process.executable(),
                              {process.arguments().begin(), process.arguments().end()}));
    }
    if (manifest.finished()) continue;
    coverage.unfinished = true;
    add_problem(Finding::kManifestUnfinished, 0, "");
  }
  for (const trace::Header* header : headers) {
    if (IsListed(*header, manifests) || IsStillRunning(manifests, *header)) continue;
    coverage.not_listed.push_back(header->pid());
    add_problem(Finding::kNotListed, header->pid(),
                ProcessName(header->executable(),
                            {header->arguments().begin(), header->arguments().end()}));
  }
  return coverage;
}

bool IsStillRunning(const std::vector<trace::Manifest>& manifests, const trace::Header& header) {
  for (const trace::Manifest& manifest : manifests) {
    for (const uint32_t pid : manifest.alive_pids()) {
      if (IsTraceOf(header, LastOf(pid, manifest), manifest)) return true;
    }
  }
  return false;
}

bool HasEnded(const std::vector<trace::Manifest>& manifests, const trace::Header& header) {
  const bool listed =
      std::any_of(manifests.begin(), manifests.end(), [&](const trace::Manifest& manifest) {
        return manifest.finished() && IsListed(header, {manifest});
      });
  return listed && !IsStillRunning(manifests, header);
}

Finding FindingOf(const trace::Process& missing) {
  if (missing.traced()) return Finding::kTraceGone;
  return missing.gpu() || !missing.gpu_unknown() ? Finding::kNoTrace : Finding::kNotLookedInto;
}

std::string NoTraceOf(const std::string& folder) {
  return absl::StrCat("no trace (.hpt) of ", folder);
}

std::string ProcessName(const std::string& executable, const std::vector<std::string>& arguments) {
  std::string name = BaseName(executable);
  if (name.empty() && !arguments.empty()) name = BaseName(arguments[0]);
  if (name.empty()) return "(unnamed)";
  // The script or module an interpreter runs says more than the interpreter.
  for (size_t i = 1; i < arguments.size(); ++i) {
    if (arguments[i] == "-m" || arguments[i] == "-c") {
      if (arguments[i] == "-m" && i + 1 < arguments.size()) {
        absl::StrAppend(&name, " -m ", arguments[i + 1]);
      }
      break;
    }
    if (arguments[i] == "<redacted>") break;  // trace/redact.h
    if (arguments[i].empty() || arguments[i][0] == '-') continue;
    absl::StrAppend(&name, " ", BaseName(arguments[i]));
    break;
  }
  return name;
}

}  // namespace hotproof::analyzers
