// A new file cannot be begun, the present one is taken away, the process is killed: nothing is lost unsaid.
#include "tests/tracer/rotation_server.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <fstream>
#include <random>
#include <string_view>

namespace {
bool links_supported = true, new_name_refused = false;
}  // namespace

// In place of libc's: a file system without hard links, and one that fails half way.
extern "C" int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) noexcept {
  if (!links_supported) return errno = EPERM, -1;
  return static_cast<int>(syscall(SYS_linkat, from_folder, from, to_folder, to, flags));
}
extern "C" int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  if (new_name_refused && std::string_view(from).ends_with(".new")) return errno = EIO, -1;
  return static_cast<int>(syscall(SYS_renameat2, from_folder, from, to_folder, to, 0));
}

namespace hotproof::tracer {
namespace {

TEST_F(RotationTest, TablesTooLargeForAHeadGoIntoSeveral) {
  const std::string name(9 << 20, 'k');
  uint64_t launches = 0;
  {
    Server server(folder_, {.file_bytes = 1});
    for (uint32_t id = 1000; id < 1003; ++id) {
      server.writer().AddKernel({.id = id, .name = name});
      ASSERT_TRUE(server.Flush());
    }
    for (int file = 0; file < 3; ++file) {
      server.Step();
      ASSERT_TRUE(server.Flush());
      ASSERT_TRUE(server.Rotate()) << server.rotation().why();
      EXPECT_FALSE(server.rotation().Due(server.writer(), 1));  // nothing of its own yet
    }
    server.Step();
    ASSERT_TRUE(server.Flush());
    server.End();
    launches = server.launches();
  }
  EXPECT_EQ(Analyze().completeness.completeness.state(), report::Completeness::COMPLETE);
  for (int file = 1; file <= 3; ++file) ASSERT_TRUE(fs::remove(trace::SegmentPath(Path("a.hpt"), file)));
  const auto process = Analyze();
  EXPECT_TRUE(process.reader->issues().empty());
  ASSERT_EQ(process.reader->tables().kernels.size(), 1003u);
  for (uint32_t id = 1000; id < 1003; ++id) {
    EXPECT_EQ(process.reader->tables().kernels[id].name().size(), name.size());
  }
  EXPECT_EQ(process.completeness.completeness.recorded(), static_cast<double>(launches));
}

// Between its two names a file without links has one: the highest closed one speaks for the trace.
TEST_F(RotationTest, WithoutHardLinksTheFileIsRenamed) {
  {
    Server server(folder_, {});
    server.Step();
    ASSERT_TRUE(server.Flush());
    links_supported = false;
    EXPECT_TRUE(server.Rotate()) << server.rotation().why();
    links_supported = true;
    server.Step();
    ASSERT_TRUE(server.Flush());
    server.End();
  }
  EXPECT_TRUE(fs::exists(trace::SegmentPath(Path("a.hpt"), 1)));
  EXPECT_EQ(Analyze().completeness.completeness.state(), report::Completeness::COMPLETE);
}

TEST_F(RotationTest, AFileThatCannotBeNamedLeavesTheOldOne) {
  for (const bool links : {true, false}) {
    for (const auto& entry : fs::directory_iterator(folder_)) fs::remove(entry.path());
    {
      Server server(folder_, {});
      server.Step();
      ASSERT_TRUE(server.Flush());
      links_supported = links;
      new_name_refused = true;
      EXPECT_FALSE(server.Rotate());
      links_supported = true;
      new_name_refused = false;
      EXPECT_NE(server.rotation().why().find("cannot name"), std::string::npos) << server.rotation().why();
      EXPECT_TRUE(fs::exists(Path("a.hpt")));
      EXPECT_FALSE(fs::exists(Path("a.hpt.new")));
      EXPECT_FALSE(fs::exists(trace::SegmentPath(Path("a.hpt"), 1)));
      EXPECT_TRUE(server.rotation().FileStands(server.writer()));
      server.Step();
      ASSERT_TRUE(server.Flush() && server.Rotate());
      server.Step();
      ASSERT_TRUE(server.Flush());
      server.End();
    }
    EXPECT_EQ(Analyze().completeness.completeness.state(), report::Completeness::COMPLETE);
  }
}

// A second name that could not be taken away again is no reason to stop rotating; another file is.
TEST_F(RotationTest, ASecondNameThatIsThereAlready) {
  Server server(folder_, {});
  server.Step();
  ASSERT_TRUE(server.Flush());
  const std::string closed = trace::SegmentPath(Path("a.hpt"), 1);
  std::ofstream(closed) << "somebody's";
  EXPECT_FALSE(server.Rotate());
  EXPECT_EQ(fs::file_size(closed), 10u);
  fs::remove(closed);
  fs::create_hard_link(Path("a.hpt"), closed);
  EXPECT_TRUE(server.Rotate()) << server.rotation().why();
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
    EXPECT_LE(completeness.expected() - completeness.recorded(), 2.0 * tools::SyntheticWorkload::kNodes);
  }
}

}  // namespace
}  // namespace hotproof::tracer
