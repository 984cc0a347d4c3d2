// A new file after a time (--rotate-every), on a clock of the test's own.
#include "cupti_tracer/core/trace_file.h"
#include "tests/tracer/rotation_server.h"

namespace hotproof::tracer {
namespace {

constexpr uint64_t kMinuteNs = 60'000'000'000;

// Files of a trace named "a" that are closed.
uint32_t ClosedFiles(const std::string& folder) {
  uint32_t closed = 0;
  for (const auto& entry : fs::directory_iterator(folder))
    closed += entry.path().extension() == ".hps";
  return closed;
}

TEST_F(RotationTest, AFileIsDueWhenItIsOldEnough) {
  {
    Server server(folder_, {.file_ns = kMinuteNs});  // begun at 0
    uint64_t began_ns = 0;
    for (uint32_t file = 1; file <= 3; ++file) {
      EXPECT_FALSE(
          server.rotation().Due(server.writer(), began_ns + 2 * kMinuteNs));  // nothing ran
      server.Step();
      ASSERT_TRUE(server.Flush());
      EXPECT_FALSE(server.rotation().Due(server.writer(), began_ns + kMinuteNs - 1));
      ASSERT_TRUE(server.rotation().Due(server.writer(), began_ns + kMinuteNs));
      began_ns += kMinuteNs + 7;  // the flush comes a little later
      ASSERT_TRUE(server.rotation().Rotate(server.writer(), began_ns)) << server.rotation().why();
      EXPECT_EQ(ClosedFiles(folder_), file);
    }
    ASSERT_TRUE(server.Flush());
    server.Step();
    ASSERT_TRUE(server.Flush());
    server.End();
    const auto process = Analyze();
    EXPECT_TRUE(process.reader->issues().empty());
    EXPECT_EQ(process.reader->tables().rotated_out.files, 0u);
    const report::Completeness& completeness = process.completeness.completeness;
    EXPECT_EQ(completeness.state(), report::Completeness::COMPLETE);
    EXPECT_EQ(completeness.recorded(), static_cast<double>(server.launches()));
  }
}

TEST_F(RotationTest, TheFirstOfSizeAndTimeCounts) {
  Server server(folder_, {.file_bytes = 1, .file_ns = kMinuteNs});
  server.Step();
  ASSERT_TRUE(server.Flush());
  EXPECT_TRUE(server.rotation().Due(server.writer(), 1));
  ASSERT_TRUE(server.rotation().Rotate(server.writer(), 1)) << server.rotation().why();
  server.StepCountedOnly();
  ASSERT_TRUE(server.Flush());
  EXPECT_FALSE(
      server.rotation().Due(server.writer(), kMinuteNs));  // small, and a minute less 1 ns old
  EXPECT_TRUE(server.rotation().Due(server.writer(), 1 + kMinuteNs));
}

// By the clock that a process has: any flush comes later than a nanosecond after its file was
// begun.
TEST_F(RotationTest, ATraceFileRotatesByTheTime) {
  TraceFile file(Path("run"), "a");
  file.SetRotation({.file_ns = 1});
  file.OpenCounters(tools::SyntheticWorkload::kPid, tools::SyntheticWorkload::kStartTicks);
  tools::SyntheticWorkload workload;
  {
    std::lock_guard lock(file.mutex());
    workload.WriteTables(*file.writer_locked(), "a.hpc");
    file.FlushTablesLocked();
  }
  for (uint32_t closed = 1; closed <= 2; ++closed) {
    {
      std::lock_guard lock(file.mutex());
      workload.Step(~uint64_t{0});
      for (const trace::LaunchEntry& launch : workload.launches())
        file.writer_locked()->AddLaunch(launch);
      for (const trace::RecordEntry& record : workload.records())
        file.writer_locked()->AddRecord(record);
    }
    ASSERT_TRUE(file.Flush());
    EXPECT_EQ(ClosedFiles(Path("run")), closed);
  }
  EXPECT_TRUE(fs::exists(Path("run/a.hpt")));
}

}  // namespace
}  // namespace hotproof::tracer
