// Decompresses single zstd frames into a buffer that is kept. One per thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "zstd.h"

namespace hotproof::trace {

inline constexpr char kZstdMagic[4] = {'\x28', '\xB5', '\x2F', '\xFD'};

class FrameDecoder {
 public:
  FrameDecoder() : context_(ZSTD_createDCtx()) {}
  ~FrameDecoder() { ZSTD_freeDCtx(context_); }
  FrameDecoder(const FrameDecoder&) = delete;
  FrameDecoder& operator=(const FrameDecoder&) = delete;

  // Decompresses `frame`, one whole frame, and verifies its checksum unless its bytes are known to
  // be those that were written. False: damaged, without its size, or larger than `max_bytes`
  // uncompressed.
  bool Decode(std::string_view frame, size_t max_bytes, bool known_whole = false);
  // The message of the last Decode. At least kPadding readable bytes follow it.
  std::string_view message() const {
    return {reinterpret_cast<const char*>(buffer_.data()), size_};
  }
  static constexpr size_t kPadding = 16;

 private:
  ZSTD_DCtx* context_;
  std::vector<uint8_t> buffer_;
  size_t size_ = 0;
};

}  // namespace hotproof::trace
