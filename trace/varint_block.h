// Decodes the two large columns, gaps and durations, a block at a time: nearly all of their entries
// have one or two bytes, in no order that a branch predictor could learn, so a block is decoded
// without branches (by a shuffle of eight bytes at a time where the processor has it).
#pragma once

#include <cstddef>
#include <cstdint>

#include "trace/varint_column.h"

namespace hotproof::trace {

inline constexpr size_t kBlockEntries = 512;

// Where a zigzag column is read next. A column that was left out stands in front of zeros for ever.
struct ZigZagCursor {
  const uint8_t* at = nullptr;  // nullptr: left out
};

// Before anything of `column` was read.
inline ZigZagCursor CursorOf(const VarintColumn& column) {
  return {reinterpret_cast<const uint8_t*>(column.data().data())};
}

// The next entries of two columns with equally many; narrow unless one of them needs 64 bits.
struct ZigZagBlock {
  static constexpr size_t kRoom = kBlockEntries + 8;
  bool wide = false;
  int32_t narrow[2][kRoom];
  int64_t entries[2][kBlockEntries];  // where wide
};

// Decodes the next `count` (at most kBlockEntries) entries of both. There are that many, and 16
// readable bytes behind each column.
void DecodeBlock(ZigZagCursor (&cursors)[2], size_t count, ZigZagBlock& block);

// The same without the processor's special instructions, for processors that lack them and tests.
void DecodeBlockPortably(ZigZagCursor (&cursors)[2], size_t count, ZigZagBlock& block);

}  // namespace hotproof::trace
