#define ZSTD_STATIC_LINKING_ONLY  // ZSTD_initStaticCCtx; libzstd.a is what is linked
#include "trace/frame_output.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#include "xxhash.h"

namespace hotproof::trace {
namespace {

// Writing past RLIMIT_FSIZE raises SIGXFSZ, which kills a process that does not expect it.
bool ExceedsFileSizeLimit(uint64_t end) {
  rlimit limit;
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
         end > limit.rlim_cur;
}

WriteResult ResultOf(int error) {
  return error == ENOSPC || error == EDQUOT || error == EFBIG ? WriteResult::kNoSpace
                                                              : WriteResult::kError;
}

}  // namespace

Frame::Frame(int zstd_level) {
  workspace_.resize((ZSTD_estimateCCtxSize(zstd_level) + sizeof(uint64_t) - 1) / sizeof(uint64_t));
  context_ = ZSTD_initStaticCCtx(workspace_.data(), workspace_.size() * sizeof(uint64_t));
  if (context_ == nullptr) return;
  ZSTD_CCtx_reset(context_, ZSTD_reset_session_and_parameters);  // a static one starts without
  ZSTD_CCtx_setParameter(context_, ZSTD_c_compressionLevel, zstd_level);
  ZSTD_CCtx_setParameter(context_, ZSTD_c_checksumFlag, 1);
}

bool Frame::Compress(const std::string& message) {
  Clear();
  if (context_ == nullptr) return false;
  const size_t bound = ZSTD_compressBound(message.size());
  if (buffer_.size() < bound) buffer_.resize(bound);
  const size_t size =
      ZSTD_compress2(context_, buffer_.data(), buffer_.size(), message.data(), message.size());
  if (ZSTD_isError(size)) return false;
  size_ = size;
  return true;
}

uint64_t Frame::Hash() const { return XXH3_64bits(data(), size()); }

FrameOutput::~FrameOutput() {
  if (fd_ >= 0) close(fd_);
}

WriteResult FrameOutput::Append(const Frame& head, const Frame& columns) {
  if (ExceedsFileSizeLimit(offset_ + head.size() + columns.size())) return WriteResult::kNoSpace;
  iovec parts[2] = {{const_cast<uint8_t*>(head.data()), head.size()},
                    {const_cast<uint8_t*>(columns.data()), columns.size()}};
  uint64_t end = offset_;
  for (int first = 0; first < 2;) {
    if (parts[first].iov_len == 0) {
      ++first;
      continue;
    }
    const ssize_t written = pwritev(fd_, parts + first, 2 - first, static_cast<off_t>(end));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const WriteResult result = written == 0 ? WriteResult::kNoSpace : ResultOf(errno);
      if (end != offset_) [[maybe_unused]]
        const int ignored = ftruncate(fd_, static_cast<off_t>(offset_));
      return result;
    }
    end += written;
    size_t left = written;
    for (; first < 2 && left >= parts[first].iov_len; ++first) left -= parts[first].iov_len;
    if (first < 2) {
      parts[first].iov_base = static_cast<uint8_t*>(parts[first].iov_base) + left;
      parts[first].iov_len -= left;
    }
  }
  offset_ = end;
  return WriteResult::kOk;
}

}  // namespace hotproof::trace
