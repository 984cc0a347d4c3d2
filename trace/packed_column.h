// One packed column under construction in a stretch of a scratch buffer, and the message around
// several. Used by the encoders of a chunk's columns, one thread at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

#include "trace/varint.h"

namespace hotproof::trace {

class PackedColumn {
 public:
  PackedColumn(uint32_t field, uint8_t* begin) : field_(field), begin_(begin), end_(begin) {}
  void Put(uint64_t value) {
    any_ |= value;
    end_ = PutVarint(end_, value);
  }
  // The column that tells how many entries its fellows have.
  PackedColumn& Counting() {
    any_ = 1;
    return *this;
  }
  uint8_t* end() const { return end_; }

  // Writes entries from a loop's local variables. May write kSlackBytes behind the last entry: what
  // lies there must be written later, or be room that nobody uses.
  class Cursor {
   public:
    explicit Cursor(uint8_t* at) : at_(at) {}
    void PutZero() { *at_++ = 0; }
    // For entries that mostly have one byte.
    void PutSmall(uint64_t value) {
      any_ |= value;
      *at_ = static_cast<uint8_t>(value);
      if (value < 0x80) [[likely]] {
        ++at_;
      } else {
        at_ = PutVarint(at_, value);
      }
    }
    // For entries that mostly have one or two bytes, in no order that a processor could learn.
    void PutShort(uint64_t value) {
      any_ |= value;
      if (value < 0x4000) [[likely]] {
        const uint64_t more = value > 0x7f;
        const auto pair = static_cast<uint16_t>((value & 0x7f) | more << 7 | (value & 0x3f80) << 1);
        std::memcpy(at_, &pair, sizeof pair);  // little-endian, as the whole format
        at_ += 1 + more;
      } else {
        at_ = PutVarint(at_, value);
      }
    }

   private:
    friend class PackedColumn;
    uint8_t* at_;
    uint64_t any_ = 0;
  };
  static constexpr size_t kSlackBytes = 1;
  Cursor Begin() const { return Cursor(end_); }
  void End(const Cursor& cursor) {
    end_ = cursor.at_;
    any_ |= cursor.any_;
  }

  // A column of zeros alone is not written, unless it counts.
  size_t data_bytes() const { return any_ != 0 ? static_cast<size_t>(end_ - begin_) : 0; }
  size_t field_bytes() const {
    return data_bytes() == 0 ? 0 : VarintSize(tag()) + VarintSize(data_bytes()) + data_bytes();
  }
  void AppendTo(std::string& message) const {
    if (data_bytes() == 0) return;
    uint8_t head[2 * kMaxVarintBytes];
    const uint8_t* end = PutVarint(PutVarint(head, tag()), data_bytes());
    message.append(reinterpret_cast<const char*>(head), end - head);
    message.append(reinterpret_cast<const char*>(begin_), data_bytes());
  }

 private:
  uint64_t tag() const { return uint64_t{field_} << 3 | 2; }
  uint32_t field_;
  uint8_t* begin_;
  uint8_t* end_;
  uint64_t any_ = 0;
};

inline void AppendColumns(uint32_t field, std::initializer_list<const PackedColumn*> columns,
                          std::string& message) {
  size_t bytes = 0;
  for (const PackedColumn* column : columns) bytes += column->field_bytes();
  uint8_t head[2 * kMaxVarintBytes];
  const uint8_t* end = PutVarint(PutVarint(head, uint64_t{field} << 3 | 2), bytes);
  message.append(reinterpret_cast<const char*>(head), end - head);
  for (const PackedColumn* column : columns) column->AppendTo(message);
}

// Activity buffers are nearly sorted: several streams, each in order. Insertion sort moves little
// then; when it moves much, an ordinary sort takes over. Neither allocates.
template <typename Key, typename Less>
void SortNearlySorted(std::vector<Key>& keys, Less less) {
  size_t moves_left = 8 * keys.size();
  for (size_t i = 1; i < keys.size(); ++i) {
    if (!less(keys[i], keys[i - 1])) continue;
    const Key key = keys[i];
    size_t to = i;
    for (; to > 0 && less(key, keys[to - 1]); --to) {
      keys[to] = keys[to - 1];
      if (--moves_left == 0) {
        keys[to - 1] = key;
        std::sort(keys.begin(), keys.end(), less);
        return;
      }
    }
    keys[to] = key;
  }
}

}  // namespace hotproof::trace
