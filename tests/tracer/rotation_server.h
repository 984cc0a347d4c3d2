// A small server whose trace is rotated, and the fixture of the tests of that. The records of a launch may
// lie on both sides of a border.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "analyzers/process_analysis.h"
#include "cupti_tracer/core/rotation.h"
#include "tests/tools/synthetic_workload.h"
#include "trace/counters.h"
#include "trace/reader.h"
#include "trace/segments.h"

namespace hotproof::tracer {

namespace fs = std::filesystem;

// A server in small: steps, with half of each step's records arriving after the next flush.
class Server {
 public:
  Server(const std::string& folder, const RotationLimits& limits, const std::string& stem = "a")
      : folder_(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)),
        writer_(openat(folder_.Ours(), (stem + ".hpt").c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)),
        counters_(folder_.Ours(), (stem + ".hpc").c_str(), kSiteSlots,
                  1 + tools::SyntheticWorkload::kGraphs, tools::SyntheticWorkload::kPid,
                  tools::SyntheticWorkload::kStartTicks),
        rotation_(limits, folder_, stem, 0) {
    writer_.KeepForNextFile();
    workload_.WriteTables(writer_, stem + ".hpc");
  }

  void Step() {
    launches_ += workload_.Step(~uint64_t{0});
    for (const trace::LaunchEntry& launch : workload_.launches()) {
      writer_.AddLaunch(launch);
      Count(launch);
    }
    const auto& records = workload_.records();
    const size_t half = records.size() / 2;
    for (size_t i = 0; i < half; ++i) writer_.AddRecord(records[i]);
    late_.insert(late_.end(), records.begin() + half, records.end());
  }
  // All records of a step, and behind a rotation its launches.
  void StepOverABorder() {
    launches_ += workload_.Step(~uint64_t{0});
    for (const trace::RecordEntry& record : workload_.records()) writer_.AddRecord(record);
    EXPECT_TRUE(Flush() && Rotate());
    for (const trace::LaunchEntry& launch : workload_.launches()) {
      writer_.AddLaunch(launch);
      Count(launch);
    }
  }
  // What --mode count does.
  void StepCountedOnly() {
    launches_ += workload_.Step(~uint64_t{0});
    for (const trace::LaunchEntry& launch : workload_.launches()) Count(launch);
  }
  bool Flush() {
    const bool ok = writer_.Flush({counters_.sites(), counters_.graphs()}) == trace::WriteResult::kOk;
    counters_.SetRecordsWritten(writer_.records_written());
    for (const trace::RecordEntry& record : late_) writer_.AddRecord(record);
    late_.clear();
    return ok;
  }
  bool Rotate() { return rotation_.Rotate(writer_, ++now_ns_); }
  void End() {
    writer_.AddFooter({.reason = "exit", .launches = launches_, .records = launches_, .flushed = true});
    ASSERT_TRUE(Flush());
  }

  int folder_fd() const { return folder_.Ours(); }
  trace::CounterTable& counters() { return counters_; }
  trace::CounterView counts() const { return {counters_.sites(), counters_.graphs()}; }
  Rotation& rotation() { return rotation_; }
  trace::Writer& writer() { return writer_; }
  uint64_t launches() const { return launches_; }

 private:
  void Count(const trace::LaunchEntry& launch) {
    launch.target.is_graph() ? counters_.CountGraph(launch.target.id())
                             : counters_.CountSite(launch.target.id());
  }

  static constexpr uint32_t kSiteSlots = 4096;  // more than the workload has
  const trace::OwnDescriptor folder_;
  trace::Writer writer_;
  trace::CounterTable counters_;
  Rotation rotation_;
  tools::SyntheticWorkload workload_{1, 30};
  std::vector<trace::RecordEntry> late_;
  uint64_t launches_ = 0, now_ns_ = 0;
};

class RotationTest : public testing::Test {
 protected:
  RotationTest() {
    char name[] = "/tmp/hotproof-rotation-XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~RotationTest() override { fs::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  // `files` of 3 chunks each.
  uint64_t WriteFiles(int files) {
    Server server(folder_, {});
    for (int file = 1; file <= files; ++file) {
      for (int chunk = 0; chunk < 3; ++chunk) {
        server.Step();
        server.Step();
        EXPECT_TRUE(server.Flush());
      }
      if (file < files) {
        EXPECT_TRUE(server.Rotate()) << server.rotation().why();
      }
    }
    EXPECT_TRUE(server.Flush());
    server.End();
    return server.launches();
  }
  analyzers::ProcessAnalysis Analyze(bool counts_only = false) {
    const auto classifier = catalog::Classifier::Create();
    auto reader = trace::TraceReader::Open(Path("a.hpt"), {.verify_columns = !counts_only});
    EXPECT_TRUE(reader.ok()) << reader.status();
    if (counts_only) {
      EXPECT_TRUE(analyzers::HeadsTellCounts((*reader)->tables()));
    }
    return analyzers::AnalyzeTrace(*std::move(reader), *classifier, {.counts_only = counts_only});
  }
  std::string folder_;
};

}  // namespace hotproof::tracer
