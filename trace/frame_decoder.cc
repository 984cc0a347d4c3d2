#define ZSTD_STATIC_LINKING_ONLY  // for ZSTD_d_forceIgnoreChecksum
#include "trace/frame_decoder.h"

#include <cstring>

namespace hotproof::trace {

bool FrameDecoder::Decode(std::string_view frame, size_t max_bytes, bool known_whole) {
  size_ = 0;
  const unsigned long long bytes = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (bytes == ZSTD_CONTENTSIZE_UNKNOWN || bytes == ZSTD_CONTENTSIZE_ERROR || bytes > max_bytes ||
      context_ == nullptr) {
    return false;
  }
  if (buffer_.size() < bytes + kPadding) {
    buffer_.clear();  // nothing of it is copied
    buffer_.resize(bytes + bytes / 8 + kPadding);
  }
  ZSTD_DCtx_setParameter(context_, ZSTD_d_forceIgnoreChecksum,
                         known_whole ? ZSTD_d_ignoreChecksum : ZSTD_d_validateChecksum);
  const size_t size =
      ZSTD_decompressDCtx(context_, buffer_.data(), bytes, frame.data(), frame.size());
  if (ZSTD_isError(size) || size != bytes) return false;
  size_ = size;
  std::memset(buffer_.data() + size, 0, kPadding);
  return true;
}

}  // namespace hotproof::trace
