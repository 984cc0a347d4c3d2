#include "trace/segments.h"

#include <algorithm>
#include <map>
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

void KeepNewestFiles(std::vector<std::string>& paths) {
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  std::map<std::string, std::string> newest;  // by what all files of a trace have for file 0
  const auto trace_of = [](const std::string& path) {
    return path.ends_with(".hpt") || path.ends_with(".hps") ? SegmentPath(path, 0) : path;
  };
  for (const std::string& path : paths) {
    std::string& kept = newest[trace_of(path)];
    if (!kept.ends_with(".hpt")) kept = path;
  }
  std::erase_if(paths, [&](const std::string& path) { return newest[trace_of(path)] != path; });
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
