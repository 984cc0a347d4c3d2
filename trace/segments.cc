#include "trace/segments.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "absl/strings/str_format.h"
#include "trace/frame_scanner.h"

namespace hotproof::trace {

std::string SegmentPath(const std::string& path, uint32_t segment) {
  std::string_view stem = path;
  if (stem.ends_with(".hpt")) {
    stem.remove_suffix(4);
  } else if (stem.ends_with(".hps")) {
    stem.remove_suffix(4);
    stem = stem.substr(0, stem.rfind('.'));
  }
  return absl::StrFormat("%s.%06d.hps", std::string(stem), segment);
}

std::optional<FileStart> StartOf(const File& file) {
  std::vector<ReadIssue> ignored;
  FrameScanner scanner(file, ignored);
  const std::optional<Chunk> head = scanner.HeadAt(0);
  if (!head) return std::nullopt;
  return FileStart{.segment = std::max(head->continuation().segment(), 1u),
                   .pid = head->header().pid(),
                   .process_start_ticks = head->header().process_start_ticks()};
}

}  // namespace hotproof::trace
