// blas_program LIBRARY local|global: opens a library that uses cuBLAS and lets it call every entry
// point, once eagerly and once into a graph that is replayed twice; a kernel of its own around
// each.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "tests/device/probe/session.h"

namespace {

constexpr char kPtx[] = R"(
.visible .entry nvjet_sm90_tst_64x8_64x16_2x1_v_bz_splitK_TNT(.param .align 8 .b8 p[1720]) { ret; }
.visible .entry _ZN8cublasLt19splitKreduce_kernelILi32ELi16EifEEvv() { ret; }
.visible .entry clear_workspace() { ret; }
)";

struct Blas {
  probe::Session session;
  std::map<std::string, CUfunction> kernels;
};
Blas* blas = nullptr;

void Launch(const char* kernel) {
  char arguments[1720] = {};
  void* params[] = {arguments};
  CHECK(CU(cuLaunchKernel)(blas->kernels.at(kernel), 1, 1, 1, 32, 1, 1, 0, blas->session.stream,
                           params, nullptr));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 64;
  void* const library =
      dlopen(argv[1], RTLD_NOW | (std::strcmp(argv[2], "global") == 0 ? RTLD_GLOBAL : RTLD_LOCAL));
  if (library == nullptr) {
    std::printf("%s\n", dlerror());
    return 1;
  }
  auto* use = reinterpret_cast<int (*)(void (*)(const char*))>(dlsym(library, "use_blas"));
  blas = new Blas;
  CUmodule module;
  CHECK(CU(cuModuleLoadData)(&module, kPtx));
  for (const auto& [kernel, name] :
       {std::pair("fill", "clear_workspace"),
        std::pair("product", "nvjet_sm90_tst_64x8_64x16_2x1_v_bz_splitK_TNT"),
        std::pair("reduce", "_ZN8cublasLt19splitKreduce_kernelILi32ELi16EifEEvv")}) {
    CHECK(CU(cuModuleGetFunction)(&blas->kernels[kernel], module, name));
  }
  probe::Session& s = blas->session;
  s.Count(s.stream);
  int failed = use(Launch);
  s.Count(s.stream);
  s.Begin(s.stream);
  failed |= use(Launch);
  s.Count(s.stream);
  const CUgraphExec exec = s.Instantiate(s.EndCapture(s.stream));
  s.Launch(exec, s.stream);
  s.Launch(exec, s.stream);
  std::printf("failed %d, counted %llu\n", failed, static_cast<unsigned long long>(s.Counted()));
  return failed;
}
