// A disk that fills up: the torn frame is cut, the result says why, tables are not forgotten.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tools/synthetic_workload.h"
#include "tests/trace/trace_files.h"

namespace hotproof::trace {
namespace {

std::string Incompressible(tools::Random& random, size_t bytes) {
  std::string text;
  while (text.size() < bytes) text.push_back(static_cast<char>(' ' + random.Below(95)));
  return text;
}

void AddNoise(Writer& writer, tools::Random& random, int records) {
  for (int i = 0; i < records; ++i) {
    const uint64_t start_ns = 1 + (random.Next() >> 2);
    writer.AddRecord({.correlation_id = random.Next(),
                      .start_ns = start_ns,
                      .end_ns = start_ns + (random.Next() >> 2),
                      .target = Target::Site(1),
                      .default_site = 1});
  }
}

// Fills the file until it is refused, then makes room. Returns a reason to fail, empty: none.
template <typename MakeRoom>
std::string FillAndGoOn(const std::string& path, MakeRoom make_room) {
  tools::Random random(1);
  const std::vector<uint64_t> none = {0, 0};
  Writer writer(open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600));
  writer.AddHeader({});
  writer.AddSite({.id = 1});
  if (writer.FlushTables({none, none}) != WriteResult::kOk) return "the tables";
  WriteResult result = WriteResult::kOk;
  uint64_t written = 0;
  for (int i = 0; i < 1000 && result == WriteResult::kOk; ++i) {
    written = writer.records_written();
    AddNoise(writer, random, 100);
    result = writer.Flush({none, none});
  }
  if (result != WriteResult::kNoSpace) return "kNoSpace expected";
  if (writer.pending_records() != 0) return "records must be dropped";
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return "stat";
  if (static_cast<uint64_t>(status.st_size) != writer.bytes_written()) return "not cut back";

  writer.AddKernel({.id = 1, .name = Incompressible(random, 30'000)});
  if (writer.FlushTables({none, none}) != WriteResult::kNoSpace) return "kNoSpace expected again";
  if (!writer.has_pending_tables()) return "tables must stay pending";
  {
    auto reader = TraceReader::Open(path);
    if (!reader.ok() || !(*reader)->issues().empty()) return "the cut file must be whole";
  }
  make_room();
  AddNoise(writer, random, 10);
  if (writer.Flush({none, none}) != WriteResult::kOk) return "room was made";
  auto reader = TraceReader::Open(path);
  if (!reader.ok() || !(*reader)->issues().empty()) return "the file must be whole";
  if ((*reader)->tables().kernels.size() != 2) return "the pending kernel was lost";
  if (writer.records_written() != written + 10) return "records written";
  return "";
}

// Runs `body` in a process of its own and gives its result as the test's.
template <typename Body>
void InChild(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    const std::string failure = body();
    if (!failure.empty()) fprintf(stderr, "failed: %s\n", failure.c_str());
    _exit(failure.empty() ? 0 : failure == "skip" ? 77 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "this user may not mount a tmpfs";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(DiskFullTest, FileSizeLimit) {
  ScratchFolder folder;
  InChild([&] {
    rlimit limit{65536, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &limit);
    return FillAndGoOn(folder.File("a.hpt"), [&] {
      limit.rlim_cur = RLIM_INFINITY;
      setrlimit(RLIMIT_FSIZE, &limit);
    });
  });
}

TEST(DiskFullTest, FullFileSystem) {
  ScratchFolder folder;
  InChild([&]() -> std::string {
    const char* where = folder.path().c_str();
    if (mount("tmpfs", where, "tmpfs", 0, "size=64k") != 0) return "skip";
    std::string failure = FillAndGoOn(
        folder.File("a.hpt"), [&] { mount("tmpfs", where, "tmpfs", MS_REMOUNT, "size=1m"); });
    umount2(where, MNT_DETACH);
    return failure;
  });
}

TEST(DiskFullTest, AFileThatCannotBeWrittenIsAnErrorNotFullness) {
  ScratchFolder folder;
  WriteWhole(folder.File("a.hpt"), "");
  const std::vector<uint64_t> none = {0};
  Writer writer(open(folder.File("a.hpt").c_str(), O_RDONLY));
  writer.AddHeader({});
  EXPECT_EQ(writer.Flush({none, none}), WriteResult::kError);
}

}  // namespace
}  // namespace hotproof::trace
