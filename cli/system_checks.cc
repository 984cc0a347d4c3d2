#include "cli/system_checks.h"

#include <gnu/libc-version.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "cli/read_file.h"
#include "cli/tracer_library.h"
#include "trace/cupti_search.h"
#include "trace/quirks.h"

extern char** environ;

namespace hotproof::cli {
namespace {

namespace fs = std::filesystem;
using doctor::Check;
using doctor::Report;
using doctor::State;

constexpr uint64_t kLittleSpaceBytes = uint64_t{1} << 30;

// The entries of a folder; those that could be listed.
std::vector<fs::path> EntriesOf(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    entries.push_back(it->path());
  }
  return entries;
}

void Add(Report& report, const std::string& id, State state, const std::string& found,
         const std::string& advice = "") {
  Check& check = *report.add_checks();
  check.set_id(id);
  check.set_state(state);
  check.set_found(found);
  check.set_advice(advice);
}

void CheckTracer(const Machine&, Report& report) {
  const absl::StatusOr<std::string> library = FindTracerLibrary();
  if (library.ok()) {
    Add(report, "tracer", State::OK, *library);
  } else {
    const bool misplaced = absl::IsFailedPrecondition(library.status());
    Add(report, "tracer", State::BROKEN, std::string(library.status().message()),
        misplaced ? "move hotproof's bin/ and lib/ to a path without them"
                  : "build it, or install bin/ and lib/ side by side");
  }
}

void CheckLibc(const Machine&, Report& report) {
  Add(report, "libc", State::OK, absl::StrCat("glibc ", gnu_get_libc_version()));
}

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  ..."
void CheckKernelDriver(const Machine& machine, Report& report) {
  const std::string text = ReadFile(machine.root + "/proc/driver/nvidia/version");
  std::string version;
  for (absl::string_view word : absl::StrSplit(text.substr(0, text.find('\n')), ' ')) {
    if (version.empty() && absl::StrContains(word, ".") &&
        word.find_first_not_of("0123456789.") == absl::string_view::npos) {
      version = std::string(word);
    }
  }
  if (text.empty()) {
    Add(report, "driver", State::MISSING, "no NVIDIA kernel driver is loaded",
        "run on a machine with an NVIDIA GPU; in a container, give it the GPUs (docker run --gpus "
        "all)");
  } else {
    Add(report, "driver", State::OK, version.empty() ? "of unknown version" : version);
  }
}

void CheckGpus(const Machine& machine, Report& report) {
  std::vector<std::string> models;
  for (const fs::path& gpu : EntriesOf(machine.root + "/proc/driver/nvidia/gpus")) {
    for (absl::string_view line : absl::StrSplit(ReadFile(gpu / "information"), '\n')) {
      if (absl::ConsumePrefix(&line, "Model:")) {
        models.emplace_back(absl::StripAsciiWhitespace(line));
      }
    }
  }
  if (models.empty()) {
    Add(report, "gpus", State::MISSING, "the driver lists no GPU");
  } else {
    Add(report, "gpus", State::OK, absl::StrJoin(models, ", "));
  }
}

void CheckDevices(const Machine& machine, Report& report) {
  for (const char* name : {"nvidiactl", "nvidia-uvm"}) {
    const std::string device = absl::StrCat("/dev/", name);
    if (access((machine.root + device).c_str(), R_OK | W_OK) == 0) {
      Add(report, name, State::OK, absl::StrCat(device, " can be opened"));
    } else if (errno != ENOENT) {
      Add(report, name, State::MISSING, absl::StrCat(device, ": ", std::strerror(errno)),
          "ask for access to the device");
    } else {
      // The driver's setuid helper makes them at the first use, but not inside a container.
      Add(report, name, State::WARNING, absl::StrCat("there is no ", device),
          "the first CUDA program makes it; a container has to be given it");
    }
  }
}

void CheckDriverLibrary(const Machine& machine, Report& report) {
  const LoadedLibrary library = machine.probe_driver();
  if (library.found) {
    Add(report, "libcuda", State::OK,
        absl::StrCat(library.path, ", CUDA ", library.version / 1000, ".",
                     library.version % 1000 / 10));
  } else {
    Add(report, "libcuda", State::MISSING, library.error, "it comes with the driver");
  }
}

// Python packages bring a CUPTI of their own, which a program that uses them loads; the tracer
// takes the copy that is loaded already.
std::optional<std::string> CuptiOfPythonPackages(const Machine& machine) {
  std::vector<fs::path> prefixes;
  if (!machine.Variable("VIRTUAL_ENV").empty())
    prefixes.emplace_back(machine.Variable("VIRTUAL_ENV"));
  for (absl::string_view folder :
       absl::StrSplit(machine.Variable("PATH"), ':', absl::SkipEmpty())) {
    std::error_code error;
    const fs::path python = fs::path(std::string(folder)) / "python3";
    if (!fs::exists(python, error)) continue;
    prefixes.push_back(fs::path(std::string(folder)).parent_path());
    prefixes.push_back(fs::canonical(python, error).parent_path().parent_path());
    break;
  }
  prefixes.emplace_back("/usr/local");
  if (!machine.Variable("HOME").empty())
    prefixes.push_back(fs::path(machine.Variable("HOME")) / ".local");
  for (const fs::path& prefix : prefixes) {
    std::error_code error;
    for (const fs::path& python : EntriesOf(prefix / "lib")) {
      if (!absl::StartsWith(python.filename().string(), "python3")) continue;
      for (const char* packages : {"site-packages", "dist-packages"}) {
        for (const char* package : {"nvidia/cu13/lib", "nvidia/cuda_cupti/lib"}) {
          for (std::string_view soname : trace::kCuptiSonames) {
            const fs::path file = python / packages / package / soname;
            if (fs::exists(file, error)) return file.string();
          }
        }
      }
    }
  }
  return std::nullopt;
}

void SetCupti(const LoadedLibrary& library, const std::string& found_by, Report& report) {
  const auto version = static_cast<uint32_t>(library.version);
  report.mutable_cupti()->set_path(library.path);
  report.mutable_cupti()->set_version(version);
  report.mutable_cupti()->set_found_by(found_by);
  const std::string found = absl::StrCat(CuptiVersionName(version), " (", version, "), ",
                                         library.path, ", by ", found_by);
  if (version < trace::kOldestSupportedCupti) {
    Add(report, "cupti", State::WARNING, found,
        "older than 12.6, not supported; name a newer one in HOTPROOF_CUPTI");
  } else if (version > trace::kNewestSupportedCupti) {
    Add(report, "cupti", State::WARNING, found,
        "newer than known: launches are counted, not timed");
  } else {
    Add(report, "cupti", State::OK, found);
  }
  for (const trace::CuptiQuirk& quirk : trace::kCuptiQuirks) {
    if (!quirk.AppliesTo(version)) continue;
    doctor::Quirk& entry = *report.add_quirks();
    entry.set_id(std::string(quirk.id));
    entry.set_behaviour(std::string(quirk.behaviour));
    entry.set_response(std::string(quirk.response));
  }
}

void CheckCupti(const Machine& machine, Report& report) {
  std::string first_error;
  const std::string named = machine.Variable("HOTPROOF_CUPTI");
  for (const trace::CuptiCandidate& candidate :
       trace::CuptiCandidates(named, machine.Variable("CUDA_HOME"))) {
    const LoadedLibrary library = machine.probe_cupti(candidate.name);
    if (library.found) return SetCupti(library, std::string(candidate.why), report);
    if (first_error.empty()) first_error = library.error;
  }
  const std::optional<std::string> of_python =
      named.empty() ? CuptiOfPythonPackages(machine) : std::nullopt;
  if (of_python) {
    const LoadedLibrary library = machine.probe_cupti(*of_python);
    if (library.found)
      return SetCupti(library, "Python packages, for programs that load them", report);
  }
  Add(report, "cupti", State::MISSING, absl::StrCat("not found: ", first_error),
      named.empty()
          ? "install CUDA's CUPTI (pip install nvidia-cuda-cupti), or set HOTPROOF_CUPTI to it"
          : "correct HOTPROOF_CUPTI");
}

// Libraries that the driver or the loader brings into every CUDA process.
void CheckInjections(const Machine& machine, Report& report) {
  std::vector<std::string> found;
  for (const char* name :
       {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "LD_PRELOAD", "LD_AUDIT"}) {
    const std::string value = machine.Variable(name);
    if (!value.empty()) found.push_back(absl::StrCat(name, "=", value));
  }
  for (const auto& [name, value] : machine.environment) {
    if (absl::StartsWith(name, "NSYS_") || absl::StartsWith(name, "NV_TPS_")) {
      found.push_back(absl::StrCat(name, "=", value));
    }
  }
  if (found.empty()) {
    Add(report, "injections", State::OK, "no other tool is loaded into CUDA processes");
  } else {
    Add(report, "injections", State::WARNING, absl::StrJoin(found, ", "),
        "two tools that use CUPTI disturb each other: trace without the other one");
  }
}

// "RmProfilingAdminOnly: 1" keeps hardware counters to root. Counting launches and timing kernels,
// all that hotproof does, is allowed to everyone.
void CheckPermissions(const Machine& machine, Report& report) {
  const std::string parameters = ReadFile(machine.root + "/proc/driver/nvidia/params");
  if (parameters.empty()) return;
  if (absl::StrContains(parameters, "RmProfilingAdminOnly: 1")) {
    Add(report, "permissions", State::NOTE,
        "the driver keeps hardware counters to root; counting and timing kernels needs none");
  } else {
    Add(report, "permissions", State::OK, "profiling is allowed to everyone");
  }
}

// Makes a file and removes it: root has every permission, also where nothing can be made. 0 or an
// errno.
int TryToWrite(const fs::path& folder) {
  std::string file = folder / ".hotproof-doctor-XXXXXX";
  const int fd = mkstemp(file.data());
  if (fd < 0) return errno;
  close(fd);
  unlink(file.c_str());
  return 0;
}

void CheckFolder(const Machine& machine, Report& report) {
  // A folder that does not exist yet is made by `run`: then its nearest parent counts.
  std::error_code error;
  fs::path folder = fs::weakly_canonical(fs::absolute(machine.folder, error), error);
  while (!fs::exists(folder, error) && folder.has_relative_path()) folder = folder.parent_path();
  if (!fs::is_directory(folder, error)) {
    return Add(report, "folder", State::BROKEN, folder.string() + " is no folder",
               "name another with -o");
  }
  struct statvfs status;
  if (statvfs(folder.c_str(), &status) != 0) {
    return Add(report, "folder", State::BROKEN,
               absl::StrCat(folder.string(), ": ", std::strerror(errno)), "name another with -o");
  }
  if (const int why = TryToWrite(folder); why != 0) {
    return Add(report, "folder", State::BROKEN,
               absl::StrCat(folder.string(), " cannot be written: ", std::strerror(why)),
               "name another with -o");
  }
  const uint64_t free_bytes = uint64_t{status.f_bavail} * status.f_frsize;
  const std::string found = absl::StrCat(folder.string(), " has ", free_bytes >> 20, " MiB free");
  if (free_bytes < kLittleSpaceBytes) {
    Add(report, "folder", State::WARNING, found,
        "when it is full timing stops and counting goes on");
  } else {
    Add(report, "folder", State::OK, found);
  }
}

void CheckCuda(const Machine& machine, Report& report) {
  if (!machine.probe_cuda) return;
  const ProbeAnswer answer =
      machine.probe_cuda(report.has_cupti() ? report.cupti().path() : "libcupti.so.13");
  Add(report, "probe", answer.ok ? State::OK : State::MISSING, answer.text);
}

}  // namespace

Machine Machine::This() {
  Machine machine;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(*variable, absl::MaxSplits('=', 1));
    machine.environment.insert(parts);
  }
  return machine;
}

std::string Machine::Variable(const std::string& name) const {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

std::string CuptiVersionName(unsigned version) {
  constexpr std::pair<unsigned, const char*> kBefore13[] = {
      {18, "11.8"}, {19, "12.0"}, {20, "12.2"}, {21, "12.3"}, {22, "12.4"},
      {23, "12.5"}, {24, "12.6"}, {26, "12.8"}, {27, "12.9"}, {28, "12.9.1"}};
  for (const auto& [number, name] : kBefore13) {
    if (version == number) return name;
  }
  if (version < 130000) return "of unknown version";
  const std::string name = absl::StrCat(version / 10000, ".", version / 100 % 100);
  return version % 100 == 0 ? name : absl::StrCat(name, ".", version % 100);
}

Report ExamineMachine(const Machine& machine) {
  using CheckFunction = void (*)(const Machine&, Report&);
  constexpr CheckFunction kChecks[] = {CheckTracer, CheckLibc,       CheckKernelDriver,
                                       CheckGpus,   CheckDevices,    CheckDriverLibrary,
                                       CheckCupti,  CheckInjections, CheckPermissions,
                                       CheckFolder, CheckCuda};
  Report report;
  for (CheckFunction check : kChecks) check(machine, report);
  report.set_can_trace(true);
  for (const Check& check : report.checks()) {
    if (check.state() == State::MISSING || check.state() == State::BROKEN)
      report.set_can_trace(false);
  }
  return report;
}

}  // namespace hotproof::cli
