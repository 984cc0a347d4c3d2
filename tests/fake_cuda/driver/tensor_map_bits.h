// The 128 bytes that cuTensorMapEncodeTiled made of its parameters on an H200 (driver 580.159.04):
// what the stand-in writes. Equal in every bit to 1,191 random maps that were encoded there; a few
// of them are in tests/tracer/tensor_map_layout_test.cc. Interleaved maps were not measured and are
// refused.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <cstring>

namespace fake_cuda {

class TensorMapBits {
 public:
  void Put(unsigned at, unsigned count, uint64_t value) {
    for (unsigned i = 0; i < count; ++i) {
      if (value >> i & 1) bytes_[(at + i) / 8] |= static_cast<uint8_t>(1u << (at + i) % 8);
    }
  }
  void CopyTo(CUtensorMap* map) const { std::memcpy(map, bytes_, sizeof bytes_); }

 private:
  uint8_t bytes_[128] = {};
};

inline CUresult EncodeTiledTensorMap(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                                     void* address, const cuuint64_t* dims,
                                     const cuuint64_t* strides, const cuuint32_t* box,
                                     const cuuint32_t* steps, CUtensorMapInterleave interleave,
                                     CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                     CUtensorMapFloatOOBfill fill) {
  constexpr unsigned kTypes = 13, kSwizzles = 4;
  constexpr unsigned kBytes[kTypes] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  // Of flush-to-zero and TF32, what is not in these four bits stands elsewhere.
  constexpr unsigned kCodes[kTypes] = {0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 8, 7, 8};
  constexpr unsigned kSpans[kSwizzles] = {16, 32, 64, 128};
  constexpr uint64_t kMostBytes = 232448;
  const unsigned type_index = type, swizzle_index = swizzle;
  const auto address_bits = reinterpret_cast<uintptr_t>(address);
  if (map == nullptr || type_index >= kTypes || swizzle_index >= kSwizzles || rank < 1 ||
      rank > 5 || interleave != CU_TENSOR_MAP_INTERLEAVE_NONE ||
      promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B || fill > 1 ||
      (fill != 0 && type < CU_TENSOR_MAP_DATA_TYPE_FLOAT16) || address_bits % 16 != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const uint64_t inner = uint64_t{box[0]} * kBytes[type_index];
  if (inner % 16 != 0 || (swizzle_index != 0 && inner > kSpans[swizzle_index])) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  uint64_t box_bytes = kBytes[type_index];
  TensorMapBits bits;
  bits.Put(0, 64, address_bits);
  bits.Put(68, 3, rank - 1);
  bits.Put(71, 4, kCodes[type_index]);
  bits.Put(77, 2, swizzle_index);
  bits.Put(79, 1, fill);
  bits.Put(80, 1, type_index > 10 ? 1 : 0);
  bits.Put(81, 2, promotion);
  for (unsigned i = 0; i < rank; ++i) {
    if (dims[i] < 1 || dims[i] > 1ull << 32 || box[i] < 1 || box[i] > 256 || steps[i] < 1 ||
        steps[i] > 8) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    bits.Put(256 + 32 * i, 32, dims[i] - 1);
    bits.Put(416 + 3 * i, 3, steps[i] - 1);
    bits.Put(440 + 8 * i, 8, box[i] - 1);
    box_bytes *= box[i] / steps[i];
    if (i + 1 == rank) break;
    if (strides[i] % 16 != 0 || strides[i] >= 1ull << 40) return CUDA_ERROR_INVALID_VALUE;
    bits.Put(96 + 32 * i, 32, strides[i] / 16);
    bits.Put(224 + 4 * i, 4, strides[i] >> 36);
  }
  if (box_bytes > kMostBytes) return CUDA_ERROR_INVALID_VALUE;
  bits.Put(512, 32, box_bytes);
  bits.Put(576, 32, swizzle_index == 0 ? 16 : 8 * kSpans[swizzle_index]);
  bits.CopyTo(map);
  return CUDA_SUCCESS;
}

}  // namespace fake_cuda
