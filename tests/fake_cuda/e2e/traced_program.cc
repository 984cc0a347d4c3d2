#include "tests/fake_cuda/e2e/traced_program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <sstream>

namespace hotproof::e2e {
namespace {

void SetVariables(const RunOptions& options) {
  for (const char* name : {"HOTPROOF_OUT", "HOTPROOF_CUPTI", "HOTPROOF_MODE", "HOTPROOF_RECORD", "LD_PRELOAD",
                           "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "FAKE_CUDA_FAULTS"})
    unsetenv(name);
  setenv("LD_LIBRARY_PATH", FAKE_DRIVER_DIRECTORY, 1);
  const std::string runtime = HOTPROOF_SANITIZER_RUNTIME;
  // Leaks are the stand-ins' way; what a sanitizer finds else ends the program with its own exit
  // code.
  if (!runtime.empty()) setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
  if (options.traced) {
    // HOTPROOF_TEST_LIBRARY: another build of the tracer (the release's, or a broken one).
    const char* other = getenv("HOTPROOF_TEST_LIBRARY");
    const std::string library = other != nullptr ? other : HOTPROOF_LIBRARY;
    const std::string more = options.preload.empty() ? "" : ":" + options.preload;
    setenv("LD_PRELOAD", (runtime + (runtime.empty() ? "" : ":") + library + more).c_str(), 1);
    setenv("HOTPROOF_OUT", options.out_directory.c_str(), 1);
    setenv("HOTPROOF_CUPTI", options.cupti.empty() ? FakeCupti().c_str() : options.cupti.c_str(),
           1);
  }
  for (const auto& [name, value] : options.environment) setenv(name.c_str(), value.c_str(), 1);
}

// Reads what is there from `fd` into `text`; false at its end.
bool Drain(int fd, std::string& text) {
  char chunk[4096];
  const ssize_t n = read(fd, chunk, sizeof chunk);
  if (n > 0) text.append(chunk, static_cast<size_t>(n));
  return n > 0 || (n < 0 && errno == EINTR);
}

}  // namespace

std::string RunResult::OutputWithoutPids() const {
  return std::regex_replace(output, std::regex("\"pid\": [0-9]+"), "\"pid\": PID");
}

RunResult RunProgram(const std::vector<std::string>& command, const RunOptions& options) {
  RunResult result;
  int out[2], err[2];
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) abort();
  const pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    dup2(out[1], STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    SetVariables(options);
    std::vector<char*> argv;
    for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    execv(argv[0], argv.data());
    _exit(127);
  }
  close(out[1]);
  close(err[1]);
  pollfd fds[2] = {{out[0], POLLIN, 0}, {err[0], POLLIN, 0}};
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(options.timeout_s);
  // Until both pipes are closed: by the program and by all its children.
  while (fds[0].fd >= 0 || fds[1].fd >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    if (left.count() <= 0) {
      result.timed_out = true;
      kill(-child, SIGKILL);
      break;
    }
    if (poll(fds, 2, static_cast<int>(left.count())) <= 0) continue;
    if (fds[0].revents != 0 && !Drain(out[0], result.output)) fds[0].fd = -1;
    if (fds[1].revents != 0 && !Drain(err[0], result.errors)) fds[1].fd = -1;
  }
  close(out[0]);
  close(err[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  result.exited = WIFEXITED(status);
  result.code = result.exited ? WEXITSTATUS(status) : WTERMSIG(status);
  return result;
}

namespace {

std::pair<std::string, uint32_t> Key(const trace::Tables& tables, uint32_t site_id) {
  const trace::Site& site = tables.sites[site_id];
  return {tables.kernels[site.kernel_id()].name(), site.grid_x()};
}

TraceSummary Summarise(const std::string& path) {
  TraceSummary summary;
  auto reader = trace::TraceReader::Open(path);
  if (!reader.ok()) {
    ADD_FAILURE() << path << ": " << reader.status();
    return summary;
  }
  summary.tables = (*reader)->tables();
  summary.issues = (*reader)->issues();
  const trace::Tables& tables = summary.tables;
  const std::vector<uint64_t> asked = tables.LaunchesBySite(tables.asked);
  for (uint32_t site = 1; site < asked.size(); ++site)
    if (asked[site] != 0) summary.asked[Key(tables, site)] += asked[site];
  if (!asked.empty() && asked[0] != 0) summary.asked[{"(no site)", 0}] += asked[0];
  trace::ChunkColumns columns;
  trace::ChunkOperations operations;
  for (size_t i = 0; i < (*reader)->chunk_count(); ++i) {
    const absl::Status status = (*reader)->ReadChunk(i, columns);
    if (!status.ok()) {
      ADD_FAILURE() << path << ": chunk " << i << ": " << status;
      continue;
    }
    const absl::Status also = (*reader)->ReadOperations(i, operations);
    if (!also.ok()) ADD_FAILURE() << path << ": operations of chunk " << i << ": " << also;
    for (size_t o = 0; o < operations.operation_class.size(); ++o) {
      const trace::OperationClass& of = tables.operation_classes[operations.operation_class[o]];
      summary.operations.push_back({of.kind(), of.copy_kind(), of.synchronization_type(),
                                    operations.correlation_id[o], operations.start_ns[o],
                                    operations.end_ns[o],
                                    tables.streams[operations.stream[o]].stream_id(),
                                    operations.node_id[o], operations.amount[o],
                                    operations.detail[o]});
    }
    summary.recorded_launches += columns.launch_correlation_id.size();
    summary.timed += columns.site.size();
    summary.untimed += columns.untimed_site.size();
    for (const trace::Target target : columns.target) summary.without_launch += !target.is_known();
    trace::ChunkLaunchTimes times;
    const absl::Status timed = (*reader)->ReadLaunchTimes(i, times);
    if (!timed.ok()) ADD_FAILURE() << path << ": launch times of chunk " << i << ": " << timed;
    for (size_t l = 0; l < times.enter_ns.size(); ++l) {
      summary.launches.push_back(
          {columns.launch_correlation_id[l], times.enter_ns[l], times.call_ns[l]});
    }
    for (size_t r = 0; r < columns.site.size(); ++r) {
      summary.first_start_ns.insert({columns.correlation_id[r], columns.start_ns[r]});
      EXPECT_LT(0u, columns.start_ns[r]);
      EXPECT_LE(columns.start_ns[r], columns.end_ns[r]);
    }
    for (const auto& sites : {columns.site, columns.untimed_site}) {
      for (const uint32_t site : sites) {
        if (site == 0 || tables.sites[site].unattributed()) ++summary.unattributed;
        if (site != 0) ++summary.recorded[Key(tables, site)];
      }
    }
  }
  return summary;
}

}  // namespace

uint64_t TraceSummary::Asked() const {
  uint64_t sum = 0;
  for (const auto& [key, count] : asked) sum += count;
  return sum;
}

uint64_t TraceSummary::ProblemCount(trace::ProblemKind kind) const {
  // Cumulative for its (kind, detail): the largest counts.
  std::map<std::string, uint64_t> by_detail;
  for (const trace::Problem& problem : tables.problems)
    if (problem.kind() == kind)
      by_detail[problem.detail()] = std::max(by_detail[problem.detail()], problem.count());
  uint64_t sum = 0;
  for (const auto& [detail, count] : by_detail) sum += count;
  return sum;
}

bool TraceSummary::HasProblem(trace::ProblemKind kind) const {
  for (const trace::Problem& problem : tables.problems)
    if (problem.kind() == kind) return true;
  return false;
}

std::string TraceSummary::ProblemDetail(trace::ProblemKind kind) const {
  for (const trace::Problem& problem : tables.problems)
    if (problem.kind() == kind) return problem.detail();
  return "";
}

std::string TraceSummary::Describe() const {
  std::ostringstream out;
  const bool counter_file = tables.asked_source == trace::CounterSource::kCounterFile;
  out << "asked " << Asked() << (counter_file ? " (counter file)" : " (chunks)") << ", recorded "
      << Recorded() << " (timed " << timed << ", untimed " << untimed << ", unattributed "
      << unattributed << "), listed " << recorded_launches << "\n";
  if (tables.has_footer) out << "  footer: " << tables.footer.ShortDebugString() << "\n";
  for (const auto& problem : tables.problems) out << "  " << problem.ShortDebugString() << "\n";
  for (const auto& issue : issues)
    out << "  issue " << static_cast<int>(issue.kind) << " at byte " << issue.offset_bytes << ", "
        << issue.lost_bytes << " lost: " << issue.detail << "\n";
  for (const auto& [key, count] : asked)
    out << "  asked " << count << " " << key.first << ", grid " << key.second << "\n";
  for (const auto& [key, count] : recorded)
    out << "  recorded " << count << " " << key.first << ", grid " << key.second << "\n";
  return out.str();
}

std::vector<TraceSummary> ReadTraces(const std::string& directory) {
  std::vector<TraceSummary> summaries;
  auto set = trace::FindTraces({directory});
  if (!set.ok()) {
    ADD_FAILURE() << directory << ": " << set.status();
    return summaries;
  }
  for (const std::string& path : set->trace_paths) summaries.push_back(Summarise(path));
  return summaries;
}

std::string NewDirectory() {
  struct Cleaner {
    std::string root;
    pid_t pid = 0;
    ~Cleaner() {
      std::error_code ignored;
      if (pid == getpid()) std::filesystem::remove_all(root, ignored);
    }
  };
  static Cleaner cleaner;
  if (cleaner.root.empty()) {
    std::string root = testing::TempDir() + "/hotproof_e2e_XXXXXX";
    if (mkdtemp(root.data()) == nullptr) abort();
    cleaner.root = root;
    cleaner.pid = getpid();
  }
  static int next = 0;
  const std::string directory = cleaner.root + "/" + std::to_string(next++);
  std::filesystem::create_directory(directory);
  return directory;
}

std::string Probe() { return PROBE_PROGRAM; }
std::string SelfCount() { return SELF_COUNT_PROGRAM; }
std::string FaultsProgram() { return FAULTS_PROGRAM; }
std::string SlowDisk() { return SLOW_DISK_LIBRARY; }

std::string FakeCupti(const std::string& variant) {
  return std::string(FAKE_CUDA_BINARY_DIRECTORY) + "/cupti" + variant + "/libcupti.so.13";
}

}  // namespace hotproof::e2e
