// Compresses chunk messages and appends them to the trace file, whole or not at all. Owned by the
// Writer, one thread at a time but where it says otherwise.
#pragma once

#include <pthread.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <vector>

#include "trace/own_descriptor.h"
#include "trace/writer.h"
#include "zstd.h"

namespace hotproof::trace {

// One zstd frame, in a buffer that is kept. The compressor lives in memory set aside once: left to
// itself, zstd gives memory back and asks for it again as sizes change.
class Frame {
 public:
  explicit Frame(int zstd_level);
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  // False: zstd has no memory.
  bool Compress(const std::string& message);
  void Clear() { size_ = 0; }
  const uint8_t* data() const { return buffer_.data(); }
  size_t size() const { return size_; }
  uint64_t Hash() const;  // XXH3-64 of the frame

 private:
  std::vector<uint64_t> workspace_;
  ZSTD_CCtx* context_ = nullptr;
  std::vector<uint8_t> buffer_;
  size_t size_ = 0;
};

// Writes on a thread of its own: a disk may take seconds, and who appends holds locks that the program
// waits for. One caller waits a little, so that normally a frame is in the file when Append returns; while
// the disk is behind nobody waits, and frames are kept in memory up to a bound.
class FrameOutput {
 public:
  using WriteAt = ssize_t (*)(int fd, const iovec* parts, int count, off_t at);
  static constexpr size_t kMaxQueuedBytes = 8 << 20;
  static constexpr unsigned kPatienceMs = 500;

  // `write_at`: pwritev, or a test's own.
  inline static WriteAt default_write_at = &pwritev;
  // Locks the file (flock) as long as it is open: that is how a reader sees that it is still written to,
  // whatever pid its process has where the reader looks. A child that was forked without exec and still
  // has the descriptor holds the lock as well: the trace then counts as running, which is the safe side.
  explicit FrameOutput(int fd, WriteAt write_at = default_write_at);
  ~FrameOutput();  // writes what is queued, however long that takes
  FrameOutput(const FrameOutput&) = delete;
  FrameOutput& operator=(const FrameOutput&) = delete;

  // Appends both frames (either may be empty) in one call. On failure the file is cut back to what
  // it was; where that fails too, the next frames are written over the torn one. A failure of a frame
  // that nobody waited for is returned for the next one, which is then not written: that one is missing.
  WriteResult Append(const Frame& head, const Frame& columns);
  bool AwaitWritten(unsigned patience_ms);
  uint64_t bytes_written() const;
  // The file was shorter than what is in it when something was appended.
  bool cut_off() const;
  bool holds_file() const;
  bool TakeFileAgain(int fd);  // of Writer
  // What Append will return for a frame that nobody waited for.
  WriteResult late_result() const;

 private:
  struct Job {
    std::vector<uint8_t> bytes;
    WriteResult result = WriteResult::kOk;
    bool done = false, awaited = false;
  };
  static void* Run(void* output);
  void WriteJobs();
  bool StartThread();
  WriteResult Write(const std::vector<uint8_t>& bytes);

  int Descriptor() const;  // -1: not ours any more
  void Lock(int fd) const;

  OwnDescriptor file_;
  mutable bool locked_ = false, lockable_ = true;
  const WriteAt write_at_;
  mutable std::mutex mutex_;
  std::condition_variable wake_, written_;
  std::list<Job> jobs_;   // front: the one being written
  std::list<Job> spare_;  // with their memory, for the next: no more than kMaxSpare
  static constexpr size_t kMaxSpare = 2;
  size_t queued_bytes_ = 0;
  WriteResult late_result_ = WriteResult::kOk;
  uint64_t offset_ = 0;
  bool started_ = false, stop_ = false, cut_off_ = false;
  pthread_t thread_{};
};

}  // namespace hotproof::trace
