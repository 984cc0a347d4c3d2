// steady_launches eager|replay LAUNCHES...: warms up with the first number of launches, then makes
// the others, and prints a line for each: launches, requests for memory that the tracer made
// meanwhile (0 without counting_allocator.cc), and ns of CPU of each thread but the launching one,
// by name. A replayed graph has 1,000 kernels, each of which is a launch here.
#include <dirent.h>
#include <dlfcn.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "tests/device/probe/session.h"

namespace {

constexpr uint64_t kKernels = 1000;

uint64_t Allocations() {
  using Function = uint64_t();
  static auto* const counted =
      reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, "counted_allocations"));
  return counted == nullptr ? 0 : counted();
}

// ns of CPU by thread name; CUPTI's own thread has the program's name.
std::map<std::string, uint64_t> CpuOfOthers() {
  std::map<std::string, uint64_t> cpu;
  DIR* const tasks = opendir("/proc/self/task");
  while (const dirent* entry = readdir(tasks)) {
    const int tid = std::atoi(entry->d_name);
    if (tid == 0 || tid == getpid()) continue;
    const std::string folder = "/proc/self/task/" + std::string(entry->d_name);
    char name[64] = "";
    unsigned long long ns = 0;
    if (FILE* file = std::fopen((folder + "/comm").c_str(), "r")) {
      if (std::fgets(name, sizeof name, file) != nullptr) name[std::strcspn(name, "\n")] = '\0';
      std::fclose(file);
    }
    if (FILE* file = std::fopen((folder + "/schedstat").c_str(), "r")) {
      if (std::fscanf(file, "%llu", &ns) != 1) ns = 0;
      std::fclose(file);
    }
    cpu[name] += ns;
  }
  closedir(tasks);
  return cpu;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 64;
  const bool replays = std::strcmp(argv[1], "replay") == 0;
  probe::Session session;
  const CUfunction kernel = session.Kernel("probe_count");
  const auto launch = [&] {
    void* arguments[] = {&session.counter};
    CHECK(CU(cuLaunchKernel)(kernel, 1, 1, 1, 32, 1, 1, 0, session.stream, arguments, nullptr));
  };
  CUgraphExec exec = nullptr;
  if (replays) {
    session.Begin(session.stream);
    for (uint64_t i = 0; i < kKernels; ++i) launch();
    exec = session.Instantiate(session.EndCapture(session.stream));
  }
  for (int phase = 2; phase < argc; ++phase) {
    const uint64_t launches = std::strtoull(argv[phase], nullptr, 10);
    const uint64_t before = Allocations();
    const auto cpu_before = CpuOfOthers();
    for (uint64_t made = 0; made < launches; made += kKernels) {
      if (replays) {
        session.Launch(exec, session.stream);
      } else {
        for (uint64_t i = 0; i < kKernels; ++i) launch();
      }
      session.Sync();
    }
    usleep(600'000);  // flushes come four times a second
    std::printf("%s %" PRIu64 " launches, %" PRIu64 " allocations", argv[1], launches,
                Allocations() - before);
    auto cpu = CpuOfOthers();
    for (const auto& [name, ns] : cpu_before) cpu[name] -= ns;
    for (const auto& [name, ns] : cpu) {
      std::printf(", %s %" PRIu64 " ns", name.c_str(), ns);
    }
    std::printf("\n");
    std::fflush(stdout);
  }
  return 0;
}
