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

// The tokens [rows][row_bytes] in boxes of box_blocks x 128 bytes of box_rows rows, which land as
// matrices of 128-byte rows, swizzled, one after the other along K. Coordinates: (0, row, K block),
// or with `ragged`, as below, of one block each, (byte, row, 0). Zeros outside.
struct TokenMatrix {
  const void* base;
  int64_t row_bytes, rows, stride_bytes;
  int box_blocks, box_rows;
  bool ragged;
  int l2_promotion_bytes;
};

// The weights [rows][row_bytes] in boxes of box_blocks x 128 bytes of 8 * box_groups rows. A box
// lands as pieces of 8 rows x 128 bytes, swizzled: group by group, inside a group along K. So every
// row is read box_blocks * 128 bytes at a time, which the memory likes better than 128.
// Coordinates: (0, 0, K block, group), or with `ragged`, which row_bytes that are no multiple of
// 128 need and which allows one block in a box, (byte, 0, 0, group). Zeros outside. rows: a
// multiple of 8.
struct WeightMatrix {
  const void* base;
  int64_t row_bytes, rows, stride_bytes;
  int box_blocks, box_groups;
  bool ragged;
  int l2_promotion_bytes;
};

bool tensor_maps_available();
// False when the driver refuses (alignment, size).
bool encode(const ByteMatrix& matrix, CUtensorMap* map);
bool encode(const TokenMatrix& matrix, CUtensorMap* map);
bool encode(const WeightMatrix& matrix, CUtensorMap* map);

}  // namespace hotproof::kernel

#endif  // HOTPROOF_KERNEL_TENSOR_MAP_H_
