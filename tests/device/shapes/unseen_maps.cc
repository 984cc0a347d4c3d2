// unseen_maps M N K: D[M,N] = A[M,K] x B[N,K]^T as a TMA kernel would be given it (it does
// nothing), with maps that are copies of the encoded ones, given another address by hand: their
// encodings nobody saw. Launches three times with maps of ever other addresses, then captures one
// launch and replays it twice.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/device/probe/session.h"

namespace {

// Three maps at 64 bytes, as nvcc places them.
constexpr char kPtx[] = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry unseen_maps_gemm(.param .align 64 .b8 a[128], .param .align 64 .b8 b[128], .param .align 64 .b8 d[128]) { ret; }
)";

CUtensorMap Encode(CUdeviceptr address, uint64_t inner, uint64_t outer) {
  CUtensorMap map;
  const cuuint64_t dims[] = {inner, outer}, strides[] = {inner * 2};
  const cuuint32_t box[] = {64, 128}, steps[] = {1, 1};
  CHECK(CU(cuTensorMapEncodeTiled)(
      &map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, reinterpret_cast<void*>(address), dims, strides,
      box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  return map;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 64;
  const uint64_t m = std::strtoull(argv[1], nullptr, 10), n = std::strtoull(argv[2], nullptr, 10),
                 k = std::strtoull(argv[3], nullptr, 10);
  probe::Session session;
  CUmodule module;
  CUfunction kernel;
  CHECK(CU(cuModuleLoadData)(&module, kPtx));
  CHECK(CU(cuModuleGetFunction)(&kernel, module, "unseen_maps_gemm"));
  CUtensorMap maps[] = {Encode(session.counter, k, m), Encode(session.counter, k, n),
                        Encode(session.counter, n, m)};
  uint64_t address = session.counter;
  const auto launch = [&] {
    for (CUtensorMap& map : maps) {
      address += 16;
      std::memcpy(&map, &address, sizeof address);
    }
    void* params[] = {&maps[0], &maps[1], &maps[2]};
    CHECK(CU(cuLaunchKernel)(kernel, 1, 1, 1, 128, 1, 1, 0, session.stream, params, nullptr));
  };
  for (int i = 0; i < 3; ++i) launch();
  session.Begin(session.stream);
  launch();
  const CUgraphExec exec = session.Instantiate(session.EndCapture(session.stream));
  session.Launch(exec, session.stream);
  session.Launch(exec, session.stream);
  session.Sync();
  std::puts("launched 5");
  return 0;
}
