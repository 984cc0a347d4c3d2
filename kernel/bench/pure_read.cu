#include "kernel/bench/gpu.h"
#include "kernel/bench/pure_read.h"
#include "kernel/ptx.cuh"
#include "kernel/tensor_map.h"

namespace hotproof::kernel::bench {
namespace {

constexpr int kPieceBytes = 16384;

struct ReadParams {
  const uint8_t* data;
  int pieces, stages, pieces_along_k, row_piece;
  int64_t row_stride;
  ReadPlan::Copy copy;
  uint64_t policy;
};

__global__ void __launch_bounds__(32)
    pure_read(const ReadParams p, const __grid_constant__ CUtensorMap map) {
  extern __shared__ __align__(1024) uint8_t smem[];
  __shared__ uint64_t barriers[16];
  const int lane = threadIdx.x;
  if (p.copy != ReadPlan::kBulkRows && lane != 0) return;
  ptx::launch_dependents();
  const uint32_t ring = ptx::smem_address(smem);
  const uint32_t bars = ptx::smem_address(barriers);
  if (lane == 0) {
    for (int s = 0; s < p.stages; ++s) ptx::mbarrier_init(bars + 8 * s, 1);
    ptx::fence_mbarrier_init();
    ptx::fence_proxy_async();
  }
  if (p.copy == ReadPlan::kBulkRows) __syncwarp();
  const int begin = static_cast<int64_t>(p.pieces) * blockIdx.x / gridDim.x;
  const int end = static_cast<int64_t>(p.pieces) * (blockIdx.x + 1) / gridDim.x;
  const auto issue = [&](int piece, int s) {
    const uint32_t to = ring + s * kPieceBytes, bar = bars + 8 * s;
    if (lane == 0) ptx::mbarrier_arrive_expect_tx(bar, kPieceBytes);
    if (p.copy == ReadPlan::kContiguous) {
      ptx::bulk_load(to, p.data + static_cast<size_t>(piece) * kPieceBytes, kPieceBytes, bar,
                     p.policy);
      return;
    }
    const int group = piece / p.pieces_along_k;
    const int column = piece % p.pieces_along_k * p.row_piece;
    const int rows = kPieceBytes / p.row_piece;
    if (p.copy == ReadPlan::kTensorBoxes) {
      const int x = p.row_piece > 256 ? column / 4 : column;  // the map's elements are words then
      ptx::tma_load_2d(to, &map, x, group * rows, bar, p.policy);
      return;
    }
    __syncwarp();
    for (int row = lane; row < rows; row += 32) {
      ptx::bulk_load(to + row * p.row_piece,
                     p.data + (static_cast<int64_t>(group) * rows + row) * p.row_stride + column,
                     p.row_piece, bar, p.policy);
    }
  };
  for (int i = 0; i < min(p.stages, end - begin); ++i) issue(begin + i, i);
  int s = 0, phase = 0;
  for (int piece = begin; piece < end; ++piece) {
    ptx::mbarrier_wait(bars + 8 * s, phase);
    if (piece + p.stages < end) issue(piece + p.stages, s);
    if (++s == p.stages) s = 0, phase ^= 1;
  }
}

}  // namespace

void enqueue_pure_read(const uint8_t* data, int n, int k, const ReadPlan& plan,
                       cudaStream_t stream) {
  CUtensorMap map = {};
  if (plan.copy == ReadPlan::kTensorBoxes &&
      !encode(ByteMatrix{data, k, n, k, plan.row_piece, kPieceBytes / plan.row_piece,
                         plan.row_piece == 128, plan.l2_promotion},
              &map)) {
    std::fprintf(stderr, "no tensor map for pieces of %d bytes\n", plan.row_piece);
    std::exit(1);
  }
  ReadParams p = {};
  p.data = data;
  p.pieces = static_cast<int>(static_cast<int64_t>(n) * k / kPieceBytes);
  p.stages = plan.stages;
  p.pieces_along_k = plan.row_piece > 0 ? k / plan.row_piece : 0;
  p.row_piece = plan.row_piece;
  p.row_stride = k;
  p.copy = plan.copy;
  p.policy = plan.evict_first ? ptx::kEvictFirst : ptx::kEvictNormal;
  HOTPROOF_CHECK(cudaFuncSetAttribute(pure_read, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      plan.stages * kPieceBytes));
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(plan.ctas);
  config.blockDim = dim3(32);
  config.dynamicSmemBytes = plan.stages * kPieceBytes;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = plan.programmatic ? 1 : 0;
  HOTPROOF_CHECK(cudaLaunchKernelEx(&config, pure_read, p, map));
}

}  // namespace hotproof::kernel::bench
