// A trace in memory, built from a FakeTrace message, for tests of what reads traces.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "analyzers/process_analysis.h"
#include "tests/analyzers/fake_trace.pb.h"
#include "trace/reader.h"

namespace hotproof::tests {

class FakeReader : public trace::TraceReader {
 public:
  explicit FakeReader(const FakeTrace& fake);

  const std::string& path() const override { return path_; }
  const trace::Tables& tables() const override { return tables_; }
  const std::vector<trace::ReadIssue>& issues() const override { return issues_; }
  size_t chunk_count() const override { return chunks_.size(); }
  uint64_t file_bytes() const override { return 0; }
  absl::Status ReadChunk(size_t index, trace::ChunkColumns& columns) const override;

 private:
  friend class Builder;
  std::string path_;
  trace::Tables tables_;
  std::vector<trace::ReadIssue> issues_;
  std::vector<trace::ChunkColumns> chunks_;
};

// Parses a textproto; a test that gets it wrong ends with the parser's complaint.
FakeRun ParseRun(const std::string& text);
FakeTrace ParseTrace(const std::string& text);

// `run` analysed by `threads` threads, as the program does it.
struct AnalysedRun {
  std::vector<analyzers::ProcessAnalysis> processes;
  analyzers::Coverage coverage;
};
AnalysedRun Analyse(const FakeRun& run, int threads = 1);
AnalysedRun Analyse(const FakeTrace& trace, int threads = 1);

}  // namespace hotproof::tests
