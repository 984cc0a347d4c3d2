// Files that are removed, cut off or moved under a running process, and a disk that is full for a while: it
// goes on, says so, and no count is lost.
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "analyzers/process_analysis.h"
#include "cupti_tracer/core/trace_file.h"
#include "tests/tools/synthetic_workload.h"
#include "trace/frame_output.h"
#include "trace/own_descriptor.h"

namespace hotproof::tracer {
namespace {

namespace fs = std::filesystem;

std::atomic<bool> disk_is_full = false;
ssize_t WriteIfThereIsRoom(int fd, const iovec* parts, int count, off_t at) {
  if (disk_is_full) return errno = ENOSPC, -1;
  return pwritev(fd, parts, count, at);
}

class TakenAwayTest : public testing::Test {
 protected:
  void ExpectClosedDescriptorsAreOpenedAgain();
  explicit TakenAwayTest(uint64_t file_bytes = 1 << 30) {
    char name[] = "/tmp/hotproof-taken-XXXXXX";
    root_ = mkdtemp(name);
    folder_ = root_ + "/run";
    trace::FrameOutput::default_write_at = &WriteIfThereIsRoom;
    file_ = std::make_unique<TraceFile>(folder_, "a");
    trace::FrameOutput::default_write_at = &pwritev;
    file_->SetRotation({.file_bytes = file_bytes});
    file_->OpenCounters(tools::SyntheticWorkload::kPid, tools::SyntheticWorkload::kStartTicks);
    std::lock_guard lock(file_->mutex());
    workload_.WriteTables(*file_->writer_locked(), "a.hpc");
    file_->FlushTablesLocked();
  }
  ~TakenAwayTest() override { fs::remove_all(root_); }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  // Launches and their records.
  void Step() {
    std::lock_guard lock(file_->mutex());
    launches_ += workload_.Step(~uint64_t{0});
    for (const trace::LaunchEntry& launch : workload_.launches()) {
      file_->writer_locked()->AddLaunch(launch);
      launch.target.is_graph() ? file_->counters().CountGraph(launch.target.id())
                               : file_->counters().CountSite(launch.target.id());
    }
    for (const trace::RecordEntry& record : workload_.records()) file_->writer_locked()->AddRecord(record);
  }
  bool StepAndFlush() {
    Step();
    return file_->Flush();
  }
  void End() {
    {
      std::lock_guard lock(file_->mutex());
      file_->writer_locked()->AddFooter({.reason = "exit", .flushed = true});
    }
    EXPECT_TRUE(file_->Flush());
  }
  analyzers::ProcessAnalysis Analyze() {
    const auto classifier = catalog::Classifier::Create();
    auto reader = trace::TraceReader::Open(Path("a.hpt"));
    EXPECT_TRUE(reader.ok()) << reader.status();
    return analyzers::AnalyzeTrace(*std::move(reader), *classifier, {});
  }
  // Everything is counted, and what is gone is told apart from what is there.
  void ExpectCountsExact(uint32_t files_gone) {
    const auto process = Analyze();
    const trace::Tables& tables = process.reader->tables();
    EXPECT_TRUE(process.reader->issues().empty()) << process.reader->issues()[0].detail;
    EXPECT_EQ(tables.asked_source, trace::CounterSource::kCounterFile);
    EXPECT_EQ(tables.rotated_out.files, files_gone);
    const report::Completeness& completeness = process.completeness.completeness;
    EXPECT_EQ(completeness.expected(), static_cast<double>(launches_));
    EXPECT_EQ(completeness.recorded(), static_cast<double>(launches_));
    EXPECT_TRUE(completeness.counts_exact());
    EXPECT_EQ(completeness.state(),
              files_gone == 0 ? report::Completeness::COMPLETE : report::Completeness::LOWER_BOUND);
  }

  std::string root_, folder_;
  std::unique_ptr<TraceFile> file_;
  tools::SyntheticWorkload workload_{1, 30};
  uint64_t launches_ = 0;
};

TEST_F(TakenAwayTest, TheWholeFolder) {
  ASSERT_TRUE(StepAndFlush());
  EXPECT_EQ(file_->TakeNotice(), "");
  fs::remove_all(folder_);
  ASSERT_TRUE(StepAndFlush());
  EXPECT_NE(file_->TakeNotice().find("was removed; the trace goes on"), std::string::npos);
  EXPECT_TRUE(fs::exists(Path("a.hpt")) && fs::exists(Path("a.hpc")));
  ASSERT_TRUE(StepAndFlush());
  fs::remove_all(folder_);
  ASSERT_TRUE(StepAndFlush());
  EXPECT_EQ(file_->TakeNotice(), "");  // once
  ASSERT_TRUE(StepAndFlush());
  End();
  ExpectCountsExact(2);
}

TEST_F(TakenAwayTest, TheTraceAlone) {
  ASSERT_TRUE(StepAndFlush());
  fs::remove(Path("a.hpt"));
  ASSERT_TRUE(StepAndFlush());
  EXPECT_NE(file_->TakeNotice(), "");
  ASSERT_TRUE(StepAndFlush());
  End();
  ExpectCountsExact(1);
}

// As logrotate does with and without copytruncate.
TEST_F(TakenAwayTest, ByLogrotate) {
  ASSERT_TRUE(StepAndFlush());
  fs::rename(Path("a.hpt"), Path("a.hpt.1"));
  ASSERT_TRUE(StepAndFlush());
  EXPECT_NE(file_->TakeNotice(), "");
  fs::copy(Path("a.hpt"), Path("a.hpt.2"));
  fs::resize_file(Path("a.hpt"), 0);
  ASSERT_TRUE(StepAndFlush());
  ASSERT_TRUE(StepAndFlush());
  End();
  ExpectCountsExact(2);
}

TEST_F(TakenAwayTest, AFolderThatIsMovedIsFollowed) {
  ASSERT_TRUE(StepAndFlush());
  const std::string elsewhere = root_ + "/moved";
  fs::rename(folder_, elsewhere);
  ASSERT_TRUE(StepAndFlush());
  EXPECT_EQ(file_->TakeNotice(), "");
  End();
  EXPECT_FALSE(fs::exists(folder_));
  folder_ = elsewhere;
  ExpectCountsExact(0);
}

// By a backup that is restored: what is counted next is not in the copy.
TEST_F(TakenAwayTest, TheCountersReplacedByACopy) {
  ASSERT_TRUE(StepAndFlush());
  for (int round = 0; round < 3; ++round) {
    fs::copy(Path("a.hpc"), Path("copy"));
    fs::rename(Path("copy"), Path("a.hpc"));
    ASSERT_TRUE(StepAndFlush());
    const std::string notice = file_->TakeNotice();
    EXPECT_EQ(notice.find("counters were removed or replaced; all are") != std::string::npos, round == 0)
        << notice;
  }
  End();
  ExpectCountsExact(0);
  EXPECT_FALSE(fs::exists(Path("a.hpc.new")));
}

// Others count all the while, without a lock.
TEST_F(TakenAwayTest, TheCountersWhileOthersCount) {
  constexpr int kThreads = 3;
  std::atomic<bool> stop = false;
  std::atomic<uint64_t> counted = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      uint64_t mine = 0;
      for (; !stop.load(std::memory_order_relaxed); ++mine) {
        file_->counters().CountSite(1 + mine % 100);
        if (mine % 64 == 0) file_->counters().CountRefused();
      }
      counted += mine;
    });
  }
  for (int round = 0; round < 50; ++round) {
    ASSERT_TRUE(fs::remove(Path("a.hpc")));
    ASSERT_TRUE(file_->Flush());
    ASSERT_TRUE(fs::exists(Path("a.hpc"))) << round;
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  const auto file = trace::ReadCounters(Path("a.hpc"));
  ASSERT_TRUE(file.ok()) << file.status();
  uint64_t in_file = 0;
  for (const uint64_t count : file->values.sites) in_file += count;
  EXPECT_EQ(in_file, counted.load());
  EXPECT_GE(file->header.launches_refused, counted.load() / 64);
  End();
  const auto reader = trace::TraceReader::Open(Path("a.hpt"));
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ((*reader)->tables().asked_source, trace::CounterSource::kCounterFile);
}

TEST_F(TakenAwayTest, ADiskThatIsFullForAWhile) {
  ASSERT_TRUE(StepAndFlush());
  const uint64_t before = launches_;
  disk_is_full = true;
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(StepAndFlush());
    EXPECT_TRUE(file_->disk_failed());
  }
  const uint64_t lost = launches_ - before;
  disk_is_full = false;
  EXPECT_TRUE(file_->Flush());
  EXPECT_FALSE(file_->disk_failed());
  ASSERT_TRUE(StepAndFlush());
  End();
  const auto process = Analyze();
  EXPECT_TRUE(process.reader->issues().empty());
  const report::Completeness& completeness = process.completeness.completeness;
  EXPECT_EQ(completeness.state(), report::Completeness::LOWER_BOUND);
  EXPECT_TRUE(completeness.counts_exact());
  EXPECT_EQ(completeness.expected(), static_cast<double>(launches_));
  EXPECT_EQ(completeness.recorded(), static_cast<double>(launches_ - lost));
  EXPECT_EQ(completeness.lost(), static_cast<double>(lost));
  bool unlisted = false, full = false;
  for (const trace::Problem& problem : process.reader->tables().problems) {
    unlisted |= problem.kind() == trace::PROBLEM_LAUNCH_ENTRIES_DROPPED && problem.detail() == "not written";
    full |= problem.kind() == trace::PROBLEM_DISK_FULL && problem.detail() == "no space";
  }
  EXPECT_TRUE(unlisted && full);
}

// What the program has under our numbers after it closed all descriptors, as one does that becomes a daemon.
class ForeignFiles {
 public:
  explicit ForeignFiles(const std::string& path) : path_(path) {
    for (int fd = kFirst; fd < kEnd; ++fd) close(fd);
    std::ofstream(path_) << std::string(kBytes, 'x');
    const int file = open(path_.c_str(), O_RDWR);
    for (int fd = kFirst; fd < kEnd; ++fd) {
      if (fd == file || dup2(file, fd) >= 0) held_.push_back(fd);  // to the limit
    }
  }
  ~ForeignFiles() {
    for (const int fd : held_) close(fd);
  }
  void ExpectUntouched() const {
    std::ifstream file(path_);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), std::string(kBytes, 'x'));
    for (const int fd : held_) EXPECT_GE(fcntl(fd, F_GETFD), 0) << fd;
  }

 private:
  static constexpr int kFirst = 3, kEnd = 900;
  static constexpr size_t kBytes = 1 << 16;
  std::string path_;
  std::vector<int> held_;
};

void TakenAwayTest::ExpectClosedDescriptorsAreOpenedAgain() {
  ASSERT_TRUE(StepAndFlush());
  const ForeignFiles foreign(root_ + "/foreign");
  ASSERT_TRUE(StepAndFlush());
  EXPECT_EQ(file_->TakeNotice(), "");
  End();
  foreign.ExpectUntouched();
  ExpectCountsExact(0);
}

TEST_F(TakenAwayTest, DescriptorsThatTheProgramClosedAreOpenedAgain) {
  ExpectClosedDescriptorsAreOpenedAgain();
}

TEST_F(TakenAwayTest, DescriptorsThatTheProgramClosedAsTheFolderWent) {
  ASSERT_TRUE(StepAndFlush());
  const ForeignFiles foreign(root_ + "/foreign");
  fs::remove_all(folder_);
  EXPECT_FALSE(StepAndFlush());
  EXPECT_TRUE(file_->descriptor_lost());
  EXPECT_FALSE(StepAndFlush());
  foreign.ExpectUntouched();
}

class TakenAwayWithoutRotationTest : public TakenAwayTest {
 protected:
  TakenAwayWithoutRotationTest() : TakenAwayTest(0) {}
};

TEST_F(TakenAwayWithoutRotationTest, ReplacedCountersAreSaid) {
  ASSERT_TRUE(StepAndFlush());
  EXPECT_EQ(file_->TakeNotice(), "");
  fs::copy(Path("a.hpc"), Path("copy"));
  fs::rename(Path("copy"), Path("a.hpc"));
  ASSERT_TRUE(StepAndFlush());
  EXPECT_NE(file_->TakeNotice().find("removed or replaced"), std::string::npos);
}

TEST_F(TakenAwayWithoutRotationTest, DescriptorsThatTheProgramClosedAreOpenedAgain) {
  ExpectClosedDescriptorsAreOpenedAgain();
}

// Another file of its name is not ours.
TEST_F(TakenAwayWithoutRotationTest, ADescriptorThatTheProgramClosedIsNoOtherFile) {
  ASSERT_TRUE(StepAndFlush());
  fs::copy(Path("a.hpt"), Path("copy"));
  fs::rename(Path("copy"), Path("a.hpt"));
  const auto bytes = fs::file_size(Path("a.hpt"));
  const ForeignFiles foreign(root_ + "/foreign");
  EXPECT_FALSE(StepAndFlush());
  EXPECT_TRUE(file_->descriptor_lost());
  foreign.ExpectUntouched();
  EXPECT_EQ(fs::file_size(Path("a.hpt")), bytes);
}

TEST(OwnDescriptorTest, IsOutOfTheWay) {
  const trace::OwnDescriptor own(open("/dev/null", O_WRONLY));
  EXPECT_GE(own.Ours(), 64);
  EXPECT_EQ(fcntl(own.Ours(), F_GETFD), FD_CLOEXEC);
}

TEST_F(TakenAwayWithoutRotationTest, IsSaidOnce) {
  ASSERT_TRUE(StepAndFlush());
  fs::remove_all(folder_);
  ASSERT_TRUE(StepAndFlush());
  EXPECT_NE(file_->TakeNotice().find("were removed"), std::string::npos);
  ASSERT_TRUE(StepAndFlush());
  EXPECT_EQ(file_->TakeNotice(), "");
  EXPECT_FALSE(fs::exists(folder_));
}

}  // namespace
}  // namespace hotproof::tracer
