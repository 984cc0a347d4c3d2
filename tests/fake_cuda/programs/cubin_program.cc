// cubin_program FILE.cubin N: launches each kernel of a cubin N times eagerly in the range 'eager'
// and captures it once, in the range 'captured', to be replayed twice; beside them a kernel from
// PTX, N times. For assert --cubin-of.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "cupti_tracer/include/hotproof.h"
#include "tests/device/probe/session.h"

int main(int argc, char** argv) {
  if (argc != 3) return 64;
  std::ifstream file(argv[1], std::ios::binary);
  const std::string cubin{std::istreambuf_iterator<char>(file), {}};
  const int launches = std::atoi(argv[2]);
  if (cubin.empty() || launches <= 0) return 64;
  probe::Session session;
  CUmodule module;
  CHECK(CU(cuModuleLoadData)(&module, cubin.data()));
  CUfunction function;
  CHECK(CU(cuModuleGetFunction)(&function, module, "_Z22hotproof_fixture_scalePffi"));
  const auto launch = [&] {
    CHECK(CU(cuLaunchKernel)(function, 1, 1, 1, 32, 1, 1, 0, session.stream, nullptr, nullptr));
  };
  hotproof_push_if_loaded("eager");
  for (int i = 0; i < launches; ++i) launch();
  hotproof_pop_if_loaded();
  for (int i = 0; i < launches; ++i) session.Count(session.stream);
  session.Begin(session.stream);
  hotproof_push_if_loaded("captured");
  launch();
  hotproof_pop_if_loaded();
  const CUgraphExec exec = session.Instantiate(session.EndCapture(session.stream));
  session.Launch(exec, session.stream);
  session.Launch(exec, session.stream);
  session.Sync();
  return 0;
}
