// The lock by which a reader sees that a trace is still written to.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <string>

#include "tests/trace/trace_files.h"
#include "trace/frame_output.h"

namespace hotproof::trace {
namespace {

bool IsLocked(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool locked = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  close(fd);
  return locked;
}

// A reader asks by taking the lock for a moment, which may be that in which the trace is begun.
TEST(FileLock, AReaderAtThatMomentDoesNotMakeATraceGoWithout) {
  const std::pair<const char*, std::function<void(FrameOutput&)>> ways[] = {
      {"a look", [](FrameOutput& output) { EXPECT_TRUE(output.holds_file()); }},
      {"a write",
       [](FrameOutput& output) {
         Frame head(1), none(1);
         EXPECT_TRUE(head.Compress("head"));
         EXPECT_EQ(output.Append(head, none), WriteResult::kOk);
       }},
  };
  for (const auto& [name, act] : ways) {
    SCOPED_TRACE(name);
    ScratchFolder folder;
    const std::string path = folder.File("a.hpt");
    const int file = CreateFile(path);
    const int reader = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    ASSERT_EQ(flock(reader, LOCK_SH | LOCK_NB), 0);
    FrameOutput output(file);
    EXPECT_FALSE(IsLocked(path));
    act(output);
    EXPECT_FALSE(IsLocked(path));
    close(reader);
    act(output);
    EXPECT_TRUE(IsLocked(path));
  }
}

TEST(FileLock, IsGivenBackWithTheFile) {
  ScratchFolder folder;
  const std::string path = folder.File("a.hpt");
  {
    FrameOutput output(CreateFile(path));
    EXPECT_TRUE(IsLocked(path));
  }
  EXPECT_FALSE(IsLocked(path));
}

}  // namespace
}  // namespace hotproof::trace
