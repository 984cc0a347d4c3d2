#include "trace/segments.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "proto/trace.pb.h"
#include "protozero/pbf_reader.hpp"
#include "trace/frame_scanner.h"
#include "trace/wire_fields.h"

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

uint32_t LastSegmentBeside(const std::string& path, std::error_code& error) {
  namespace fs = std::filesystem;
  uint32_t last = 0;
  const fs::path folder = fs::path(path).parent_path();
  for (fs::directory_iterator it(folder.empty() ? "." : folder, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    std::string_view number = name;
    if (!number.ends_with(".hps")) continue;
    number.remove_suffix(4);
    number = number.substr(number.rfind('.') + 1);
    uint32_t segment = 0;
    if (absl::SimpleAtoi(std::string(number), &segment) &&
        fs::path(SegmentPath(path, segment)).filename() == name) {
      last = std::max(last, segment);
    }
  }
  return last;
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
  const auto bytes = scanner.HeadBytesAt(0);
  if (!bytes) return std::nullopt;
  // The first head holds all tables, too: of those nothing is parsed here.
  uint32_t segment = 1;
  Header header;
  try {
    protozero::pbf_reader head(bytes->data(), bytes->size());
    while (head.next()) {
      const bool is_message = head.wire_type() == protozero::pbf_wire_type::length_delimited;
      if (head.tag() == wire::kHeader && is_message) {
        if (!header.MergeFromString(head.get_view().to_string())) return std::nullopt;
      } else if (head.tag() == wire::kContinuation && is_message) {
        protozero::pbf_reader continuation = head.get_message();
        while (continuation.next(Continuation::kSegmentFieldNumber,
                                 protozero::pbf_wire_type::varint)) {
          segment = std::max(continuation.get_uint32(), 1u);
        }
      } else {
        head.skip();
      }
    }
  } catch (const protozero::exception&) {
    return std::nullopt;
  }
  return FileStart{segment, header.pid(), header.process_start_ticks(), header.boot_id()};
}

bool IsOfAnotherProcess(const Header& piece, const Header& header) {
  const auto differ = [](const auto& a, const auto& b) {
    const std::remove_cvref_t<decltype(a)> unset{};
    return a != unset && b != unset && a != b;
  };
  return differ(piece.pid(), header.pid()) ||
         differ(piece.process_start_ticks(), header.process_start_ticks()) ||
         differ(piece.boot_id(), header.boot_id()) ||
         differ(piece.start_realtime_ns(), header.start_realtime_ns());
}

EarlierFiles OpenEarlierFiles(const std::string& path, const File& newest, std::vector<ReadIssue>& issues) {
  constexpr size_t kSpareFiles = 8;  // that others need to open
  EarlierFiles earlier;  // newest first
  std::error_code error;
  const uint32_t last = LastSegmentBeside(path, error);
  if (last == 0 && !error) return earlier;
  std::optional<FileStart> later = StartOf(newest);
  uint32_t segment = later ? later->segment - 1 : last;
  for (; segment > 0; --segment) {
    const std::string segment_path = SegmentPath(path, segment);
    const std::string name = segment_path.substr(segment_path.rfind('/') + 1);
    const auto not_read = [&](absl::string_view why) {
      issues.push_back({ReadIssue::Kind::kCorruptColumns, 0, 0,
                        absl::StrCat(name, ": ", why, "; not read, the sums of what is older are known")});
    };
    auto file = File::Open(segment_path);
    if (!file.ok()) {
      if (absl::IsNotFound(file.status())) break;
      not_read(file.status().message());
      if (absl::IsResourceExhausted(file.status())) {  // too many open files
        const size_t kept = earlier.files.size() - std::min(earlier.files.size(), kSpareFiles);
        earlier.files.resize(kept);
        earlier.names.resize(kept);
      }
      break;
    }
    const std::optional<FileStart> start = StartOf(**file);
    if (!start) {
      not_read("its first frame cannot be read");
      break;
    }
    if (start->segment != segment ||
        (later && (start->pid != later->pid ||
                   start->process_start_ticks != later->process_start_ticks))) {
      not_read("it is of another trace");
      break;
    }
    if (!later) later = start;
    earlier.files.push_back(*std::move(file));
    earlier.names.push_back(name);
  }
  std::reverse(earlier.files.begin(), earlier.files.end());
  std::reverse(earlier.names.begin(), earlier.names.end());
  return earlier;
}

}  // namespace hotproof::trace
