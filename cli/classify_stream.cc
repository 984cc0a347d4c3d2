#include "cli/classify_stream.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "cli/classify_json.h"

namespace hotproof::cli {
namespace {

// Large enough that threads rarely meet, small enough for the cache.
constexpr size_t kReadBytes = 128 << 10;
// A name of more is refused: it would be held in memory, and no kernel has one.
constexpr size_t kMaxLineBytes = 64 << 20;

// After a call that failed: whether it can be made again. Waits if the descriptor does not block.
bool MayTryAgain(int fd, short event) {
  if (errno == EINTR) return true;
  if (errno != EAGAIN && errno != EWOULDBLOCK) return false;
  pollfd ready = {fd, event, 0};
  return poll(&ready, 1, -1) > 0 || errno == EINTR;
}

// The lines written for the names seen last. Profiles repeat the same few hundred names; a stream
// of different ones must not fill the memory. One per thread.
class RecentLines {
 public:
  explicit RecentLines(const catalog::Classifier& classifier) : classifier_(classifier) {}

  void Append(std::string_view name, std::string& out) {
    const size_t set = std::hash<std::string_view>()(name) % kSets;
    Entry& newer = entries_[2 * set];
    Entry& older = entries_[2 * set + 1];
    for (const Entry* known : {&newer, &older}) {
      if (known->name == name) {
        out += known->line;
        return;
      }
    }
    const size_t begin = out.size();
    AppendJsonLine(name, classifier_.Classify(name), out);
    taken_bytes_ += name.size() + out.size() - begin;
    if (taken_bytes_ > kMaxBytes) {
      entries_ = std::vector<Entry>(entries_.size());  // emptied strings would keep their memory
      taken_bytes_ = 0;
      return;
    }
    std::swap(newer, older);
    newer.name.assign(name);
    newer.line.assign(out, begin);
  }

 private:
  struct Entry {
    std::string name, line;
  };
  // Two entries a set: two names of one profile that share a set do not drive each other out.
  static constexpr size_t kSets = 1024;
  static constexpr size_t kMaxBytes = 16 << 20;

  const catalog::Classifier& classifier_;
  std::vector<Entry> entries_ = std::vector<Entry>(2 * kSets);
  size_t taken_bytes_ = 0;  // since they were empty: no less than they hold
};

// Each thread takes a block of whole lines in turn, classifies it, waits for its turn and writes.
class LineClassifier {
 public:
  LineClassifier(const catalog::Classifier& classifier, int in_fd, int out_fd)
      : classifier_(classifier), in_fd_(in_fd), out_fd_(out_fd) {}

  void Work() {
    RecentLines lines(classifier_);
    std::string block, out;
    size_t number;
    while (TakeBlock(&block, &number)) {
      out.clear();
      for (std::string_view rest = block; !rest.empty();) {
        const size_t end = std::min(rest.find('\n'), rest.size());
        std::string_view name = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (name.ends_with('\r')) name.remove_suffix(1);
        if (!IsBlank(name)) lines.Append(name, out);
      }
      WriteInTurn(number, out);
    }
  }

  // To be asked when all threads have ended.
  absl::Status status() const { return write_status_.ok() ? read_status_ : write_status_; }

 private:
  // Whole lines, as many as one read brings; false at the end. Blocks are numbered from 0.
  bool TakeBlock(std::string* block, size_t* number) {
    std::lock_guard lock(read_mutex_);
    block->assign(rest_);
    rest_.clear();
    while (!ended_) {
      const ssize_t got = read(in_fd_, buffer_, sizeof(buffer_));
      if (got < 0 && MayTryAgain(in_fd_, POLLIN)) continue;
      if (got < 0) read_status_ = CannotRead(std::strerror(errno));
      if (got <= 0) {
        ended_ = true;
        break;
      }
      const std::string_view bytes(buffer_, static_cast<size_t>(got));
      const size_t last_end = bytes.rfind('\n');
      if (last_end != std::string_view::npos) {
        block->append(bytes.substr(0, last_end + 1));
        rest_.assign(bytes.substr(last_end + 1));
        break;
      }
      block->append(bytes);
      if (block->size() > kMaxLineBytes) {
        read_status_ = CannotRead("a line is longer than 64 MiB; give one name a line");
        ended_ = true;
        return false;
      }
    }
    *number = blocks_++;
    return !block->empty();
  }

  void WriteInTurn(size_t number, std::string_view out) {
    std::unique_lock lock(write_mutex_);
    turn_.wait(lock, [&] { return written_ == number; });
    while (!out.empty() && write_status_.ok()) {
      const ssize_t put = write(out_fd_, out.data(), out.size());
      if (put >= 0) {
        out.remove_prefix(static_cast<size_t>(put));
      } else if (!MayTryAgain(out_fd_, POLLOUT)) {
        ended_ = true;
        write_status_ = absl::DataLossError(std::string("cannot write the result to stdout: ") +
                                            std::strerror(errno) + "; check where it goes");
      }
    }
    ++written_;
    lock.unlock();
    turn_.notify_all();
  }

  static absl::Status CannotRead(const std::string& why) {
    return absl::DataLossError("cannot read the names from stdin: " + why +
                               "; give them by a file or a pipe");
  }

  const catalog::Classifier& classifier_;
  const int in_fd_, out_fd_;

  std::mutex read_mutex_;
  char buffer_[kReadBytes];
  std::string rest_;  // the beginning of a line whose end has not been read
  size_t blocks_ = 0;
  std::atomic<bool> ended_ = false;  // also when nothing more can be written
  absl::Status read_status_;

  std::mutex write_mutex_;
  std::condition_variable turn_;
  size_t written_ = 0;
  absl::Status write_status_;
};

}  // namespace

absl::Status ClassifyLines(const catalog::Classifier& classifier, int in_fd, int out_fd,
                           unsigned threads) {
  const auto work = std::make_unique<LineClassifier>(classifier, in_fd, out_fd);
  std::vector<std::thread> others;
  try {
    for (unsigned i = 1; i < threads; ++i) others.emplace_back([&work] { work->Work(); });
  } catch (const std::system_error&) {  // fewer threads do the same work
  }
  work->Work();
  for (std::thread& other : others) other.join();
  return work->status();
}

}  // namespace hotproof::cli
