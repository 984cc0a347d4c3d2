// When a file is closed, and which closed ones are removed.
#include "tests/tracer/rotation_server.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include <cerrno>
#include <fstream>
#include <string_view>

namespace {
bool another_trims = false;
}  // namespace

// In place of libc's: a second process that trims the folder.
extern "C" int unlinkat(int folder, const char* name, int flags) noexcept {
  const auto result = static_cast<int>(syscall(SYS_unlinkat, folder, name, flags));
  if (result == 0 && another_trims && std::string_view(name).ends_with(".hps")) return errno = ENOENT, -1;
  return result;
}

namespace hotproof::tracer {
namespace {

TEST_F(RotationTest, TheOldestGoWhereTheFolderIsBounded) {
  std::ofstream(Path("other.000001.hps")) << std::string(100'000, 'x');
  Server server(folder_, {.file_bytes = 1, .folder_bytes = 500'000});
  uint64_t now_ns = 0;
  EXPECT_FALSE(server.rotation().Due(server.writer(), ++now_ns));  // nothing ran
  for (int i = 0; i < 60; ++i) {
    do {
      for (int step = 0; step < 10; ++step) server.Step();
      ASSERT_TRUE(server.Flush());
      ASSERT_LT(server.writer().bytes_written(), 250'000u);
    } while (!server.rotation().Due(server.writer(), ++now_ns));
    ASSERT_TRUE(server.Rotate()) << server.rotation().why();
    server.rotation().TrimFolder();
    uint64_t bytes = 0;
    for (const auto& entry : fs::directory_iterator(folder_)) bytes += entry.file_size();
    EXPECT_LE(bytes, 500'000u);
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

void SetTime(const std::string& path, time_t seconds) {
  const timespec times[] = {{seconds, 0}, {seconds, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

// What is older in a trace goes first, whatever the clock said: without the later ones it is not read.
TEST_F(RotationTest, AClockThatWasSetBackDoesNotChangeTheOrder) {
  const time_t noon = time(nullptr) - 100'000, back = noon - 3600;
  const auto file = [&](const char* trace, int number, time_t seconds) {
    const std::string path = trace::SegmentPath(Path(trace), number);
    std::ofstream(path) << std::string(102'400, 'x');
    SetTime(path, seconds);
    return path;
  };
  const std::string ninth = file("b.hpt", 999'999, noon), tenth = file("b.hpt", 1'000'000, back),
                    eleventh = file("b.hpt", 1'000'001, back + 60), other = file("c.hpt", 1, noon + 60);
  Server server(folder_, {.folder_bytes = 350'000});
  server.rotation().TrimFolder();
  EXPECT_FALSE(fs::exists(ninth));
  EXPECT_TRUE(fs::exists(tenth) && fs::exists(eleventh) && fs::exists(other));
  Server second(folder_, {.folder_bytes = 300'000}, "d");
  second.rotation().TrimFolder();
  EXPECT_FALSE(fs::exists(tenth));
  EXPECT_TRUE(fs::exists(eleventh) && fs::exists(other));
}

// Of a process that was killed as it rotated, or is just rotating.
TEST_F(RotationTest, AHeadWithoutANameIsRemovedWhenItIsOld) {
  std::ofstream(Path("b.hpt.new")) << std::string(102'400, 'x');
  std::ofstream(Path("c.hpt.new")) << std::string(102'400, 'x');
  SetTime(Path("b.hpt.new"), time(nullptr) - 3600);
  Server server(folder_, {.folder_bytes = 1});
  server.rotation().TrimFolder();
  EXPECT_FALSE(fs::exists(Path("b.hpt.new")));
  EXPECT_TRUE(fs::exists(Path("c.hpt.new")));
}

}  // namespace
}  // namespace hotproof::tracer
