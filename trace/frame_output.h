// Compresses chunk messages and appends them to the trace file, whole or not at all. Owned by the
// Writer, one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "trace/writer.h"
#include "zstd.h"

namespace hotproof::trace {

// One zstd frame, in a buffer that is kept. The compressor lives in memory set aside once: left to
// itself, zstd gives memory back and asks for it again as sizes change.
class Frame {
 public:
  explicit Frame(int zstd_level);
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  // False: zstd has no memory.
  bool Compress(const std::string& message);
  void Clear() { size_ = 0; }
  const uint8_t* data() const { return buffer_.data(); }
  size_t size() const { return size_; }
  uint64_t Hash() const;  // XXH3-64 of the frame

 private:
  std::vector<uint64_t> workspace_;
  ZSTD_CCtx* context_ = nullptr;
  std::vector<uint8_t> buffer_;
  size_t size_ = 0;
};

class FrameOutput {
 public:
  explicit FrameOutput(int fd) : fd_(fd) {}
  ~FrameOutput();
  FrameOutput(const FrameOutput&) = delete;
  FrameOutput& operator=(const FrameOutput&) = delete;

  // Appends both frames (either may be empty) in one call. On failure the file is cut back to what
  // it was; where that fails too, the next frames are written over the torn one.
  WriteResult Append(const Frame& head, const Frame& columns);
  uint64_t bytes_written() const { return offset_; }

 private:
  int fd_;
  uint64_t offset_ = 0;
};

}  // namespace hotproof::trace
