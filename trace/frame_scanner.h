// Walks a trace from frame to frame: decodes every chunk's head, passes over its columns without
// reading them, and finds its way past damage. Used by TraceReader alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/trace.pb.h"
#include "trace/file_window.h"
#include "trace/frame_decoder.h"
#include "trace/reader.h"

namespace hotproof::trace {

struct ScannedChunk {
  Chunk head;
  uint64_t head_bytes = 0;  // as a message
  uint64_t offset_bytes = 0;
  uint64_t columns_offset_bytes = 0, columns_bytes = 0;  // 0 bytes: none
  uint64_t columns_hash = 0;                             // that they should have
  bool columns_lost = false;                             // torn
};

class FrameScanner {
 public:
  FrameScanner(const File& file, std::vector<ReadIssue>& issues)
      : file_(file), window_(file), issues_(issues) {}

  // The next chunk whose head is whole; nullopt at the end of the file.
  std::optional<ScannedChunk> Next();
  // The head at `offset`, which Next found there.
  std::optional<Chunk> HeadAt(uint64_t offset);
  // The same as the bytes of its message, for who needs little of it; valid until the next call.
  std::optional<std::string_view> HeadBytesAt(uint64_t offset);
  // Nothing but an incomplete first frame: a trace whose process ended early, for all one can tell.
  bool only_torn() const { return heads_ == 0 && only_torn_; }
  // How much was read, moved, looked at and decompressed so far, and no more than what it can be of
  // a file of that size, whatever it holds.
  static constexpr uint64_t MostWork(uint64_t file_bytes) { return 320 * ((1 << 20) + file_bytes); }
  uint64_t bytes_moved() const { return window_.bytes_moved(); }
  uint64_t work_bytes() const { return window_.bytes_moved() + vain_bytes_ + content_bytes_; }

 private:
  enum class Result { kHead, kOrphanColumns, kIncomplete, kDamaged, kTooMuch };

  // Leaves the head's message in `decoder_`.
  Result ReadMessage(uint64_t offset, uint64_t& frame_bytes);
  Result ReadHead(uint64_t offset, Chunk& head, uint64_t& frame_bytes);
  void TakeColumns(ScannedChunk& chunk);
  // The next place after `offset` where a frame may begin, or the end of the file.
  uint64_t FindMagic(uint64_t offset);
  void AddIssue(ReadIssue::Kind kind, uint64_t offset, uint64_t lost_bytes, std::string detail);

  const File& file_;
  FileWindow window_;
  std::vector<ReadIssue>& issues_;
  FrameDecoder decoder_;
  uint64_t offset_ = 0;
  uint64_t heads_ = 0;
  bool only_torn_ = false;
  // Both bound the work on files that are damaged, or made to be long to read.
  uint64_t vain_bytes_ = 0;     // looked at or decompressed, and no head was found
  uint64_t content_bytes_ = 0;  // of frames, decompressed
};

}  // namespace hotproof::trace
