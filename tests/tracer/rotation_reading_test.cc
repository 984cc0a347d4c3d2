// Files come and go, and what readers say stays true.
#include "tests/tracer/rotation_server.h"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <numeric>

#include "analyzers/report.h"

namespace hotproof::tracer {
namespace {

uint64_t Sum(const std::vector<uint64_t>& values) {
  return std::accumulate(values.begin(), values.end(), uint64_t{0});
}

// Overwrites the first bytes of a file.
void Damage(const std::string& path) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.write("damaged", 7);
}

TEST_F(RotationTest, AllFilesReadAsOneTrace) {
  const uint64_t launches = WriteFiles(5);
  const auto process = Analyze();
  EXPECT_TRUE(process.reader->issues().empty());
  EXPECT_EQ(process.reader->tables().rotated_out.files, 0u);
  EXPECT_EQ(process.reader->chunk_count(), 5u * 3u + 2u);
  EXPECT_EQ(process.times.records, launches);
  EXPECT_TRUE(process.eager_order_proven());
  const report::Completeness& completeness = process.completeness.completeness;
  EXPECT_EQ(completeness.state(), report::Completeness::COMPLETE);
  EXPECT_EQ(completeness.expected(), static_cast<double>(launches));
}

TEST_F(RotationTest, WhatIsGoneIsCountedAndNeverTimed) {
  const uint64_t launches = WriteFiles(6);
  const auto whole = Analyze();
  for (int gone = 1; gone <= 5; ++gone) {
    ASSERT_TRUE(fs::remove(trace::SegmentPath(Path("a.hpt"), gone)));
    const auto process = Analyze();
    const trace::Tables& tables = process.reader->tables();
    EXPECT_TRUE(process.reader->issues().empty());
    ASSERT_EQ(tables.rotated_out.files, static_cast<uint32_t>(gone));
    EXPECT_EQ(tables.rotated_out.rollups.size(), static_cast<size_t>(gone));
    EXPECT_EQ(process.times.records + tables.rotated_out.records, launches);
    for (size_t site = 0; site < tables.sites.size(); ++site) {
      EXPECT_EQ(tables.site_records[site] + tables.rotated_out.site_records[site],
                whole.reader->tables().site_records[site]);
      EXPECT_EQ(tables.site_duration_ns[site] + tables.rotated_out.site_duration_ns[site],
                whole.reader->tables().site_duration_ns[site]);
    }
    EXPECT_EQ(tables.asked.sites, whole.reader->tables().asked.sites);
    const report::Completeness& completeness = process.completeness.completeness;
    EXPECT_EQ(completeness.state(), report::Completeness::LOWER_BOUND);
    EXPECT_TRUE(completeness.counts_exact());
    EXPECT_EQ(completeness.expected(), static_cast<double>(launches));
    EXPECT_EQ(completeness.recorded(), static_cast<double>(launches));
    EXPECT_EQ(completeness.lost() + completeness.in_flight() + completeness.surplus(), 0);
    ASSERT_EQ(completeness.reasons_size(), 1);
    EXPECT_EQ(completeness.reasons(0).name(), "rotated_out");
    EXPECT_EQ(process.completeness.counts_all, analyzers::Evidence::kExact);
    EXPECT_NE(process.completeness.times, analyzers::Evidence::kExact);
    EXPECT_FALSE(process.eager_order_proven());
    EXPECT_EQ(Analyze(/*counts_only=*/true).completeness.completeness.expected(),
              static_cast<double>(launches));
  }
  const auto process = Analyze();
  const report::Report report = analyzers::BuildReport({&process, 1}, {}, analyzers::PhaseChoice::kAll);
  const report::RotatedOut& gone = report.processes(0).rotated_out();
  EXPECT_EQ(gone.files(), 5u);
  EXPECT_EQ(gone.periods_size(), 5);
  EXPECT_EQ(gone.records() + static_cast<double>(process.times.records), static_cast<double>(launches));
  EXPECT_EQ(gone.time_ns(), static_cast<double>(Sum(process.reader->tables().rotated_out.site_duration_ns)));
  double timed = 0;
  for (const report::Kernel& kernel : report.kernels()) timed += kernel.timed_launches();
  EXPECT_EQ(timed, static_cast<double>(process.times.records));
}

// Each launch that is listed has its records, some of them by number alone.
TEST_F(RotationTest, NothingIsCompleteWhereRecordsAloneAreGone) {
  {
    Server server(folder_, {});
    server.StepOverABorder();
    EXPECT_TRUE(server.Flush());
    server.End();
  }
  EXPECT_EQ(Analyze().completeness.completeness.state(), report::Completeness::COMPLETE);
  ASSERT_TRUE(fs::remove(trace::SegmentPath(Path("a.hpt"), 1)));
  const auto process = Analyze();
  EXPECT_EQ(process.completeness.completeness.state(), report::Completeness::LOWER_BOUND);
  ASSERT_EQ(process.completeness.completeness.reasons_size(), 1);
  EXPECT_EQ(process.completeness.completeness.reasons(0).name(), "rotated_out");
  EXPECT_EQ(process.completeness.completeness.reasons(0).count(),
            static_cast<double>(process.reader->tables().rotated_out.records));
}

// Of a file in the middle the later ones' sums speak, and the earlier ones are not needed.
TEST_F(RotationTest, AnyFileMayGo) {
  const uint64_t launches = WriteFiles(5);
  fs::remove(trace::SegmentPath(Path("a.hpt"), 3));
  const auto process = Analyze();
  EXPECT_TRUE(process.reader->issues().empty());
  EXPECT_EQ(process.reader->tables().rotated_out.files, 3u);
  EXPECT_EQ(process.completeness.completeness.recorded(), static_cast<double>(launches));
}

TEST_F(RotationTest, TheCountsOfTheChunksAloneAreWhole) {
  const uint64_t launches = WriteFiles(4);
  fs::remove(Path("a.hpc"));
  fs::remove(trace::SegmentPath(Path("a.hpt"), 1));
  fs::remove(trace::SegmentPath(Path("a.hpt"), 2));
  const auto process = Analyze();
  EXPECT_EQ(process.reader->tables().asked_source, trace::CounterSource::kChunks);
  EXPECT_EQ(process.completeness.completeness.expected(), static_cast<double>(launches));
}

TEST_F(RotationTest, ManyFilesAreRolledUpTogether) {
  const uint64_t launches = WriteFiles(90);
  for (int file = 1; file < 90; ++file) fs::remove(trace::SegmentPath(Path("a.hpt"), file));
  const auto process = Analyze();
  const trace::RotatedOut& gone = process.reader->tables().rotated_out;
  EXPECT_EQ(gone.files, 89u);
  EXPECT_LE(gone.rollups.size(), 33u);
  uint32_t next = 1;
  uint64_t chunks = 0;
  for (const trace::Rollup& rollup : gone.rollups) {
    EXPECT_EQ(rollup.first_segment(), next);
    next = rollup.last_segment() + 1;
    chunks += rollup.chunk_count();
  }
  EXPECT_EQ(next, 90u);
  EXPECT_EQ(chunks, 89u * 3u + 88u);
  EXPECT_EQ(process.completeness.completeness.recorded(), static_cast<double>(launches));
}

// The sums of what went before are lost with it, the files themselves are not.
TEST_F(RotationTest, BehindADamagedFirstHeadTheClosedFilesAreRead) {
  const uint64_t launches = WriteFiles(4);
  Damage(Path("a.hpt"));
  const auto process = Analyze();
  EXPECT_EQ(process.reader->tables().rotated_out.files, 0u);
  EXPECT_EQ(process.times.records, launches);
  EXPECT_EQ(process.completeness.completeness.expected(), static_cast<double>(launches));
  EXPECT_EQ(process.completeness.completeness.state(), report::Completeness::LOWER_BOUND);
  EXPECT_FALSE(process.reader->issues().empty());
}

TEST_F(RotationTest, AFileThatIsThereAndIsNotReadIsNamed) {
  const uint64_t launches = WriteFiles(5);
  const auto refused = [&](const std::string& why) {
    const auto process = Analyze();
    EXPECT_EQ(process.reader->tables().rotated_out.files, 3u);
    EXPECT_EQ(process.completeness.completeness.recorded(), static_cast<double>(launches));
    EXPECT_EQ(process.completeness.completeness.state(), report::Completeness::LOWER_BOUND);
    ASSERT_EQ(process.reader->issues().size(), 1u);
    const std::string& detail = process.reader->issues()[0].detail;
    EXPECT_NE(detail.find("a.000003.hps: "), std::string::npos) << detail;
    EXPECT_NE(detail.find(why), std::string::npos) << detail;
  };
  const std::string third = trace::SegmentPath(Path("a.hpt"), 3);
  const std::string whole = Path("kept");
  fs::copy(third, whole);
  Damage(third);
  refused("cannot be read");
  fs::remove(third);
  fs::copy(trace::SegmentPath(Path("a.hpt"), 2), third);
  refused("another trace");
  fs::remove(third);
  fs::create_directory(third);
  refused("not a regular file");
  fs::remove(third);
  fs::copy(whole, third);
  EXPECT_EQ(Analyze().completeness.completeness.state(), report::Completeness::COMPLETE);
}

TEST_F(RotationTest, MoreFilesThanMayBeOpenAreNamed) {
  const uint64_t launches = WriteFiles(40);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const auto open_files = std::distance(fs::directory_iterator("/proc/self/fd"), {});
  rlimit few = before;
  few.rlim_cur = static_cast<rlim_t>(open_files) + 20;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  const auto process = Analyze();
  setrlimit(RLIMIT_NOFILE, &before);
  const trace::Tables& tables = process.reader->tables();
  EXPECT_EQ(tables.asked_source, trace::CounterSource::kCounterFile);
  EXPECT_GT(tables.rotated_out.files, 20u);
  EXPECT_LT(tables.rotated_out.files, 40u);
  EXPECT_EQ(process.completeness.completeness.recorded(), static_cast<double>(launches));
  EXPECT_EQ(process.completeness.completeness.state(), report::Completeness::LOWER_BOUND);
  ASSERT_EQ(process.reader->issues().size(), 1u);
  EXPECT_NE(process.reader->issues()[0].detail.find("Too many open files"), std::string::npos)
      << process.reader->issues()[0].detail;
}

// The file ends where a chunk does, so that nothing in it says that more was there.
TEST_F(RotationTest, AFileThatLostItsLastChunksIsFoundOut) {
  uint64_t bytes = 0;
  {
    Server server(folder_, {});
    for (int file = 0; file < 3; ++file) {
      server.Step();
      ASSERT_TRUE(server.Flush());
      ASSERT_TRUE(server.Rotate()) << server.rotation().why();
    }
    server.Step();
    ASSERT_TRUE(server.Flush());
    bytes = server.writer().bytes_written();
    server.Step();
    ASSERT_TRUE(server.Flush());
  }
  const auto has_reason = [&](const char* name) {
    const auto process = Analyze();
    const auto& reasons = process.completeness.completeness.reasons();
    return std::any_of(reasons.begin(), reasons.end(),
                       [&](const report::Reason& reason) { return reason.name() == name; });
  };
  ASSERT_TRUE(fs::remove(trace::SegmentPath(Path("a.hpt"), 1)));
  EXPECT_FALSE(has_reason("missing_chunk"));
  fs::resize_file(Path("a.hpt"), bytes);
  EXPECT_TRUE(has_reason("missing_chunk"));
}

}  // namespace
}  // namespace hotproof::tracer
