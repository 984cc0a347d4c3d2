// blas_program LIBRARY local|global: opens a library that uses cuBLAS and lets it call every entry
// point, once eagerly and once into a graph that is replayed twice; a kernel of its own around
// each.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>

#include "tests/device/probe/session.h"

namespace {

constexpr char kPtx[] = R"(
.visible .entry nvjet_sm90_tst_64x8_64x16_2x1_v_bz_splitK_TNT(.param .align 8 .b8 p[1720]) { ret; }
.visible .entry _ZN8cublasLt19splitKreduce_kernelILi32ELi16EifEEvv() { ret; }
)";

struct Blas {
  probe::Session session;
  CUfunction product = nullptr, reduce = nullptr;
};
Blas* blas = nullptr;

void Launch(const char* kernel) {
  char arguments[1720] = {};
  void* params[] = {arguments};
  const CUfunction function = std::strcmp(kernel, "product") == 0 ? blas->product : blas->reduce;
  CHECK(CU(cuLaunchKernel)(function, 1, 1, 1, 32, 1, 1, 0, blas->session.stream, params, nullptr));
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
  CHECK(CU(cuModuleGetFunction)(&blas->product, module,
                                "nvjet_sm90_tst_64x8_64x16_2x1_v_bz_splitK_TNT"));
  CHECK(CU(cuModuleGetFunction)(&blas->reduce, module,
                                "_ZN8cublasLt19splitKreduce_kernelILi32ELi16EifEEvv"));
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
