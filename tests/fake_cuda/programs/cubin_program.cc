// cubin_program FILE.cubin N [LIBRARY]: launches each kernel of a cubin N times eagerly in the
// range 'eager' and captures it once, in the range 'captured', to be replayed twice; beside them
// two kernels from PTX, N times. LIBRARY (libraries/launcher.cc) makes all of these launches but
// those of probe_count, where it is given. For assert --cubin-of, and for the library that
// launched.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "cupti_tracer/include/hotproof.h"
#include "tests/device/probe/session.h"

namespace {

constexpr char kGemm[] = ".visible .entry my_fp8_gemm() { ret; }\n";

using LaunchFromLibrary = int(decltype(&cuLaunchKernel), CUfunction, CUstream, int times);

LaunchFromLibrary* Open(const char* path) {
  void* const library = dlopen(path, RTLD_NOW);
  if (library == nullptr) std::printf("%s\n", dlerror());
  return library == nullptr
             ? nullptr
             : reinterpret_cast<LaunchFromLibrary*>(dlsym(library, "launch_from_library"));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) return 64;
  std::ifstream file(argv[1], std::ios::binary);
  const std::string cubin{std::istreambuf_iterator<char>(file), {}};
  const int launches = std::atoi(argv[2]);
  if (cubin.empty() || launches <= 0) return 64;
  probe::Session session;
  CUmodule module;
  CHECK(CU(cuModuleLoadData)(&module, cubin.data()));
  CUfunction function;
  CHECK(CU(cuModuleGetFunction)(&function, module, "_Z22hotproof_fixture_scalePffi"));
  CHECK(CU(cuModuleLoadData)(&module, kGemm));
  CUfunction gemm;
  CHECK(CU(cuModuleGetFunction)(&gemm, module, "my_fp8_gemm"));
  LaunchFromLibrary* const from_library = argc == 4 ? Open(argv[3]) : nullptr;
  if (argc == 4 && from_library == nullptr) return 1;
  const auto launch = [&](CUfunction what) {
    if (from_library != nullptr) {
      CHECK(static_cast<CUresult>(from_library(CU(cuLaunchKernel), what, session.stream, 1)));
    } else {
      CHECK(CU(cuLaunchKernel)(what, 1, 1, 1, 32, 1, 1, 0, session.stream, nullptr, nullptr));
    }
  };
  hotproof_push_if_loaded("eager");
  for (int i = 0; i < launches; ++i) launch(function);
  hotproof_pop_if_loaded();
  for (int i = 0; i < launches; ++i) session.Count(session.stream);
  for (int i = 0; i < launches; ++i) launch(gemm);
  session.Begin(session.stream);
  hotproof_push_if_loaded("captured");
  launch(function);
  hotproof_pop_if_loaded();
  const CUgraphExec exec = session.Instantiate(session.EndCapture(session.stream));
  session.Launch(exec, session.stream);
  session.Launch(exec, session.stream);
  session.Sync();
  return 0;
}
