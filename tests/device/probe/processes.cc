// Processes: fork before and after CUDA starts, ways to end, work in flight at the end.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "tests/device/probe/scenarios.h"
#include "tests/device/probe/session.h"

namespace probe {
namespace {

void Report(const char* name, Session& s) {
  printf("{\"scenario\": \"%s\", \"pid\": %d, \"counted\": %llu}\n", name, getpid(),
         static_cast<unsigned long long>(s.Counted()));
  fflush(stdout);
}

void ForkBefore() {
  const pid_t child = fork();
  Session s;
  s.Count(s.stream);
  s.Sync();
  if (child != 0) waitpid(child, nullptr, 0);
  Report("forkbefore", s);
}

void ForkAfter() {
  Session s;
  s.Count(s.stream);
  s.Sync();
  Note("fork");
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  const pid_t second = fork();
  if (second == 0) exit(0);
  waitpid(second, nullptr, 0);
  s.Count(s.stream);
  Report("forkafter", s);
}

void ForkAfterInitChildUses() {
  CHECK(CU(cuInit)(0));
  const pid_t child = fork();
  if (child == 0) {
    const CUresult r = CU(cuInit)(0);
    CUcontext context;
    const CUresult c = CU(cuDevicePrimaryCtxRetain)(&context, 0);
    fprintf(stderr, "child of an initialised process: cuInit %d, primary context %d\n", int(r),
            int(c));
    _exit(0);
  }
  waitpid(child, nullptr, 0);
}

void ExitFromThread() {
  Session s;
  s.Count(s.stream);
  Report("exitthread", s);
  std::thread([] { _exit(7); }).join();
}

void QuickExit() {
  Session s;
  s.Count(s.stream);
  Report("underscoreexit", s);
  _exit(3);
}

void ExitInFlight() {
  Session s;
  uint64_t ns = 200000000;
  void* arguments[] = {&s.counter, &ns};
  CHECK(CU(cuLaunchKernel)(s.Kernel("probe_spin"), 1, 1, 1, 1, 1, 1, 0, s.stream, arguments,
                           nullptr));
  s.Count(s.stream);
  puts("{\"scenario\": \"inflight\"}");
}

void Killed() {
  Session s;
  s.Count(s.stream);
  Report("killed", s);
  kill(getpid(), SIGKILL);
}

void NoCuda() { puts("{\"scenario\": \"nocuda\"}"); }

void InitOnly() {
  CHECK(CU(cuInit)(0));
  puts("{\"scenario\": \"initonly\"}");
}

}  // namespace

const Scenario kProcessScenarios[] = {{"forkbefore", ForkBefore},
                                      {"forkafter", ForkAfter},
                                      {"forkinit", ForkAfterInitChildUses},
                                      {"exitthread", ExitFromThread},
                                      {"underscoreexit", QuickExit},
                                      {"inflight", ExitInFlight},
                                      {"killed", Killed},
                                      {"nocuda", NoCuda},
                                      {"initonly", InitOnly},
                                      {nullptr, nullptr}};

}  // namespace probe
