// two_libraries_program modules|libraries CUBIN_A CUBIN_B LIBRARY_A LIBRARY_B: kernels of one name
// from two cubins, each launched by a library of its own (libraries/launcher.cc): A's 5 times
// eagerly and once in a graph that is replayed twice, B's 3 times. As modules, whose load tells
// which cubin a handle is of; or as libraries, which load in a call that does not.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/device/probe/session.h"

namespace {

constexpr char kKernel[] = "hotproof_sm90_fp8_gemm_fixture";

using LaunchFromLibrary = int(decltype(&cuLaunchKernel), CUfunction, CUstream, int times);

struct Side {
  std::string cubin;
  CUfunction function = nullptr;
  LaunchFromLibrary* launch = nullptr;
};

Side Load(bool as_module, const char* cubin_path, const char* library_path) {
  Side side;
  std::ifstream file(cubin_path, std::ios::binary);
  side.cubin.assign(std::istreambuf_iterator<char>(file), {});
  if (as_module) {
    CUmodule module;
    CHECK(CU(cuModuleLoadData)(&module, side.cubin.data()));
    CHECK(CU(cuModuleGetFunction)(&side.function, module, kKernel));
  } else {
    CUlibrary library;
    CUkernel kernel;
    CHECK(CU(cuLibraryLoadData)(&library, side.cubin.data(), nullptr, nullptr, 0, nullptr, nullptr,
                                0));
    CHECK(CU(cuLibraryGetKernel)(&kernel, library, kKernel));
    CHECK(CU(cuKernelGetFunction)(&side.function, kernel));
  }
  void* const object = dlopen(library_path, RTLD_NOW);
  if (object == nullptr) std::printf("%s\n", dlerror());
  if (object != nullptr) {
    side.launch = reinterpret_cast<LaunchFromLibrary*>(dlsym(object, "launch_from_library"));
  }
  return side;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return 64;
  probe::Session session;
  const bool as_modules = std::strcmp(argv[1], "modules") == 0;
  const Side a = Load(as_modules, argv[2], argv[4]), b = Load(as_modules, argv[3], argv[5]);
  if (a.launch == nullptr || b.launch == nullptr) return 1;
  const auto launch = [&](const Side& side, int times) {
    CHECK(static_cast<CUresult>(
        side.launch(CU(cuLaunchKernel), side.function, session.stream, times)));
  };
  launch(a, 2);
  launch(b, 3);
  launch(a, 3);
  session.Begin(session.stream);
  launch(a, 1);
  const CUgraphExec exec = session.Instantiate(session.EndCapture(session.stream));
  session.Launch(exec, session.stream);
  session.Launch(exec, session.stream);
  session.Sync();
  return 0;
}
