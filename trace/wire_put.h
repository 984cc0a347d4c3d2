// Writes fields of protobuf messages as the trace has them: zeros left out, columns packed, text in
// valid UTF-8. Used by the head's encoders.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "protozero/pbf_writer.hpp"
#include "trace/varint.h"

namespace hotproof::trace {

using protozero::pbf_writer;

// Length of the longest prefix that is valid UTF-8 (RFC 3629: no overlong forms, no surrogates).
inline size_t ValidUtf8Prefix(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[at + i]); };
    const uint8_t first = byte(0);
    const size_t length = first < 0x80   ? 1
                          : first < 0xC2 ? 0
                          : first < 0xE0 ? 2
                          : first < 0xF0 ? 3
                          : first < 0xF5 ? 4
                                         : 0;
    if (length == 0 || length > text.size() - at) return at;
    for (size_t i = 1; i < length; ++i) {
      const uint8_t low = i > 1 ? 0x80 : first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
      const uint8_t high = i > 1 ? 0xBF : first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
      if (byte(i) < low || byte(i) > high) return at;
    }
    at += length;
  }
  return at;
}

// proto3: zeros are not written.
inline void PutUint(pbf_writer& to, uint32_t field, uint64_t value) {
  if (value != 0) to.add_uint64(field, value);
}
inline void PutBytes(pbf_writer& to, uint32_t field, std::string_view value) {
  if (!value.empty()) to.add_bytes(field, value.data(), value.size());
}

// Arguments, paths and names may be any bytes, protobuf's strings must be UTF-8: a reader would
// refuse the whole chunk. Bytes that are not UTF-8 become U+FFFD.
inline void PutText(pbf_writer& to, uint32_t field, std::string_view value) {
  if (ValidUtf8Prefix(value) == value.size()) {
    to.add_bytes(field, value.data(), value.size());
    return;
  }
  std::string text;
  while (!value.empty()) {
    const size_t valid = ValidUtf8Prefix(value);
    text.append(value.substr(0, valid));
    value.remove_prefix(valid);
    if (value.empty()) break;
    text.append("\xEF\xBF\xBD");
    value.remove_prefix(1);
  }
  to.add_bytes(field, text.data(), text.size());
}
inline void PutString(pbf_writer& to, uint32_t field, std::string_view value) {
  if (!value.empty()) PutText(to, field, value);
}

// Adds the packed field whose varints are `coded(i)` for i in [0, count).
template <typename Coded>
void PutPacked(pbf_writer& to, uint32_t field, size_t count, Coded coded) {
  if (count == 0) return;
  protozero::packed_field_uint64 packed(to, field);
  for (size_t i = 0; i < count; ++i) packed.add_element(coded(i));
}

template <typename T>
void PutPacked(pbf_writer& to, uint32_t field, std::span<const T> values) {
  PutPacked(to, field, values.size(), [&](size_t i) -> uint64_t { return values[i]; });
}

template <typename T>
void PutDelta32(pbf_writer& to, uint32_t field, std::span<const T> values) {
  uint32_t previous = 0;
  PutPacked(to, field, values.size(), [&](size_t i) -> uint64_t {
    return ZigZag32(values[i] - std::exchange(previous, values[i]));
  });
}

inline void PutDelta64(pbf_writer& to, uint32_t field, std::span<const uint64_t> values) {
  uint64_t previous = 0;
  PutPacked(to, field, values.size(), [&](size_t i) -> uint64_t {
    return ZigZag64(values[i] - std::exchange(previous, values[i]));
  });
}

// The ids of sorted (id, value) pairs, delta coded.
template <typename Pairs>
void PutIds(pbf_writer& to, uint32_t field, const Pairs& pairs) {
  uint32_t previous = 0;
  PutPacked(to, field, pairs.size(), [&](size_t i) -> uint64_t {
    return ZigZag32(pairs[i].first - std::exchange(previous, pairs[i].first));
  });
}

}  // namespace hotproof::trace
