#include "kernel/tensor_map.h"

#include <cuda_runtime_api.h>

namespace hotproof::kernel {
namespace {

using EncodeTiled = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*,
                                 const cuuint64_t*, const cuuint64_t*, const cuuint32_t*,
                                 const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                                 CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

EncodeTiled encode_tiled() {
  static const EncodeTiled function = [] {
    void* address = nullptr;
    cudaDriverEntryPointQueryResult found;
    if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &address, 12000,
                                         cudaEnableDefault, &found) != cudaSuccess ||
        found != cudaDriverEntryPointSuccess) {
      return static_cast<EncodeTiled>(nullptr);
    }
    return reinterpret_cast<EncodeTiled>(address);
  }();
  return function;
}

CUtensorMapL2promotion promotion(int bytes) {
  if (bytes >= 256) return CU_TENSOR_MAP_L2_PROMOTION_L2_256B;
  return bytes >= 128 ? CU_TENSOR_MAP_L2_PROMOTION_L2_128B : CU_TENSOR_MAP_L2_PROMOTION_NONE;
}

// K in blocks of 128 bytes, or a dimension of its own where it isn't a multiple of them.
cuuint64_t blocks_along_k(int64_t row_bytes, bool ragged) {
  return ragged ? 1 : static_cast<cuuint64_t>((row_bytes + 127) / 128);
}

}  // namespace

bool tensor_maps_available() { return encode_tiled() != nullptr; }

bool encode(const ByteMatrix& m, CUtensorMap* map) {
  // A box has at most 256 elements a side: wider boxes count words.
  const int element = m.box_bytes > 256 ? 4 : 1;
  const cuuint64_t dims[2] = {static_cast<cuuint64_t>(m.row_bytes / element),
                              static_cast<cuuint64_t>(m.rows)};
  const cuuint64_t strides[1] = {static_cast<cuuint64_t>(m.stride_bytes)};
  const cuuint32_t box[2] = {static_cast<cuuint32_t>(m.box_bytes / element),
                             static_cast<cuuint32_t>(m.box_rows)};
  const cuuint32_t steps[2] = {1, 1};
  return encode_tiled()(
             map, element == 4 ? CU_TENSOR_MAP_DATA_TYPE_UINT32 : CU_TENSOR_MAP_DATA_TYPE_UINT8, 2,
             const_cast<void*>(m.base), dims, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
             m.swizzle_128 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE,
             promotion(m.l2_promotion_bytes), CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

bool encode(const TokenMatrix& m, CUtensorMap* map) {
  const cuuint64_t dims[3] = {m.ragged ? static_cast<cuuint64_t>(m.row_bytes) : 128,
                              static_cast<cuuint64_t>(m.rows),
                              blocks_along_k(m.row_bytes, m.ragged)};
  const cuuint64_t row = static_cast<cuuint64_t>(m.stride_bytes);
  const cuuint64_t strides[2] = {row, m.ragged ? row : 128};
  const cuuint32_t box[3] = {128, static_cast<cuuint32_t>(m.box_rows),
                             static_cast<cuuint32_t>(m.box_blocks)};
  const cuuint32_t steps[3] = {1, 1, 1};
  return encode_tiled()(map, CU_TENSOR_MAP_DATA_TYPE_UINT8, 3, const_cast<void*>(m.base), dims,
                        strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                        CU_TENSOR_MAP_SWIZZLE_128B, promotion(m.l2_promotion_bytes),
                        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

bool encode(const WeightMatrix& m, CUtensorMap* map) {
  const cuuint64_t dims[4] = {m.ragged ? static_cast<cuuint64_t>(m.row_bytes) : 128, 8,
                              blocks_along_k(m.row_bytes, m.ragged),
                              static_cast<cuuint64_t>(m.rows / 8)};
  const cuuint64_t row = static_cast<cuuint64_t>(m.stride_bytes);
  const cuuint64_t strides[3] = {row, m.ragged ? row : 128, 8 * row};
  const cuuint32_t box[4] = {128, 8, static_cast<cuuint32_t>(m.box_blocks),
                             static_cast<cuuint32_t>(m.box_groups)};
  const cuuint32_t steps[4] = {1, 1, 1, 1};
  return encode_tiled()(map, CU_TENSOR_MAP_DATA_TYPE_UINT8, 4, const_cast<void*>(m.base), dims,
                        strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                        CU_TENSOR_MAP_SWIZZLE_128B, promotion(m.l2_promotion_bytes),
                        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

}  // namespace hotproof::kernel
