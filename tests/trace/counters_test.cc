// The counter file: made, shared, read back, and what happens without it.
#include "trace/counters.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <thread>

#include "tests/trace/trace_files.h"

namespace hotproof::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = ReadIssue::Kind;

class CountersTest : public ::testing::Test {
 protected:
  CounterTable Make(uint32_t pid = SmallTrace::kPid, uint32_t sites = 8, uint32_t graphs = 4) {
    return CounterTable(AT_FDCWD, path_.c_str(), sites, graphs, pid, SmallTrace::kStartTicks);
  }
  ScratchFolder folder_;
  std::string path_ = folder_.File("a.hpc");
};

TEST_F(CountersTest, CountsOfManyThreadsAreReadBack) {
  {
    CounterTable counters = Make();
    ASSERT_TRUE(counters.on_disk());
    EXPECT_EQ(counters.error(), 0);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&counters] {
        for (int i = 0; i < 10'000; ++i) {
          counters.CountSite(7);
          counters.CountSite(8);  // no slot
          counters.CountGraph(3, 5);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(counters.sites()[7], 40'000u);
    counters.SetRecordsWritten(17);
    counters.CountRefused();
    counters.CountRefused();
  }
  auto file = ReadCounters(path_);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->header.pid, SmallTrace::kPid);
  EXPECT_EQ(file->header.process_start_ticks, SmallTrace::kStartTicks);
  EXPECT_EQ(file->header.records_written, 17u);
  EXPECT_EQ(file->header.launches_refused, 2u);
  EXPECT_THAT(file->values.sites, ElementsAre(40'000, 0, 0, 0, 0, 0, 0, 40'000));
  EXPECT_THAT(file->values.graphs, ElementsAre(0, 0, 0, 200'000));
}

// A day's launches at 3 billion a second.
TEST_F(CountersTest, ACountThatNoWordHoldsIsDamage) {
  constexpr uint64_t kMost = UINT64_MAX / kCountUnit;
  {
    CounterTable counters = Make();
    counters.CountSite(7, kMost);
    counters.CountGraph(3, kMost - 1);
    EXPECT_EQ(counters.sites()[7], kMost);
    auto file = ReadCounters(path_);
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ(file->values.sites[7], kMost);
    EXPECT_EQ(file->values.graphs[3], kMost - 1);
    for (const uint64_t more : {uint64_t{1}, uint64_t{1'000'000}, kMost}) {
      counters.CountSite(7, more);
      EXPECT_THAT(ReadCounters(path_).status().message(), HasSubstr("damaged")) << more;
    }
  }
}

TEST_F(CountersTest, TheFileIsPrivateAndWhollyReserved) {
  CounterTable counters = Make(1, 10'000, 1000);
  struct stat status;
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(static_cast<size_t>(status.st_size), kCountersHeaderBytes + 11'000 * 8);
  EXPECT_GE(status.st_blocks * 512, status.st_size);  // not sparse
}

TEST_F(CountersTest, AnExistingFileOrLinkIsLeftAloneAndMemoryCounts) {
  WriteWhole(path_, "precious");
  CounterTable counters = Make();
  EXPECT_FALSE(counters.on_disk());
  EXPECT_EQ(counters.error(), EEXIST);
  counters.CountSite(2);
  EXPECT_EQ(counters.sites()[2], 1u);
  EXPECT_EQ(ReadWhole(path_), "precious");

  const std::string link = folder_.File("link.hpc"), target = folder_.File("target");
  ASSERT_EQ(symlink(target.c_str(), link.c_str()), 0);
  CounterTable linked(AT_FDCWD, link.c_str(), 8, 4, 1, 1);
  EXPECT_FALSE(linked.on_disk());
  EXPECT_NE(access(target.c_str(), F_OK), 0);
}

TEST_F(CountersTest, NoRoomMeansMemoryAndNoFileLeft) {
  // In a process of its own: the limit raises SIGXFSZ, which would end it.
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{16384, 16384};
    setrlimit(RLIMIT_FSIZE, &limit);
    CounterTable counters = Make(1, 100'000, 10);
    counters.CountSite(99'999);
    const bool good = !counters.on_disk() && counters.error() == EFBIG &&
                      counters.sites()[99'999] == 1 && access(path_.c_str(), F_OK) != 0;
    _exit(good ? 0 : 1);
  }
  int status;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

class CounterFileTest : public CountersTest {
 protected:
  void SetUp() override { WriteSmallTrace(folder_.File("a.hpt"), "a.hpc"); }
  std::unique_ptr<TraceReader> Open() {
    auto reader = TraceReader::Open(folder_.File("a.hpt"));
    EXPECT_TRUE(reader.ok()) << reader.status();
    return std::move(*reader);
  }
  void ExpectChunksDecide(const char* reason) {
    auto reader = Open();
    EXPECT_EQ(reader->tables().asked_source, CounterSource::kChunks);
    EXPECT_THAT(reader->tables().asked.graphs, ElementsAre(0, 2));
    ASSERT_EQ(reader->issues().size(), 1u);
    EXPECT_EQ(reader->issues()[0].kind, Kind::kCounterFile);
    EXPECT_THAT(reader->issues()[0].detail, HasSubstr(reason));
  }
};

TEST_F(CounterFileTest, DecidesWhatWasAsked) {
  {
    CounterTable counters = Make();
    counters.CountSite(1, 3);
    counters.CountSite(6, 10);  // of a site that no chunk has
    counters.CountGraph(1, 9);  // more than the chunks know: the tail was lost
    counters.SetRecordsWritten(30);
    counters.CountRefused();
  }
  auto reader = Open();
  const Tables& tables = reader->tables();
  EXPECT_TRUE(reader->issues().empty());
  EXPECT_EQ(tables.asked_source, CounterSource::kCounterFile);
  EXPECT_THAT(tables.asked.sites, ElementsAre(10, 3, 0, 0, 0));
  EXPECT_THAT(tables.asked.graphs, ElementsAre(0, 9));
  EXPECT_EQ(tables.records_written, 30u);
  EXPECT_EQ(tables.launches_refused, 1u);
}

TEST_F(CounterFileTest, Missing) { ExpectChunksDecide("cannot be opened"); }

TEST_F(CounterFileTest, OfAnotherProcess) {
  { CounterTable counters = Make(SmallTrace::kPid + 1); }
  ExpectChunksDecide("another process");
}

TEST_F(CounterFileTest, BehindTheChunks) {
  { CounterTable counters = Make(); }
  ExpectChunksDecide("counts less");
}

TEST_F(CounterFileTest, TornAtEveryPlace) {
  {
    CounterTable counters = Make();
    counters.CountSite(1);
    counters.CountGraph(1, 2);
  }
  const std::string whole = ReadWhole(path_);
  for (size_t size = 0; size < whole.size(); size += size < 64 ? 1 : 13) {
    SCOPED_TRACE(size);
    WriteWhole(path_, whole.substr(0, size));
    ExpectChunksDecide(size < sizeof(CountersHeader) ? "ends within" : "shorter than");
  }
  std::string other = whole;
  other[0] = 'X';
  WriteWhole(path_, other);
  ExpectChunksDecide("not a counter file");
  CountersHeader header;
  for (const uint32_t slots : {0u, 0xFFFFFFFFu}) {
    std::memcpy(&header, whole.data(), sizeof header);
    header.magic[7] = '1';  // of the version whose header has no hash
    header.site_slots = slots;
    other = whole;
    std::memcpy(other.data(), &header, sizeof header);
    WriteWhole(path_, other);
    ExpectChunksDecide("header is not valid");
  }
  WriteWhole(path_, whole);
  EXPECT_EQ(Open()->tables().asked_source, CounterSource::kCounterFile);
}

// Wherever one is flipped, it shows; but not in what nobody reads.
TEST_F(CounterFileTest, AFlippedBitAnywhere) {
  {
    CounterTable counters = Make();
    counters.CountSite(1, 1'000'003);
    counters.CountGraph(1, 2);
    counters.CountRefused();
    counters.SetRecordsWritten(77);
  }
  const std::string whole = ReadWhole(path_);
  for (size_t at = 0; at < whole.size(); ++at) {
    if (at == offsetof(CountersHeader, heartbeat)) at += sizeof(uint64_t);
    // One that is flipped there makes it a copy, which says less.
    if (at == offsetof(CountersHeader, file_device)) at = kCountersHeaderBytes;
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = whole;
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << bit));
      WriteWhole(path_, flipped);
      SCOPED_TRACE(testing::Message() << "bit " << bit << " of byte " << at);
      EXPECT_FALSE(ReadCounters(path_).ok());
      if (bit == static_cast<int>(at % 8)) ExpectChunksDecide("");
    }
  }
  WriteWhole(path_, whole);
  EXPECT_EQ(Open()->tables().asked_source, CounterSource::kCounterFile);
  std::string flipped = whole;
  flipped[kCountersHeaderBytes + 8] ^= 4;
  WriteWhole(path_, flipped);
  ExpectChunksDecide("damaged");
}

// What makes it show: that no four powers of two, added or taken off, are a multiple.
TEST(CountUnit, UpToFourFlippedBitsMakeNoMultiple) {
  static_assert(kCountUnit % 2 == 1 && kCountUnit > 1 << 15);  // nor do neighbouring ones, that are less
  const auto multiple = [](__int128 sum) { return sum % static_cast<__int128>(kCountUnit) == 0; };
  // Up or down by 2^i, or not at all.
  const auto flips = [](int i) { return std::array{__int128{0}, __int128{1} << i, -(__int128{1} << i)}; };
  for (int i = 3; i < 64; ++i) {
    for (int j = 2; j < i; ++j) {
      for (const __int128 b : flips(j)) {
        for (int k = 1; k < j; ++k) {
          for (const __int128 c : flips(k)) {
            for (int l = 0; l < k; ++l) {
              for (const __int128 d : flips(l)) {
                if (multiple((__int128{1} << i) + b + c + d)) {
                  FAIL() << "2^" << i << ", " << j << ", " << k << ", " << l;
                }
              }
            }
          }
        }
      }
    }
  }
}

// As traces before 1.5 have it: what was counted beyond a whole trace could be a flipped bit.
TEST_F(CounterFileTest, WithoutACheck) {
  for (const uint64_t more : {0, 2}) {
    const auto chunks = Open();  // without a counter file
    const CounterValues& asked = chunks->tables().asked;
    {
      CounterTable counters = Make();
      for (size_t id = 1; id < asked.sites.size(); ++id) {
        const uint64_t count = asked.sites[id] + (id == 1 ? more : 0);
        if (count > 0) counters.CountSite(id, count);
      }
      for (size_t id = 1; id < asked.graphs.size(); ++id)
        if (asked.graphs[id] > 0) counters.CountGraph(id, asked.graphs[id]);
      counters.CountRefused();
      counters.SetRecordsWritten(30);
    }
    std::string file = ReadWhole(path_);
    file[7] = '1';
    for (size_t at = offsetof(CountersHeader, records_written); at < file.size(); at += sizeof(uint64_t)) {
      uint64_t word;
      std::memcpy(&word, &file[at], sizeof word);
      word = at < kCountersHeaderBytes && at >= offsetof(CountersHeader, heartbeat) ? 0 : word / kCountUnit;
      std::memcpy(&file[at], &word, sizeof word);
    }
    WriteWhole(path_, file);
    const auto reader = Open();
    EXPECT_EQ(reader->tables().asked.sites, asked.sites);
    EXPECT_EQ(reader->tables().asked.graphs, asked.graphs);
    if (more == 0) {
      EXPECT_TRUE(reader->issues().empty());
      EXPECT_EQ(reader->tables().asked_source, CounterSource::kCounterFile);
      EXPECT_EQ(reader->tables().records_written, 30u);
      EXPECT_EQ(reader->tables().launches_refused, 1u);
    } else {
      ASSERT_EQ(reader->issues().size(), 1u);
      EXPECT_EQ(reader->issues()[0].kind, ReadIssue::Kind::kCounterFile);
      EXPECT_EQ(reader->tables().asked_source, CounterSource::kChunks);
    }
    std::filesystem::remove(path_);
  }
}

TEST_F(CountersTest, KnowsWhetherItsFileStands) {
  namespace fs = std::filesystem;
  CounterTable counters = Make();
  const auto stands = [&] { return counters.Stands(AT_FDCWD, path_.c_str()); };
  EXPECT_TRUE(stands());
  const std::string copy = folder_.File("copy");
  const auto replaced_by = [&](const std::string& bytes) {
    WriteWhole(copy, bytes);
    fs::rename(copy, path_);
    return !stands();
  };
  const std::string original = folder_.File("original");
  fs::create_hard_link(path_, original);
  EXPECT_TRUE(replaced_by(ReadWhole(path_)));
  EXPECT_TRUE(replaced_by(""));
  fs::remove(path_);
  EXPECT_FALSE(stands());
  fs::create_symlink(original, path_);
  EXPECT_FALSE(stands());
  fs::rename(original, path_);
  EXPECT_TRUE(stands());

  counters.CountSite(3, 5);
  EXPECT_TRUE(replaced_by("another's"));
  EXPECT_EQ(counters.Renew(AT_FDCWD, path_.c_str()), 0);
  EXPECT_TRUE(stands());
  const auto file = ReadCounters(path_);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->values.sites[3], 5u);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()), 1);
}

TEST_F(CounterFileTest, ANameThatLeadsElsewhereIsNotFollowed) {
  WriteSmallTrace(folder_.File("a.hpt"), "../a.hpc");
  ExpectChunksDecide("is a path");
}

// Killed at any moment: every launch that was counted is there, with its site.
TEST_F(CountersTest, SurvivesSigkill) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    CounterTable counters(AT_FDCWD, path_.c_str(), 8, 4, 1, 1);
    Writer writer(open(folder_.File("a.hpt").c_str(), O_RDWR | O_CREAT, 0600));
    writer.AddHeader({.pid = 1, .process_start_ticks = 1, .counters_file = "a.hpc"});
    const CounterView view{counters.sites(), counters.graphs()};
    writer.AddKernel({.id = 1, .name = "k"});
    writer.AddSite({.id = 1, .kernel_id = 1});
    writer.FlushTables(view);
    counters.CountSite(1, 1000);
    for (int i = 0; i < 1000; ++i) {
      writer.AddRecord({.correlation_id = 5,
                        .start_ns = 1,
                        .end_ns = 2,
                        .target = Target::Site(1),
                        .default_site = 1});
    }
    [[maybe_unused]] const auto told = write(ready[1], "x", 1);
    for (;;) pause();
  }
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  kill(child, SIGKILL);
  int status;
  waitpid(child, &status, 0);
  auto reader = TraceReader::Open(folder_.File("a.hpt"));
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_TRUE((*reader)->issues().empty());
  EXPECT_FALSE((*reader)->tables().has_footer);
  EXPECT_EQ((*reader)->tables().asked_source, CounterSource::kCounterFile);
  EXPECT_EQ((*reader)->tables().LaunchesOfSite(1, (*reader)->tables().asked), 1000u);
  EXPECT_EQ((*reader)->tables().kernels[(*reader)->tables().sites[1].kernel_id()].name(), "k");
}

}  // namespace
}  // namespace hotproof::trace
