// The files of one trace that was rotated (proto/FORMAT.md, "Rotation"): names, and how one begins.
// Used by the reader and by tests; the tracer makes the same names.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "proto/trace.pb.h"
#include "trace/file_window.h"
#include "trace/reader.h"

namespace hotproof::trace {

// Where file number `segment` of the trace lies whose newest file is `path` ("X.hpt" ->
// "X.000001.hps"); `path` may be such a file itself.
std::string SegmentPath(const std::string& path, uint32_t segment);

// The highest number of the files beside `path` that are closed ones of its trace; 0: there is none, or
// (`error`) it is not known.
uint32_t LastSegmentBeside(const std::string& path, std::error_code& error);

// Sorts, and keeps of the files of each trace the newest alone: it stands for the others. X.hpt,
// where it is among them.
void KeepNewestFiles(std::vector<std::string>& paths);

struct FileStart {
  uint32_t segment = 1;
  uint32_t pid = 0;
  uint64_t process_start_ticks = 0;
  std::string boot_id;
};
// nullopt: its first frame is no head.
std::optional<FileStart> StartOf(const File& file);

// Whether `piece`, which a chunk has, is of another process than `header`, all that came before it.
// A header is written in pieces: what one of them does not have says nothing.
bool IsOfAnotherProcess(const Header& piece, const Header& header);

// The files of the trace that went before `newest`, which is `path`, and are still there, back to the first
// that is not; oldest first. One that is there and is not read is an issue: what it holds is then known as
// sums alone, as if it were gone.
struct EarlierFiles {
  std::vector<std::unique_ptr<File>> files;
  std::vector<std::string> names;  // without the folder
};
EarlierFiles OpenEarlierFiles(const std::string& path, const File& newest, std::vector<ReadIssue>& issues);

}  // namespace hotproof::trace
