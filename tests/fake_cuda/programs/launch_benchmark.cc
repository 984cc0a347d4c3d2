// CPU time of one eager launch on the stand-in driver, by what its arguments show. Run by hand
// through launch_cost.py, which subtracts a run without the tracer (docs/measurements/shapes.md).
#include <benchmark/benchmark.h>

#include <cstring>

#include "tests/device/probe/session.h"

namespace {

constexpr char kPtx[] = R"(
.visible .entry two_pointers(.param .u64 a, .param .u64 b) { ret; }
.visible .entry triton_matmul(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 m, .param .u32 n, .param .u32 k, .param .u32 lda, .param .u32 ldb, .param .u32 ldd) { ret; }
.visible .entry nvjet_sm90_tst_64x8_64x16_2x1_v_bz_TNT(.param .align 8 .b8 p[1720]) { ret; }
)";

struct Launcher {
  probe::Session session;
  CUmodule module;
  Launcher() { CHECK(CU(cuModuleLoadData)(&module, kPtx)); }
  CUfunction Find(const char* name) {
    CUfunction function;
    CHECK(CU(cuModuleGetFunction)(&function, module, name));
    return function;
  }
};
Launcher& TheLauncher() {
  static Launcher& launcher = *new Launcher;
  return launcher;
}

void Run(benchmark::State& state, const char* name, void** params, void** extra) {
  Launcher& launcher = TheLauncher();
  const CUfunction function = launcher.Find(name);
  const auto launch = CU(cuLaunchKernel);
  int since_sync = 0;
  for (auto _ : state) {
    CHECK(launch(function, 132, 1, 1, 128, 1, 1, 0, launcher.session.stream, params, extra));
    if (++since_sync == 1024) {
      state.PauseTiming();
      launcher.session.Sync();
      since_sync = 0;
      state.ResumeTiming();
    }
  }
}

void TwoPointers(benchmark::State& state) {
  CUdeviceptr a = TheLauncher().session.counter, b = a;
  void* params[] = {&a, &b};
  Run(state, "two_pointers", params, nullptr);
}
BENCHMARK(TwoPointers);

void TritonMatmul(benchmark::State& state) {
  CUdeviceptr a = TheLauncher().session.counter;
  int m = 8, n = 5120, k = 6144;
  void* params[] = {&a, &a, &a, &m, &n, &k, &k, &k, &n};
  Run(state, "triton_matmul", params, nullptr);
}
BENCHMARK(TritonMatmul);

// A packed buffer of 1,720 bytes, as cuBLASLt passes it.
void Nvjet(benchmark::State& state) {
  unsigned char packed[1720];
  std::memset(packed, 1, sizeof packed);
  size_t size = sizeof packed;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   CU_LAUNCH_PARAM_END};
  Run(state, "nvjet_sm90_tst_64x8_64x16_2x1_v_bz_TNT", nullptr, extra);
}
BENCHMARK(Nvjet);

// What it takes to compare those bytes at all, with both sides in the nearest cache: part of what the
// tracer adds to such a launch, whatever else it does.
void CompareNvjet(benchmark::State& state) {
  alignas(64) unsigned char given[1720], kept[1720];
  std::memset(given, 1, sizeof given);
  std::memset(kept, 1, sizeof kept);
  for (auto _ : state) {
    benchmark::DoNotOptimize(given);
    benchmark::DoNotOptimize(std::memcmp(given, kept, sizeof given));
  }
}
BENCHMARK(CompareNvjet);

}  // namespace

BENCHMARK_MAIN();
