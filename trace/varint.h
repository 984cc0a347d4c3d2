// Protobuf's varints and zigzag, by hand: the columns are millions of them.
#pragma once

#include <cstdint>

namespace hotproof::trace {

inline constexpr int kMaxVarintBytes = 10;
inline constexpr int kMaxVarint32Bytes = 5;

inline uint8_t* PutVarint(uint8_t* out, uint64_t value) {
  while (value >= 0x80) {
    *out++ = static_cast<uint8_t>(value | 0x80);
    value >>= 7;
  }
  *out++ = static_cast<uint8_t>(value);
  return out;
}

inline int VarintSize(uint64_t value) {
  int size = 1;
  while (value >= 0x80) {
    value >>= 7;
    ++size;
  }
  return size;
}

// Differences wrap around, so that any two ids have one.
inline uint32_t ZigZag32(uint32_t difference) {
  return (difference << 1) ^ (0u - (difference >> 31));
}
inline uint64_t ZigZag64(uint64_t difference) {
  return (difference << 1) ^ (uint64_t{0} - (difference >> 63));
}
inline uint32_t UnZigZag32(uint32_t value) { return (value >> 1) ^ (0u - (value & 1)); }
inline uint64_t UnZigZag64(uint64_t value) { return (value >> 1) ^ (uint64_t{0} - (value & 1)); }

}  // namespace hotproof::trace
