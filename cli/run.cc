#include "cli/run.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "cli/child.h"
#include "cli/left_behind.h"
#include "cli/manifest.h"
#include "cli/option_checks.h"
#include "cli/process_stat.h"
#include "cli/process_tree.h"
#include "cli/terminal.h"
#include "cli/trace_end.h"
#include "cli/tracer_library.h"
#include "trace/redact.h"

extern char** environ;

namespace hotproof::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int kUsageError = 2;
constexpr int kNotStarted = 127;
constexpr int kPollMs = 50;
constexpr uint64_t kMostSeconds = 1'000'000'000;  // their nanoseconds fit into 64 bits
constexpr std::chrono::seconds kManifestPeriod(1);

struct Options {
  std::string out;
  std::string mode = "full";
  std::string record = "kernels";
  bool torch_ops = false;
  uint64_t rotate_bytes = 0, rotate_seconds = 0, keep_bytes = 0;
  std::vector<std::string> command;
};

bool ListsAs(const trace::Manifest& manifest, uint32_t pid, uint64_t start_ticks) {
  return std::any_of(manifest.processes().begin(), manifest.processes().end(),
                     [=](const trace::Process& process) {
                       return process.pid() == pid && process.start_ticks() == start_ticks;
                     });
}

uint64_t RealtimeNs() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::system_clock::now().time_since_epoch())
                                   .count());
}

int Fail(int exit_code, const std::string& what) {
  PrintError(what);
  return exit_code;
}

// The variables of the library that are the defaults of run's options.
constexpr std::pair<const char*, const char*> kVariables[] = {
    {"--mode", "HOTPROOF_MODE"},
    {"--record", "HOTPROOF_RECORD"},
    {"--rotate-size", "HOTPROOF_ROTATE_BYTES"},
    {"--rotate-every", "HOTPROOF_ROTATE_SECONDS"},
    {"--keep", "HOTPROOF_KEEP_BYTES"}};

// Gives options that the command line does not have what the environment says, as if it stood
// there.
void TakeVariables(CLI::App& run) {
  for (const auto& [name, variable] : kVariables) {
    CLI::Option& option = *run.get_option(name);
    const char* value = std::getenv(variable);
    if (!option.empty() || value == nullptr || *value == '\0') continue;
    try {
      option.add_result(value);
      option.run_callback();
    } catch (const CLI::ParseError& error) {
      throw CLI::ValidationError(absl::StrCat(variable, "=", value), error.what());
    }
  }
}

// A word as a shell takes it.
std::string ShellWord(const std::string& text) {
  constexpr char kPlain[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@%+,";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

// The folder of the torch hook (cupti_tracer/python/), beside the library; empty: it is not
// installed.
std::string TorchHookFolder(const std::string& library) {
  const fs::path folder = fs::path(library).parent_path() / "hotproof_python";
  std::error_code error;
  return fs::is_regular_file(folder / "sitecustomize.py", error) ? folder.string() : "";
}

// The caller's environment with the tracer in front of whatever else is preloaded.
std::vector<std::string> TracedEnvironment(const std::string& library, const std::string& out,
                                           const Options& options) {
  std::vector<std::string> preloads;
  // The library of a sanitizer build needs the sanitizer's runtime as the very first one. One that
  // was named is taken as it is.
  if (*HOTPROOF_SANITIZER_RUNTIME != '\0' && std::getenv("HOTPROOF_LIBRARY") == nullptr) {
    preloads.emplace_back(HOTPROOF_SANITIZER_RUNTIME);
  }
  preloads.push_back(library);
  const char* others = std::getenv("LD_PRELOAD");
  if (others != nullptr && *others != '\0') preloads.emplace_back(others);

  std::vector<std::string> environment = {absl::StrCat("LD_PRELOAD=", absl::StrJoin(preloads, ":")),
                                          absl::StrCat("HOTPROOF_OUT=", out),
                                          absl::StrCat("HOTPROOF_MODE=", options.mode),
                                          absl::StrCat("HOTPROOF_RECORD=", options.record)};
  const std::pair<const char*, uint64_t> limits[] = {
      {"HOTPROOF_ROTATE_BYTES=", options.rotate_bytes},
      {"HOTPROOF_ROTATE_SECONDS=", options.rotate_seconds},
      {"HOTPROOF_KEEP_BYTES=", options.keep_bytes}};
  for (const auto& [name, limit] : limits) {
    if (limit != 0) environment.push_back(absl::StrCat(name, limit));
  }
  if (options.torch_ops) {
    const char* operators = std::getenv("HOTPROOF_TORCH_OPS");
    const char* path = std::getenv("PYTHONPATH");
    environment.push_back(absl::StrCat(
        "HOTPROOF_TORCH_OPS=", operators == nullptr || *operators == '\0' ? "all" : operators));
    environment.push_back(absl::StrCat("PYTHONPATH=", TorchHookFolder(library),
                                       path == nullptr || *path == '\0' ? "" : ":",
                                       path == nullptr ? "" : path));
  }
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (options.torch_ops &&
        (text.starts_with("HOTPROOF_TORCH_OPS=") || text.starts_with("PYTHONPATH="))) {
      continue;
    }
    if (!text.starts_with("LD_PRELOAD=") && !text.starts_with("HOTPROOF_OUT=") &&
        !text.starts_with("HOTPROOF_MODE=") && !text.starts_with("HOTPROOF_RECORD=") &&
        !text.starts_with("HOTPROOF_ROTATE_") && !text.starts_with("HOTPROOF_KEEP_")) {
      environment.emplace_back(text);
    }
  }
  return environment;
}

std::string OfEarlierRun(const std::string& folder, const std::string& file) {
  return absl::StrCat(folder, " holds ", file,
                      " of an earlier run, and two runs would be counted as one; "
                      "give a new folder to -o");
}

// One run: the command, the processes it had, and the manifest that tells of them.
class Run {
 public:
  Run(std::string folder, const std::string& library, const Options& options)
      : folder_(std::move(folder)),
        tree_(getpid(), fs::path(library).filename()),
        traces_(folder_),
        environment_(TracedEnvironment(library, folder_, options)),
        command_(options.command) {
    manifest_.set_hotproof_version(HOTPROOF_VERSION);
    for (const std::string& argument : trace::RedactArguments(command_)) {
      manifest_.add_command(argument);
    }
    manifest_.set_start_realtime_ns(RealtimeNs());
    manifest_.set_boot_id(BootId());
  }

  int Execute() {
    if (!WriteManifest(folder_, manifest_, /*is_first=*/true)) {
      if (errno == EEXIST) return Fail(kUsageError, OfEarlierRun(folder_, kManifestName));
      return Fail(kUsageError,
                  absl::StrCat("cannot write into ", folder_, ": ", std::strerror(errno),
                               "; give another folder to -o (nothing was started)"));
    }
    if (const int error = child_.Start(command_, environment_); error != 0) {
      Finish(kNotStarted);
      return Fail(kNotStarted,
                  absl::StrCat("cannot start ", command_[0], ": ", std::strerror(error),
                               "; give a program that is there and may be run"));
    }
    signal(SIGPIPE, SIG_IGN);
    Look();
    while (!child_.ended()) {
      child_.Wait(kPollMs);
      Look();
    }
    // Others may outlive the command, and the tracer in them may still be writing.
    const auto look = [this] {
      Look();
      return !tree_.alive().empty() && !child_.asked_to_stop();
    };
    waited_in_vain_ = WaitForLeftBehind(look, Clock::now, [this] { child_.Wait(kPollMs); });
    Finish(child_.exit_code());
    PrintError(Summary());
    return child_.exit_code();
  }

 private:
  void Look() {
    changed_ |= tree_.Poll();
    if (Clock::now() < next_manifest_) return;
    next_manifest_ = Clock::now() + kManifestPeriod;
    const size_t before = traces_.traces().size();
    traces_.Refresh();
    if (!changed_ && traces_.traces().size() == before) return;
    FillProcesses(tree_.processes(), traces_.traces(), manifest_);
    // A full disk now may have room at the end.
    changed_ = !WriteManifest(folder_, manifest_);
  }

  void Finish(int exit_code) {
    traces_.Refresh();
    FillProcesses(tree_.processes(), traces_.traces(), manifest_);
    for (pid_t pid : tree_.alive()) manifest_.add_alive_pids(static_cast<uint32_t>(pid));
    // Processes that are no descendants and write here.
    for (const TraceIdentity& trace : traces_.traces()) {
      const auto& alive = manifest_.alive_pids();
      if (std::find(alive.begin(), alive.end(), trace.pid) == alive.end() &&
          IsBeingWritten(trace.path) == true && ListsAs(manifest_, trace.pid, trace.start_ticks))
        manifest_.add_alive_pids(trace.pid);
    }
    manifest_.set_exit_code(exit_code);
    manifest_.set_end_realtime_ns(RealtimeNs());
    manifest_.set_finished(true);
    manifest_error_ = WriteManifest(folder_, manifest_) ? 0 : errno;
  }

  // What came of it and what to do next, in one line.
  std::string Summary() const {
    std::vector<std::string> untraced;
    int gpu_processes = 0;
    for (const trace::Process& process : manifest_.processes()) {
      gpu_processes += process.gpu() ? 1 : 0;
      if (process.gpu() && !process.traced()) untraced.push_back(absl::StrCat(process.pid()));
    }
    std::string text;
    std::error_code error;
    if (!fs::is_directory(folder_, error)) {
      text = absl::StrCat(folder_,
                          " was removed meanwhile, and what was traced with it; run it again");
    } else if (gpu_processes == 0) {
      text = "no process used a GPU, so nothing was traced";
      // A command that failed early is the likelier reason than the machine.
      absl::StrAppend(
          &text, manifest_.exit_code() == 0
                     ? "; 'hotproof doctor' tells what is here"
                     : absl::StrCat("; the command ended with exit code ", manifest_.exit_code()));
    } else {
      text = Traces();
    }
    if (!untraced.empty()) {
      absl::StrAppend(&text, "; GPU processes without a trace: ", absl::StrJoin(untraced, " "),
                      " (see 'hotproof doctor')");
    }
    if (manifest_.alive_pids_size() > 0) {
      absl::StrAppend(
          &text, "; still running",
          waited_in_vain_ ? absl::StrCat(" after ", kMostWaitForLeftBehind.count(), " s") : "",
          ": ", absl::StrJoin(manifest_.alive_pids(), " "));
    }
    if (manifest_error_ != 0) {
      absl::StrAppend(&text, "; the manifest is incomplete: ", std::strerror(manifest_error_));
    }
    return text;
  }

  // Those that are there now: someone may have removed them.
  std::string Traces() const {
    const std::vector<TraceIdentity> all = traces_.traces();
    const auto there = std::count_if(all.begin(), all.end(), [](const TraceIdentity& trace) {
      std::error_code error;
      return fs::exists(trace.path, error);
    });
    if (there == 0 && !all.empty()) {
      return absl::StrCat("what was traced was removed from ", folder_, " meanwhile; run it again");
    }
    return absl::StrCat(there, there == 1 ? " trace in " : " traces in ", folder_,
                        "; next: hotproof report ", ShellWord(folder_));
  }

  const std::string folder_;
  ProcessTree tree_;
  TraceFolder traces_;
  const std::vector<std::string> environment_, command_;
  trace::Manifest manifest_;
  Child child_;
  Clock::time_point next_manifest_ = Clock::now() + kManifestPeriod;
  bool changed_ = false;
  bool waited_in_vain_ = false;  // for processes that outlived the command
  int manifest_error_ = 0;
};

// A file of an earlier run; "": there is none. Traces of two runs in one folder would be added up
// and judged as one.
std::string FileOfEarlierRun(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const fs::path& file = it->path();
    if (file.filename() == kManifestName || file.extension() == ".hpt" ||
        file.extension() == ".hps" || file.extension() == ".hpc") {
      return file.filename();
    }
  }
  return "";
}

int Main(const Options& options) {
  const absl::StatusOr<std::string> library = FindTracerLibrary();
  if (!library.ok()) return Fail(kUsageError, std::string(library.status().message()));
  if (options.torch_ops && TorchHookFolder(*library).empty()) {
    return Fail(kUsageError, absl::StrCat("--torch-ops: there is no hotproof_python/ beside ",
                                          *library, "; install hotproof as a whole"));
  }
  std::error_code error;
  fs::create_directories(options.out, error);
  const fs::path folder = error ? fs::path() : fs::canonical(options.out, error);
  if (error || !fs::is_directory(folder)) {
    return Fail(kUsageError,
                absl::StrCat("cannot create the folder ", options.out, ": ",
                             error ? error.message() : "it is a file", "; give another one to -o"));
  }
  if (const std::string file = FileOfEarlierRun(folder); !file.empty()) {
    return Fail(kUsageError, OfEarlierRun(folder, file));
  }
  return Run(folder, *library, options).Execute();
}

}  // namespace

CLI::App* AddRun(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* run = app.add_subcommand("run", "Run a command and trace every GPU process it starts");
  run->positionals_at_end();  // what follows the command's first word is the command's
  run->add_option("-o,--out", options->out, "New folder for the traces and the manifest")
      ->required()
      ->type_name("DIR");
  run->add_option("--mode", options->mode,
                  "full: count and time every launch; count: count only, at the lowest cost")
      ->check(CLI::IsMember({"full", "count"}))
      ->capture_default_str();
  run->add_option(
         "--record", options->record,
         "kernels; or operations: memory copies, memsets, synchronizations and event records, "
         "too")
      ->check(CLI::IsMember({"kernels", "operations"}))
      ->capture_default_str();
  run->add_option(
         "--rotate-size", options->rotate_bytes,
         "For leaving it on: begin a new file behind this size, e.g. 256M (0, the default: never)")
      ->transform(SizeInBytes())
      ->type_name("SIZE");
  run->add_option("--rotate-every", options->rotate_seconds,
                  "and after so many seconds (0, the default: not by time)")
      ->transform(WholeNumber(kMostSeconds))
      ->type_name("SECONDS");
  run->add_option("--keep", options->keep_bytes,
                  "Keep the folder below this size, e.g. 4G: the oldest files go, their sums stay\n"
                  "(0, the default: keep all)")
      ->transform(SizeInBytes())
      ->type_name("SIZE");
  run->add_flag(
      "--torch-ops", options->torch_ops,
      "Name torch's modules and operators to each launch (report --by range); for looking into\n"
      "a program, not for leaving it on");
  run->add_option("command", options->command, "The command and its arguments")
      ->required()
      ->type_name("COMMAND");
  run->footer(
      "The exit code is the command's: 128 + n if signal n ended it, 127 if it could not be "
      "started.\n"
      "2: nothing was started (wrong usage, no libhotproof.so, the folder cannot be used).\n"
      "stdout is the command's alone; run itself writes at most one line, to stderr, at the end.\n"
      "Defaults of --mode, --record, --rotate-size, --rotate-every and --keep: HOTPROOF_MODE,\n"
      "HOTPROOF_RECORD, HOTPROOF_ROTATE_BYTES, HOTPROOF_ROTATE_SECONDS and HOTPROOF_KEEP_BYTES.");
  run->callback([options, run, &exit_code] {
    TakeVariables(*run);
    exit_code = Main(*options);
  });
  return run;
}

}  // namespace hotproof::cli
