// Encodes TMA descriptors without linking to libcuda. Host code; any thread.
#ifndef HOTPROOF_KERNEL_TENSOR_MAP_H_
#define HOTPROOF_KERNEL_TENSOR_MAP_H_

#include <cuda.h>

#include <cstdint>

namespace hotproof::kernel {

// A matrix of bytes [rows][row_bytes], `stride_bytes` apart, read in boxes of box_rows x box_bytes;
// zeros outside. box_bytes: at most 128 with the 128-byte swizzle, else a power of two up to 1024.
struct ByteMatrix {
  const void* base;
  int64_t row_bytes, rows, stride_bytes;
  int box_bytes, box_rows;
  bool swizzle_128;
  int l2_promotion_bytes;  // 0 (none), 128, 256
};

bool tensor_maps_available();
// False when the driver refuses (alignment, size).
bool encode(const ByteMatrix& matrix, CUtensorMap* map);

}  // namespace hotproof::kernel

#endif  // HOTPROOF_KERNEL_TENSOR_MAP_H_
