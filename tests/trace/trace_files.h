// Shared by the trace tests: scratch files, and a small trace that uses every message and column.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trace/reader.h"
#include "trace/writer.h"

namespace hotproof::trace {

// A folder of its own, removed at the end.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string File(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string ReadWhole(const std::string& path);
void WriteWhole(const std::string& path, const std::string& bytes);
int CreateFile(const std::string& path);

// What the small trace holds, to compare with. Counters are absolute at its end.
struct SmallTrace {
  static constexpr uint32_t kPid = 4711;
  static constexpr uint64_t kStartTicks = 987654;
  std::vector<uint64_t> sites = std::vector<uint64_t>(5), graphs = std::vector<uint64_t>(3);
  std::vector<std::vector<LaunchEntry>> launches;  // by chunk
  std::vector<std::vector<RecordEntry>> timed;     // by chunk, sorted
  std::vector<std::vector<RecordEntry>> untimed;
  std::vector<OperationEntry> operations;  // all in the last chunk, as they are ordered there
};
// Three chunks: tables alone, then two with columns (the tables that the second needs come in it).
SmallTrace WriteSmallTrace(const std::string& path, const std::string& counters_file = "");

// XXH3-64, as heads hold it of their columns.
uint64_t HashFrame(const std::string& frame);

// One frame per message, as the writer frames heads.
std::string CompressFrame(const std::string& message);
// The frames of a trace, each decompressed.
std::vector<std::string> DecompressFrames(const std::string& file);

}  // namespace hotproof::trace
