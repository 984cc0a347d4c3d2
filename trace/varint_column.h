// Reads packed columns: varints one behind the other. The reader's inner loop.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "trace/limits.h"
#include "trace/varint.h"

namespace hotproof::trace {

// The entries of one column in order; zeros without end where the column was left out. Checked()
// comes first and proves that `count` varints end exactly where the column ends, so reading `count`
// entries needs no further bounds. At least eight readable bytes must follow the column.
class VarintColumn {
 public:
  VarintColumn() = default;
  explicit VarintColumn(std::string_view data) {
    if (data.empty()) return;
    at_ = reinterpret_cast<const uint8_t*>(data.data());
    bytes_ = data.size();
    advance_ = ~size_t{0};
  }

  // Before anything was read.
  std::string_view data() const {
    return bytes_ == 0 ? std::string_view()
                       : std::string_view(reinterpret_cast<const char*>(at_), bytes_);
  }
  // Every byte without the continuation bit ends one varint.
  size_t Count() const {
    size_t count = 0, i = 0;
    while (i + 16 <= bytes_) {  // sixteen sums side by side, for as long as a byte holds them
      uint8_t sums[16] = {};
      for (const size_t end = std::min(bytes_, i + 16 * 255); i + 16 <= end; i += 16) {
        for (int k = 0; k < 16; ++k) sums[k] += at_[i + k] < 0x80;
      }
      for (const uint8_t sum : sums) count += sum;
    }
    for (; i < bytes_; ++i) count += at_[i] < 0x80;
    return count;
  }
  // The last entry ends where the column does.
  bool Ends() const { return bytes_ == 0 || at_[bytes_ - 1] < 0x80; }
  bool Checked(size_t count) const {
    if (count > kMaxPendingEntries) return false;
    return bytes_ == 0 || (Ends() && Count() == count);
  }

  // For entries that mostly have one byte.
  uint64_t Small() {
    const uint64_t first = *at_;
    if (first >= 0x80) return Large();
    at_ += 1 & advance_;
    return first;
  }
  // For entries of one or two bytes in no order that a processor could learn.
  uint64_t Large() {
    uint16_t pair;
    std::memcpy(&pair, at_, sizeof(pair));
    const uint32_t first = pair & 0xff, more = first >> 7;
    if ((pair & 0x8080u) == 0x8080u) [[unlikely]] {
      const Decoded decoded = Long(at_);
      at_ = decoded.end;
      return decoded.value;
    }
    at_ += (1 + more) & advance_;
    return (first & 0x7f) | (uint32_t{pair} >> 1 & 0x3f80u & (0u - more));
  }
  uint32_t Delta32() { return UnZigZag32(static_cast<uint32_t>(Small())); }
  uint64_t Delta64() { return UnZigZag64(Large()); }

 private:
  struct Decoded {
    uint64_t value;
    const uint8_t* end;
  };
  // By value, so that the position stays in a register. Bits beyond the 64th are dropped.
  static Decoded Long(const uint8_t* at) {
    uint64_t word;
    std::memcpy(&word, at, sizeof(word));
    const uint64_t stops = ~word & 0x8080808080808080u;
    if (stops == 0) return VeryLong(at);
    at += (std::countr_zero(stops) >> 3) + 1;
    word &= stops ^ (stops - 1);  // up to and with the first stop bit
    word = (word & 0x007f007f007f007fu) | (word & 0x7f007f007f007f00u) >> 1;
    word = (word & 0x00003fff00003fffu) | (word & 0x3fff00003fff0000u) >> 2;
    return {(word & 0x000000000fffffffu) | (word & 0x0fffffff00000000u) >> 4, at};
  }
  [[gnu::noinline]] static Decoded VeryLong(const uint8_t* at) {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const uint8_t byte = *at++;
      if (shift < 64) value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return {value, at};
    }
  }

  static constexpr uint8_t kZeros[8] = {};
  const uint8_t* at_ = kZeros;
  size_t bytes_ = 0;
  size_t advance_ = 0;  // all ones; 0 stays in front of zeros for ever
};

// A column that repeats itself: most of its entries are the same byte as the one before.
class RunColumn {
 public:
  explicit RunColumn(std::string_view data)
      : at_(reinterpret_cast<const uint8_t*>(data.data())), end_(at_ + data.size()) {
    if (data.empty()) repeats_ = ~size_t{0};  // left out: zeros without end
  }

  // How many entries in a row, from the next one on, are `value`, one byte's.
  size_t Repeats(uint8_t value) {
    if (repeats_ == 0) Scan();
    return value == repeated_ ? repeats_ : 0;
  }
  // The next entry; Checked() has proven that there is one.
  uint64_t Take() {
    if (repeats_ == 0) Scan();
    if (repeats_ != 0) {
      Skip(1);
      return repeated_;
    }
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const uint8_t byte = *at_++;
      if (shift < 64) value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
  }
  // Passes over `count` entries that Repeats counted.
  void Skip(size_t count) {
    if (at_ == end_) return;
    at_ += count;
    repeats_ -= count;
  }

 private:
  void Scan() {
    repeated_ = *at_;
    if (repeated_ >= 0x80) return;  // more than a byte
    const uint8_t* at = at_ + 1;
    const uint64_t pattern = repeated_ * uint64_t{0x0101010101010101};
    for (; at < end_; at += 8) {
      uint64_t word;
      std::memcpy(&word, at, sizeof(word));
      if (word == pattern) continue;
      at += std::countr_zero(word ^ pattern) >> 3;
      break;
    }
    repeats_ = static_cast<size_t>((at < end_ ? at : end_) - at_);
  }

  const uint8_t* at_;
  const uint8_t* end_;
  size_t repeats_ = 0;  // of repeated_ from here on; 0: not looked yet
  uint8_t repeated_ = 0;
};

}  // namespace hotproof::trace
