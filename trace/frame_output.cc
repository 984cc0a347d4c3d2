#define ZSTD_STATIC_LINKING_ONLY  // ZSTD_initStaticCCtx; libzstd.a is what is linked
#include "trace/frame_output.h"

#include <errno.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "xxhash.h"

namespace hotproof::trace {
namespace {

// Writing past RLIMIT_FSIZE raises SIGXFSZ, which kills a process that does not expect it.
bool ExceedsFileSizeLimit(uint64_t end) {
  rlimit limit;
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
         end > limit.rlim_cur;
}

WriteResult ResultOf(int error) {
  return error == ENOSPC || error == EDQUOT || error == EFBIG ? WriteResult::kNoSpace
                                                              : WriteResult::kError;
}

}  // namespace

Frame::Frame(int zstd_level) {
  workspace_.resize((ZSTD_estimateCCtxSize(zstd_level) + sizeof(uint64_t) - 1) / sizeof(uint64_t));
  context_ = ZSTD_initStaticCCtx(workspace_.data(), workspace_.size() * sizeof(uint64_t));
  if (context_ == nullptr) return;
  ZSTD_CCtx_reset(context_, ZSTD_reset_session_and_parameters);  // a static one starts without
  ZSTD_CCtx_setParameter(context_, ZSTD_c_compressionLevel, zstd_level);
  ZSTD_CCtx_setParameter(context_, ZSTD_c_checksumFlag, 1);
}

bool Frame::Compress(const std::string& message) {
  Clear();
  if (context_ == nullptr) return false;
  const size_t bound = ZSTD_compressBound(message.size());
  if (buffer_.size() < bound) buffer_.resize(bound);
  const size_t size =
      ZSTD_compress2(context_, buffer_.data(), buffer_.size(), message.data(), message.size());
  if (ZSTD_isError(size)) return false;
  size_ = size;
  return true;
}

uint64_t Frame::Hash() const { return XXH3_64bits(data(), size()); }

FrameOutput::FrameOutput(int fd, WriteAt write_at) : file_(fd), write_at_(write_at) {
  constexpr int kTries = 20;
  for (int tries = 1; (Lock(file_.Ours()), !locked_) && lockable_ && tries < kTries; ++tries)
    usleep(50);
}

// A reader has the lock for the moment in which it asks for it: then it is taken at the next write
// or look. Not on every file system there are locks, and then nothing is known.
void FrameOutput::Lock(int fd) const {
  if (locked_ || !lockable_ || fd < 0) return;
  locked_ = flock(fd, LOCK_EX | LOCK_NB) == 0;
  lockable_ = locked_ || errno == EWOULDBLOCK || errno == EINTR;
}

FrameOutput::~FrameOutput() {
  if (started_) {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    pthread_join(thread_, nullptr);
  }
}

bool FrameOutput::StartThread() {
  if (started_) return true;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the program's signals are not for our thread
  started_ = pthread_create(&thread_, nullptr, &FrameOutput::Run, this) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started_;
}

WriteResult FrameOutput::Append(const Frame& head, const Frame& columns) {
  std::unique_lock lock(mutex_);
  if (late_result_ != WriteResult::kOk) return std::exchange(late_result_, WriteResult::kOk);
  const size_t bytes = head.size() + columns.size();
  if (queued_bytes_ != 0 && queued_bytes_ + bytes > kMaxQueuedBytes) return WriteResult::kSlow;
  if (spare_.empty()) spare_.emplace_back();
  Job* const job = &spare_.front();
  job->done = false;
  job->bytes.clear();
  job->bytes.reserve(bytes);
  job->bytes.insert(job->bytes.end(), head.data(), head.data() + head.size());
  job->bytes.insert(job->bytes.end(), columns.data(), columns.data() + columns.size());
  if (!StartThread()) {
    lock.unlock();
    return Write(job->bytes);
  }
  const bool behind = !jobs_.empty();
  jobs_.splice(jobs_.end(), spare_, spare_.begin());
  queued_bytes_ += bytes;
  job->awaited = !behind;
  wake_.notify_one();
  if (behind) return WriteResult::kOk;
  if (!written_.wait_for(lock, std::chrono::milliseconds(kPatienceMs), [&] { return job->done; })) {
    job->awaited = false;
    return WriteResult::kOk;
  }
  return job->result;
}

bool FrameOutput::AwaitWritten(unsigned patience_ms) {
  std::unique_lock lock(mutex_);
  return written_.wait_for(lock, std::chrono::milliseconds(patience_ms), [&] { return jobs_.empty(); });
}

uint64_t FrameOutput::bytes_written() const {
  std::lock_guard lock(mutex_);
  return offset_;
}

bool FrameOutput::cut_off() const {
  std::lock_guard lock(mutex_);
  return cut_off_;
}

int FrameOutput::Descriptor() const {
  std::lock_guard lock(mutex_);
  const int fd = file_.Ours();
  Lock(fd);
  return fd;
}

bool FrameOutput::holds_file() const { return Descriptor() >= 0; }

bool FrameOutput::TakeFileAgain(int fd) {
  std::lock_guard lock(mutex_);
  if (!file_.TakeAgain(fd)) return false;
  locked_ = false;
  Lock(file_.Ours());
  return true;
}

WriteResult FrameOutput::late_result() const {
  std::lock_guard lock(mutex_);
  return late_result_;
}

void* FrameOutput::Run(void* output) {
  pthread_setname_np(pthread_self(), "hotproof-disk");
  static_cast<FrameOutput*>(output)->WriteJobs();
  return nullptr;
}

void FrameOutput::WriteJobs() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stop_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    Job* const job = &jobs_.front();
    lock.unlock();
    const WriteResult result = Write(job->bytes);
    lock.lock();
    job->result = result;
    job->done = true;
    if (result != WriteResult::kOk && !job->awaited) late_result_ = result;
    queued_bytes_ -= job->bytes.size();
    // Who waits for it reads it there: only the one appender takes spare ones.
    spare_.splice(spare_.begin(), jobs_, jobs_.begin());
    if (spare_.size() > kMaxSpare) spare_.pop_back();
    written_.notify_all();
  }
}

// On the thread above, or on the caller's where there is none; no lock is held.
WriteResult FrameOutput::Write(const std::vector<uint8_t>& bytes) {
  const uint64_t begin = bytes_written();
  struct stat status;
  if (fstat(Descriptor(), &status) == 0 && static_cast<uint64_t>(status.st_size) < begin) {
    std::lock_guard lock(mutex_);
    cut_off_ = true;
  }
  if (ExceedsFileSizeLimit(begin + bytes.size())) return WriteResult::kNoSpace;
  for (size_t done = 0; done < bytes.size();) {
    const iovec part = {const_cast<uint8_t*>(bytes.data()) + done, bytes.size() - done};
    const int fd = Descriptor();  // asked before each: it is somebody else's process
    if (fd < 0) return WriteResult::kDescriptorLost;
    const ssize_t written = write_at_(fd, &part, 1, static_cast<off_t>(begin + done));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const WriteResult result = written == 0 ? WriteResult::kNoSpace : ResultOf(errno);
      if (done != 0) [[maybe_unused]]
        const int ignored = ftruncate(Descriptor(), static_cast<off_t>(begin));
      return result;
    }
    done += static_cast<size_t>(written);
  }
  std::lock_guard lock(mutex_);
  offset_ = begin + bytes.size();
  return WriteResult::kOk;
}

}  // namespace hotproof::trace
