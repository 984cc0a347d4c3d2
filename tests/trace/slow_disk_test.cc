// A disk that takes its time, as a write function that waits until the test lets it go.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <random>
#include <string>

#include "tests/trace/trace_files.h"
#include "trace/frame_output.h"

namespace hotproof::trace {
namespace {

struct Disk {
  std::mutex mutex;
  std::condition_variable changed;
  bool blocked = false;
  int failures = 0;  // writes that fail once the disk moves again
};
Disk disk;

void SetBlocked(bool blocked, int failures = 0) {
  std::lock_guard lock(disk.mutex);
  disk.blocked = blocked;
  disk.failures = failures;
  disk.changed.notify_all();
}

ssize_t WriteWhenLet(int fd, const iovec* parts, int count, off_t at) {
  std::unique_lock lock(disk.mutex);
  disk.changed.wait(lock, [] { return !disk.blocked; });
  if (disk.failures > 0) {
    --disk.failures;
    errno = ENOSPC;
    return -1;
  }
  return pwritev(fd, parts, count, at);
}

class SlowDiskTest : public testing::Test {
 protected:
  SlowDiskTest() : head_(1), columns_(1) {
    SetBlocked(false);
    file_ = std::tmpfile();
  }
  ~SlowDiskTest() override { std::fclose(file_); }
  // A frame of about `bytes`.
  void Fill(Frame& frame, size_t bytes) {
    std::string message(bytes, '\0');
    for (char& c : message) c = static_cast<char>(random_());
    ASSERT_TRUE(frame.Compress(message));
  }
  size_t FileBytes() { return static_cast<size_t>(lseek(fileno(file_), 0, SEEK_END)); }

  std::FILE* file_;
  std::minstd_rand random_;
  Frame head_, columns_;
};

TEST_F(SlowDiskTest, AHealthyDiskHasTheFrameOnReturn) {
  FrameOutput output(dup(fileno(file_)), &WriteWhenLet);
  Fill(head_, 1000);
  Fill(columns_, 5000);
  EXPECT_EQ(output.Append(head_, columns_), WriteResult::kOk);
  EXPECT_TRUE(output.AwaitWritten(60'000));
  EXPECT_EQ(FileBytes(), head_.size() + columns_.size());
  EXPECT_EQ(output.bytes_written(), FileBytes());
}

TEST_F(SlowDiskTest, AStallDelaysNothingAndLosesNothing) {
  FrameOutput output(dup(fileno(file_)), &WriteWhenLet);
  Fill(head_, 1000);
  SetBlocked(true);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(output.Append(head_, columns_), WriteResult::kOk);
  EXPECT_FALSE(output.AwaitWritten(1));
  EXPECT_EQ(output.bytes_written(), 0u);
  SetBlocked(false);
  EXPECT_TRUE(output.AwaitWritten(60'000));
  EXPECT_EQ(FileBytes(), 1000 * head_.size());
}

TEST_F(SlowDiskTest, ADiskThatStaysBehindIsSaidToBeSlowInBoundedMemory) {
  FrameOutput output(dup(fileno(file_)), &WriteWhenLet);
  Fill(columns_, 1 << 20);
  SetBlocked(true);
  size_t taken = 0;
  while (output.Append(head_, columns_) == WriteResult::kOk) taken += columns_.size();
  EXPECT_EQ(output.Append(head_, columns_), WriteResult::kSlow);
  EXPECT_LE(taken, FrameOutput::kMaxQueuedBytes);
  EXPECT_GT(taken, FrameOutput::kMaxQueuedBytes / 2);
  SetBlocked(false);
  EXPECT_TRUE(output.AwaitWritten(60'000));
  EXPECT_EQ(output.Append(head_, columns_), WriteResult::kOk);  // it has caught up
  EXPECT_TRUE(output.AwaitWritten(60'000));
  EXPECT_EQ(FileBytes(), taken + columns_.size());
}

TEST_F(SlowDiskTest, AFailureThatNobodyWaitedForIsReportedForTheNextFrame) {
  FrameOutput output(dup(fileno(file_)), &WriteWhenLet);
  Fill(head_, 1000);
  SetBlocked(true);
  EXPECT_EQ(output.Append(head_, columns_), WriteResult::kOk);
  EXPECT_EQ(output.Append(head_, columns_), WriteResult::kOk);
  SetBlocked(false, /*failures=*/1);
  EXPECT_TRUE(output.AwaitWritten(60'000));
  EXPECT_EQ(output.Append(head_, columns_), WriteResult::kNoSpace);
  EXPECT_EQ(output.Append(head_, columns_), WriteResult::kOk);
  EXPECT_TRUE(output.AwaitWritten(60'000));
  EXPECT_EQ(FileBytes(), 2 * head_.size());  // the second of the stall and the last
}

TEST_F(SlowDiskTest, WhatIsQueuedIsWrittenBeforeTheEnd) {
  Fill(head_, 1000);
  SetBlocked(true);
  {
    FrameOutput output(dup(fileno(file_)), &WriteWhenLet);
    for (int i = 0; i < 10; ++i) EXPECT_EQ(output.Append(head_, columns_), WriteResult::kOk);
    SetBlocked(false);
  }
  EXPECT_EQ(FileBytes(), 10 * head_.size());
}

// It was recorded and counted: the sums of a file that begins behind it have it.
TEST_F(SlowDiskTest, AFileThatBeginsBehindALostChunkCountsIt) {
  FrameOutput::default_write_at = &WriteWhenLet;
  Writer writer(dup(fileno(file_)));
  FrameOutput::default_write_at = &pwritev;
  writer.KeepForNextFile();
  writer.AddHeader({});
  ASSERT_EQ(writer.Flush({}), WriteResult::kOk);
  SetBlocked(true, /*failures=*/1);
  writer.AddRecord({.start_ns = 100, .end_ns = 200, .target = Target::Site(1), .default_site = 1});
  ASSERT_EQ(writer.Flush({}), WriteResult::kOk);  // queued
  SetBlocked(false, /*failures=*/1);
  ASSERT_TRUE(writer.AwaitWritten(60'000));
  ScratchFolder folder;
  const auto start_file = [&] {
    const int next = open(folder.File("a.hpt").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    return writer.StartFile(next, [] { return true; });
  };
  EXPECT_EQ(start_file(), WriteResult::kNoSpace);  // not before the present file's chunks say so
  writer.AddProblem({.kind = 1, .count = 1, .detail = "behind"});
  EXPECT_EQ(writer.Flush({}), WriteResult::kNoSpace);
  EXPECT_EQ(writer.Flush({}), WriteResult::kOk);
  EXPECT_EQ(start_file(), WriteResult::kOk);
  const auto reader = TraceReader::Open(folder.File("a.hpt"));
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ((*reader)->tables().rotated_out.records, 1u);
}

// Each would keep a file, a thread and buffers for ever.
TEST_F(SlowDiskTest, OneFileAtMostWaitsForADiskThatHangs) {
  const auto open_files = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  FrameOutput::default_write_at = &WriteWhenLet;
  {
    Writer writer(dup(fileno(file_)));
    writer.KeepForNextFile();
    writer.AddProblem({.kind = 1, .count = 1, .detail = "before"});
    ASSERT_EQ(writer.Flush({}), WriteResult::kOk);
    const auto start_file = [&] {
      std::FILE* const next = std::tmpfile();
      const WriteResult result = writer.StartFile(dup(fileno(next)), [] { return true; });
      std::fclose(next);
      return result;
    };
    const auto before = open_files();
    SetBlocked(true);
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(start_file(), WriteResult::kSlow);
      EXPECT_EQ(open_files(), before + 1);
    }
    SetBlocked(false);
    while (start_file() != WriteResult::kOk) {  // the thread may not have got there yet
    }
    EXPECT_EQ(open_files(), before);
  }
  FrameOutput::default_write_at = &pwritev;
}

}  // namespace
}  // namespace hotproof::trace
