// Rotation: files come and go, and what readers say stays true. The records of a launch may lie on both
// sides of a border.
#include "cupti_tracer/core/rotation.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>
#include <string_view>

#include "analyzers/process_analysis.h"
#include "analyzers/report.h"
#include "tests/tools/synthetic_workload.h"
#include "trace/counters.h"
#include "trace/reader.h"
#include "trace/segments.h"

namespace {
bool links_supported = true, another_trims = false;
}  // namespace

// In place of libc's: a file system without hard links, and a second process that trims the folder.
extern "C" int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) noexcept {
  if (!links_supported) return errno = EPERM, -1;
  return static_cast<int>(syscall(SYS_linkat, from_folder, from, to_folder, to, flags));
}
extern "C" int unlinkat(int folder, const char* name, int flags) noexcept {
  const auto result = static_cast<int>(syscall(SYS_unlinkat, folder, name, flags));
  if (result == 0 && another_trims && std::string_view(name).ends_with(".hps")) return errno = ENOENT, -1;
  return result;
}

namespace hotproof::tracer {
namespace {

namespace fs = std::filesystem;
using tools::SyntheticWorkload;

// A server in small: steps, with half of each step's records arriving after the next flush.
class Server {
 public:
  Server(const std::string& folder, const RotationLimits& limits)
      : folder_fd_(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)),
        writer_(openat(folder_fd_, "a.hpt", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)),
        counters_(folder_fd_, "a.hpc", 1 + SyntheticWorkload::kSiteCount,
                  1 + SyntheticWorkload::kGraphs, SyntheticWorkload::kPid,
                  SyntheticWorkload::kStartTicks),
        rotation_(limits, folder_fd_, "a", 0) {
    writer_.KeepForNextFile();
    workload_.WriteTables(writer_, "a.hpc");
  }
  ~Server() { close(folder_fd_); }

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
    counters_.header()->records_written = writer_.records_written();
    for (const trace::RecordEntry& record : late_) writer_.AddRecord(record);
    late_.clear();
    return ok;
  }
  bool Rotate() { return rotation_.Rotate(writer_, ++now_ns_); }
  void End() {
    writer_.AddFooter({.reason = "exit", .launches = launches_, .records = launches_, .flushed = true});
    ASSERT_TRUE(Flush());
  }

  Rotation& rotation() { return rotation_; }
  trace::Writer& writer() { return writer_; }
  uint64_t launches() const { return launches_; }

 private:
  void Count(const trace::LaunchEntry& launch) {
    launch.target.is_graph() ? counters_.CountGraph(launch.target.id())
                             : counters_.CountSite(launch.target.id());
  }

  const int folder_fd_;
  trace::Writer writer_;
  trace::CounterTable counters_;
  Rotation rotation_;
  SyntheticWorkload workload_{1, 30};
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

uint64_t Sum(const std::vector<uint64_t>& values) {
  return std::accumulate(values.begin(), values.end(), uint64_t{0});
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

// Overwrites the first bytes of a file.
void Damage(const std::string& path) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.write("damaged", 7);
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

// Tables only grow: it would fail for ever, so that it is not tried again.
TEST_F(RotationTest, TablesTooLargeForAHeadAreSaid) {
  Server server(folder_, {.file_bytes = 1});
  const std::string name(40 << 20, 'k');
  for (uint32_t id = 1000; id < 1002; ++id) {
    server.writer().AddKernel({.id = id, .name = name});
    ASSERT_TRUE(server.Flush());
  }
  EXPECT_TRUE(server.rotation().Due(server.writer(), 1));
  EXPECT_FALSE(server.Rotate());
  EXPECT_NE(server.rotation().why().find("too large"), std::string::npos) << server.rotation().why();
  EXPECT_FALSE(server.rotation().Due(server.writer(), UINT64_MAX - 1));
  server.Step();
  EXPECT_TRUE(server.Flush());
}

TEST_F(RotationTest, TheOldestGoWhereTheFolderIsBounded) {
  std::ofstream(Path("other.000001.hps")) << std::string(100'000, 'x');
  Server server(folder_, {.file_bytes = 1, .folder_bytes = 400'000});
  uint64_t now_ns = 0;
  EXPECT_FALSE(server.rotation().Due(server.writer(), ++now_ns));  // nothing ran
  for (int i = 0; i < 60; ++i) {
    do {
      for (int step = 0; step < 10; ++step) server.Step();
      ASSERT_TRUE(server.Flush());
      ASSERT_LT(server.writer().bytes_written(), 200'000u);
    } while (!server.rotation().Due(server.writer(), ++now_ns));
    ASSERT_TRUE(server.Rotate()) << server.rotation().why();
    server.rotation().TrimFolder();
    uint64_t bytes = 0;
    for (const auto& entry : fs::directory_iterator(folder_)) bytes += entry.file_size();
    EXPECT_LE(bytes, 400'000u);
  }
  server.Step();
  ASSERT_TRUE(server.Flush());
  server.End();
  EXPECT_FALSE(fs::exists(Path("other.000001.hps")));
  const auto process = Analyze();
  EXPECT_GT(process.reader->tables().rotated_out.files, 0u);
  EXPECT_LT(process.reader->tables().rotated_out.files, 60u);
}

TEST_F(RotationTest, AFileOfCountsAloneIsDue) {
  Server server(folder_, {.file_bytes = 1});
  EXPECT_FALSE(server.rotation().Due(server.writer(), 1));  // nothing is written
  server.StepCountedOnly();
  ASSERT_TRUE(server.Flush());
  EXPECT_EQ(server.writer().records_written(), 0u);
  EXPECT_TRUE(server.rotation().Due(server.writer(), 1));
  ASSERT_TRUE(server.Rotate()) << server.rotation().why();
  EXPECT_FALSE(server.rotation().Due(server.writer(), 2));  // nothing ran
}

// Every file repeats the tables: files below their size would be nothing else.
TEST_F(RotationTest, AFileHoldsAsMuchOfItsOwnAsItRepeats) {
  Server server(folder_, {.file_bytes = 1});
  server.Step();
  ASSERT_TRUE(server.Flush());
  ASSERT_TRUE(server.Rotate()) << server.rotation().why();
  const uint64_t head_bytes = server.writer().bytes_written();
  uint64_t now_ns = 1;
  bool waited = false;
  for (;;) {
    server.StepCountedOnly();
    ASSERT_TRUE(server.Flush());
    if (server.rotation().Due(server.writer(), ++now_ns)) break;
    ASSERT_LT(server.writer().bytes_written(), 2 * head_bytes);
    waited = true;
  }
  EXPECT_TRUE(waited);
  EXPECT_GE(server.writer().bytes_written(), 2 * head_bytes);
}

TEST_F(RotationTest, WhatAnotherProcessTrimsIsNotTrimmedAgain) {
  for (int i = 1; i <= 4; ++i) {
    std::ofstream(trace::SegmentPath(Path("other.hpt"), i)) << std::string(102'400, 'x');
  }
  Server server(folder_, {.folder_bytes = 350'000});
  another_trims = true;
  server.rotation().TrimFolder();
  another_trims = false;
  EXPECT_FALSE(fs::exists(trace::SegmentPath(Path("other.hpt"), 1)));
  EXPECT_TRUE(fs::exists(trace::SegmentPath(Path("other.hpt"), 3)));
  EXPECT_TRUE(fs::exists(trace::SegmentPath(Path("other.hpt"), 4)));
}

// The newest file has its name at every moment, so where files have one name alone there is no rotation.
TEST_F(RotationTest, WithoutHardLinksTheOldFileGoesOn) {
  Server server(folder_, {});
  server.Step();
  ASSERT_TRUE(server.Flush());
  const auto inode = [&] {
    struct stat status;
    return stat(Path("a.hpt").c_str(), &status) == 0 ? status.st_ino : 0;
  };
  const ino_t before = inode();
  links_supported = false;
  EXPECT_FALSE(server.Rotate());
  links_supported = true;
  EXPECT_NE(server.rotation().why().find("second name"), std::string::npos) << server.rotation().why();
  EXPECT_EQ(inode(), before);
  EXPECT_FALSE(fs::exists(trace::SegmentPath(Path("a.hpt"), 1)));
  EXPECT_FALSE(fs::exists(Path("a.hpt.new")));
  server.Step();
  ASSERT_TRUE(server.Flush() && server.Rotate());
  server.Step();
  ASSERT_TRUE(server.Flush());
  server.End();
  EXPECT_EQ(Analyze().completeness.completeness.state(), report::Completeness::COMPLETE);
}

// A rotation that fails leaves the trace as it was, and nothing behind.
TEST_F(RotationTest, GoesOnInTheOldFileWhereNoneCanBeBegun) {
  const pid_t child = fork();
  if (child == 0) {
    Server server(folder_, {});
    for (int i = 0; i < 4; ++i) server.Step();
    bool ok = server.Flush();
    signal(SIGXFSZ, SIG_IGN);
    const rlimit before = [] { rlimit limit; getrlimit(RLIMIT_FSIZE, &limit); return limit; }();
    const rlimit none{100, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &none);
    ok &= !server.Rotate() && server.rotation().why().find("No space") != std::string::npos;
    setrlimit(RLIMIT_FSIZE, &before);
    ok &= !fs::exists(Path("a.hpt.new"));
    server.Step();
    ok &= server.Flush() && server.Rotate();
    server.Step();
    ok &= server.Flush();
    server.End();
    _exit(ok ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  const auto process = Analyze();
  EXPECT_TRUE(process.reader->issues().empty());
  EXPECT_TRUE(fs::exists(trace::SegmentPath(Path("a.hpt"), 1)));
  EXPECT_EQ(process.completeness.completeness.state(), report::Completeness::COMPLETE);
}

// Killed between the two names: the newest file has both.
TEST_F(RotationTest, AFileWithBothNamesIsReadOnce) {
  const uint64_t launches = WriteFiles(3);
  fs::create_hard_link(Path("a.hpt"), trace::SegmentPath(Path("a.hpt"), 3));
  std::ofstream(Path("a.hpt.new")) << "half a frame";
  const auto process = Analyze();
  EXPECT_TRUE(process.reader->issues().empty());
  EXPECT_EQ(process.times.records, launches);
}

TEST_F(RotationTest, SurvivesSigkillAtAnyMoment) {
  for (int round = 0; round < 12; ++round) {
    for (const auto& entry : fs::directory_iterator(folder_)) fs::remove(entry.path());
    const pid_t child = fork();
    if (child == 0) {
      Server server(folder_, {.folder_bytes = 600'000});
      for (;;) {
        server.Step();
        server.Flush();
        server.Rotate();
        server.rotation().TrimFolder();
      }
    }
    // After some rotations, at a moment that differs from round to round.
    const std::string closed = trace::SegmentPath(Path("a.hpt"), 5 + 7 * round);
    int status = 0;
    while (!fs::exists(closed)) {
      ASSERT_EQ(waitpid(child, &status, WNOHANG), 0) << "it ended by itself: " << status;
      usleep(200);
    }
    usleep(std::random_device()() % 3000);
    kill(child, SIGKILL);
    ASSERT_EQ(waitpid(child, &status, 0), child);
    const auto process = Analyze();
    for (const trace::ReadIssue& issue : process.reader->issues()) {
      EXPECT_EQ(issue.kind, trace::ReadIssue::Kind::kTornTail) << issue.detail;
    }
    const trace::RotatedOut& gone = process.reader->tables().rotated_out;
    const report::Completeness& completeness = process.completeness.completeness;
    EXPECT_EQ(completeness.lost() + completeness.surplus(), 0) << round;
    EXPECT_TRUE(completeness.counts_exact());
    EXPECT_EQ(completeness.recorded(), static_cast<double>(process.times.records + gone.records));
    // Two steps at most were on their way.
    EXPECT_LE(completeness.expected() - completeness.recorded(), 2.0 * SyntheticWorkload::kNodes);
  }
}

}  // namespace
}  // namespace hotproof::tracer
