#include "trace/frame_scanner.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "protozero/pbf_reader.hpp"
#include "trace/limits.h"
#include "trace/wire_fields.h"
#include "zstd_errors.h"

namespace hotproof::trace {
namespace {

constexpr std::string_view kMagic(kZstdMagic, sizeof(kZstdMagic));
constexpr size_t kMaxFrameHeaderBytes = 18;
// Of a place where a frame seems to begin; more only where this much looks like one.
constexpr size_t kFirstLookBytes = 1024;
constexpr size_t kLeastVainBytes = 64;

// What may be looked at in vain: some damaged heads, each of which may be as large as heads are.
uint64_t MostVain(uint64_t file_bytes) { return 64 * ((uint64_t{1} << 20) + file_bytes); }
// Heads are compressed to a fifth or so; the largest there may be is 64 MiB.
uint64_t MostContent(uint64_t file_bytes) { return 128 * ((uint64_t{1} << 20) + file_bytes); }

bool HasColumns(std::string_view message) {
  try {
    protozero::pbf_reader reader(message.data(), message.size());
    while (reader.next()) {
      if (reader.tag() == wire::kLaunches || reader.tag() == wire::kRecords) return true;
      reader.skip();
    }
  } catch (const protozero::exception&) {
  }
  return false;
}

}  // namespace

void FrameScanner::AddIssue(ReadIssue::Kind kind, uint64_t offset, uint64_t lost_bytes,
                            std::string detail) {
  issues_.push_back({kind, offset, lost_bytes, std::move(detail)});
}

FrameScanner::Result FrameScanner::ReadMessage(uint64_t offset, uint64_t& frame_bytes) {
  std::string_view view = window_.Rest(offset, kMaxFrameHeaderBytes).substr(0, kFirstLookBytes);
  if (view.substr(0, kMagic.size()) != kMagic.substr(0, std::min(kMagic.size(), view.size()))) {
    return Result::kDamaged;
  }
  const uint64_t left = file_.size_bytes() - offset;
  const unsigned long long content = ZSTD_getFrameContentSize(view.data(), view.size());
  if (content == ZSTD_CONTENTSIZE_ERROR && view.size() < kMaxFrameHeaderBytes) {
    return Result::kIncomplete;
  }
  if (content > kMaxColumnsBytes) return Result::kDamaged;  // unknown and error included
  const size_t most = ZSTD_compressBound(content);
  for (;;) {
    const size_t size = ZSTD_findFrameCompressedSize(view.data(), view.size());
    if (!ZSTD_isError(size)) {
      frame_bytes = size;
      break;
    }
    vain_bytes_ += std::max(view.size(), kLeastVainBytes);
    if (ZSTD_getErrorCode(size) != ZSTD_error_srcSize_wrong) return Result::kDamaged;
    if (view.size() >= left) return Result::kIncomplete;
    if (view.size() > std::max(most, FileWindow::kStepBytes)) return Result::kDamaged;
    view = window_.At(offset, std::max(4 * view.size(), FileWindow::kStepBytes));
  }
  if (content_bytes_ + content > MostContent(file_.size_bytes())) return Result::kTooMuch;
  content_bytes_ += content;
  if (!decoder_.Decode(view.substr(0, frame_bytes), kMaxColumnsBytes)) {
    vain_bytes_ += std::max<uint64_t>(content, kLeastVainBytes);
    return Result::kDamaged;
  }
  const std::string_view message = decoder_.message();
  if (HasColumns(message)) return Result::kOrphanColumns;
  return message.size() > kMaxHeadBytes ? Result::kDamaged : Result::kHead;
}

FrameScanner::Result FrameScanner::ReadHead(uint64_t offset, Chunk& head, uint64_t& frame_bytes) {
  const Result result = ReadMessage(offset, frame_bytes);
  if (result != Result::kHead) return result;
  const std::string_view message = decoder_.message();
  const bool parsed = head.ParseFromArray(message.data(), static_cast<int>(message.size()));
  return parsed ? Result::kHead : Result::kDamaged;
}

uint64_t FrameScanner::FindMagic(uint64_t offset) {
  for (;;) {
    const std::string_view view = window_.Rest(offset, kMagic.size());
    const size_t found = view.find(kMagic);
    if (found != std::string_view::npos) return offset + found;
    if (view.size() < kMagic.size()) return file_.size_bytes();
    offset += view.size() - kMagic.size() + 1;
  }
}

std::optional<std::string_view> FrameScanner::HeadBytesAt(uint64_t offset) {
  uint64_t frame_bytes = 0;
  if (ReadMessage(offset, frame_bytes) != Result::kHead) return std::nullopt;
  return decoder_.message();
}

std::optional<Chunk> FrameScanner::HeadAt(uint64_t offset) {
  Chunk head;
  uint64_t frame_bytes = 0;
  if (ReadHead(offset, head, frame_bytes) != Result::kHead) return std::nullopt;
  return head;
}

void FrameScanner::TakeColumns(ScannedChunk& chunk) {
  if (!chunk.head.has_columns_frame()) return;
  chunk.columns_offset_bytes = offset_;
  const uint64_t bytes = chunk.head.columns_frame().size_bytes();
  const uint64_t left = file_.size_bytes() - offset_;
  if (bytes > left) {
    chunk.columns_lost = true;
    AddIssue(ReadIssue::Kind::kTornTail, offset_, left,
             absl::StrCat("the columns of chunk ", chunk.head.sequence(), " end after ", left,
                          " of ", bytes, " bytes"));
    offset_ = file_.size_bytes();
    return;
  }
  chunk.columns_bytes = bytes;
  chunk.columns_hash = chunk.head.columns_frame().hash();
  offset_ += bytes;
}

std::optional<ScannedChunk> FrameScanner::Next() {
  std::optional<Result> damage;
  uint64_t damage_begin = 0;
  std::optional<ScannedChunk> found;
  while (!found && offset_ < file_.size_bytes()) {
    ScannedChunk chunk;
    chunk.offset_bytes = offset_;
    uint64_t frame_bytes = 0;
    const Result result = ReadHead(offset_, chunk.head, frame_bytes);
    if (result == Result::kHead) {
      chunk.head_bytes = decoder_.message().size();
      found = std::move(chunk);
      offset_ += frame_bytes;
      continue;
    }
    if (!damage) {
      damage = result;
      damage_begin = offset_;
    }
    // A frame whose size is known may be followed by a good one; otherwise look for one.
    const uint64_t next = offset_ + frame_bytes;
    if (result == Result::kTooMuch || vain_bytes_ > MostVain(file_.size_bytes())) {
      offset_ = file_.size_bytes();  // not a file that was ever a trace
    } else if (frame_bytes != 0 &&
               (next == file_.size_bytes() ||
                window_.Rest(next, kMagic.size()).substr(0, kMagic.size()) == kMagic)) {
      offset_ = next;
    } else {
      offset_ = FindMagic(offset_ + 1);
    }
  }
  if (damage) {
    const uint64_t damage_end = found ? found->offset_bytes : file_.size_bytes();
    const bool torn = *damage == Result::kIncomplete && !found;
    if (heads_ == 0) only_torn_ = torn && damage_begin == 0;
    AddIssue(torn ? ReadIssue::Kind::kTornTail : ReadIssue::Kind::kCorruptFrame, damage_begin,
             damage_end - damage_begin,
             torn ? "the last frame is incomplete" : "no frame can be read here");
  }
  if (found) {
    ++heads_;
    TakeColumns(*found);
  }
  return found;
}

}  // namespace hotproof::trace
