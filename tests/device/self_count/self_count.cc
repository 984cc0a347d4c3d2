// Kernels that count themselves: self_count SCENARIO [LAUNCHES]. Every launch is one kernel of
// which one thread adds 1 to a counter in device memory. Prints, for each process, one line of
// JSON:
//   {"scenario": ..., "pid": ..., "asked": launches that the driver accepted, "counted": the
//   device's sum}
// asked == counted is the device's word; a tracer's counts and records are held against it.
//
//   plain     eager launches into one stream          streams4  over four streams
//   pdl       with programmatic dependent launch,     threads4  four threads, a stream each
//             half eager, half replayed               graphs    five graphs of 1 to 5 kernels in
//             turn
//   fork      two processes, forked before CUDA       replay    one graph of 1,000 kernels,
//   replayed
//             starts, launch each
// Exit 64: no such scenario; 69, 70 as tests/device/probe; 1: asked and counted differ.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/device/probe/session.h"

namespace {

using probe::Session;

class Count {
 public:
  explicit Count(const char* scenario) : scenario_(scenario) {}
  Session& session() { return session_; }
  void Asked(uint64_t kernels) { asked_.fetch_add(kernels, std::memory_order_relaxed); }

  // Waits for the device, prints the line, returns the exit code.
  int Report() {
    const uint64_t counted = session_.Counted();
    printf("{\"scenario\": \"%s\", \"pid\": %d, \"asked\": %llu, \"counted\": %llu}\n", scenario_,
           getpid(), static_cast<unsigned long long>(asked_.load()),
           static_cast<unsigned long long>(counted));
    fflush(stdout);
    return counted == asked_.load() ? 0 : 1;
  }

 private:
  const char* scenario_;
  Session session_;
  std::atomic<uint64_t> asked_{0};
};

// Launches `kernel` (probe_count or probe_pdl) once.
void Launch(Session& s, CUfunction kernel, CUstream stream, bool programmatic) {
  void* arguments[] = {&s.counter};
  CUlaunchAttribute attribute = {};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attribute.value.programmaticStreamSerializationAllowed = 1;
  CUlaunchConfig config = {};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 32;
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream;
  config.attrs = &attribute;
  config.numAttrs = programmatic ? 1 : 0;
  static auto* const launch = CU(cuLaunchKernelEx);
  CHECK(launch(&config, kernel, arguments, nullptr));
}

CUgraphExec Captured(Session& s, CUfunction kernel, unsigned kernels, bool programmatic) {
  s.Begin(s.stream);
  for (unsigned i = 0; i < kernels; ++i) Launch(s, kernel, s.stream, programmatic);
  return s.Instantiate(s.EndCapture(s.stream));
}

int Plain(uint64_t launches) {
  Count count("plain");
  const CUfunction kernel = count.session().Kernel("probe_count");
  for (uint64_t i = 0; i < launches; ++i)
    Launch(count.session(), kernel, count.session().stream, false);
  count.Asked(launches);
  return count.Report();
}

int Programmatic(uint64_t launches) {
  Count count("pdl");
  Session& s = count.session();
  const CUfunction kernel = s.Kernel("probe_pdl");
  for (uint64_t i = 0; i < launches / 2; ++i) Launch(s, kernel, s.stream, true);
  count.Asked(launches / 2);
  const unsigned size = 100;
  CUgraphExec exec = Captured(s, kernel, size, true);
  for (uint64_t i = 0; i < launches / 2 / size; ++i) {
    s.Launch(exec, s.stream);
    count.Asked(size);
  }
  return count.Report();
}

int FourStreams(uint64_t launches) {
  Count count("streams4");
  Session& s = count.session();
  const CUfunction kernel = s.Kernel("probe_count");
  CUstream streams[4];
  for (CUstream& stream : streams) CHECK(CU(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
  for (uint64_t i = 0; i < launches; ++i) Launch(s, kernel, streams[i % 4], false);
  count.Asked(launches);
  return count.Report();
}

int FourThreads(uint64_t launches) {
  Count count("threads4");
  Session& s = count.session();
  const CUfunction kernel = s.Kernel("probe_count");
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      s.Use();
      CUstream stream;
      CHECK(CU(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
      for (uint64_t i = 0; i < launches / 4; ++i) Launch(s, kernel, stream, false);
      count.Asked(launches / 4);
      CHECK(CU(cuStreamSynchronize)(stream));
    });
  }
  for (std::thread& thread : threads) thread.join();
  return count.Report();
}

int SeveralGraphs(uint64_t launches) {
  Count count("graphs");
  Session& s = count.session();
  const CUfunction kernel = s.Kernel("probe_count");
  CUgraphExec execs[5];
  for (unsigned g = 0; g < 5; ++g) execs[g] = Captured(s, kernel, g + 1, false);
  for (uint64_t asked = 0, i = 0; asked < launches; ++i) {
    s.Launch(execs[i % 5], s.stream);
    asked += i % 5 + 1;
    count.Asked(i % 5 + 1);
  }
  return count.Report();
}

int Forked(uint64_t launches) {
  const pid_t child = fork();
  int code;
  {
    Count count("fork");
    const CUfunction kernel = count.session().Kernel("probe_count");
    const uint64_t mine = child == 0 ? launches / 2 : launches;
    for (uint64_t i = 0; i < mine; ++i)
      Launch(count.session(), kernel, count.session().stream, false);
    count.Asked(mine);
    code = count.Report();
  }
  if (child == 0) exit(code);
  int status = 0;
  waitpid(child, &status, 0);
  return code != 0 || status != 0;
}

int Replayed(uint64_t launches) {
  Count count("replay");
  Session& s = count.session();
  const unsigned size = 1000;
  CUgraphExec exec = Captured(s, s.Kernel("probe_count"), size, false);
  for (uint64_t i = 0; i < launches / size; ++i) {
    s.Launch(exec, s.stream);
    count.Asked(size);
    if (i % 64 == 63) CHECK(CU(cuStreamSynchronize)(s.stream));
  }
  return count.Report();
}

struct Scenario {
  const char* name;
  int (*run)(uint64_t launches);
  uint64_t launches;
};

const Scenario kScenarios[] = {
    {"plain", Plain, 20000},          {"pdl", Programmatic, 20000},
    {"streams4", FourStreams, 20000}, {"threads4", FourThreads, 20000},
    {"graphs", SeveralGraphs, 20000}, {"fork", Forked, 20000},
    {"replay", Replayed, 10000000},
};

}  // namespace

int main(int argc, char** argv) {
  for (const Scenario& scenario : kScenarios) {
    if (argc == 1) printf("%s\n", scenario.name);
    if (argc >= 2 && strcmp(argv[1], scenario.name) == 0)
      return scenario.run(argc >= 3 ? strtoull(argv[2], nullptr, 10) : scenario.launches);
  }
  return argc == 1 ? 0 : 64;
}
