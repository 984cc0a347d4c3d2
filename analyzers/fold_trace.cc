#include "analyzers/fold_trace.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace hotproof::analyzers {
namespace {

// Of all threads together: a machine of 128 must not take gigabytes for a trace of 100,000 sites.
constexpr size_t kMostInstanceBytes = size_t{128} << 20;

// For each chunk the smallest start of the timed records after it.
std::vector<uint64_t> EarliestLaterStarts(const trace::TraceReader& reader) {
  const auto& statistics = reader.tables().chunk_statistics;
  std::vector<uint64_t> earliest(reader.chunk_count(), UINT64_MAX);
  for (size_t i = earliest.size(); i-- > 1;) {
    earliest[i - 1] = earliest[i];
    if (i >= statistics.size()) {
      earliest[i - 1] = 0;  // not told: anything may come
    } else if (statistics[i].record_count() > statistics[i].untimed_count()) {
      earliest[i - 1] = std::min<uint64_t>(earliest[i], statistics[i].first_start_ns());
    }
  }
  return earliest;
}

bool HoldsNothing(const trace::ChunkStatistics& statistics) {
  return statistics.record_count() == 0 && statistics.launch_count() == 0 &&
         statistics.operations().count() == 0;
}

bool HoldsNothing(const trace::ChunkRuns& runs) {
  return runs.start_ns.empty() && runs.untimed_node.empty() && runs.launch_correlation_id.empty();
}

// The chunks to fold. Most of a starting process's hold tables alone: no thread has to wait its
// turn for those. `errors`: of those that cannot be read as they say.
std::vector<size_t> ChunksToFold(const trace::TraceReader& reader,
                                 std::vector<std::pair<size_t, std::string>>& errors) {
  const auto& statistics = reader.tables().chunk_statistics;
  std::vector<size_t> chunks;
  trace::ChunkRuns runs;
  for (size_t i = 0; i < reader.chunk_count(); ++i) {
    if (i < statistics.size() && HoldsNothing(statistics[i])) {
      if (const absl::Status status = reader.ReadRuns(i, runs); !status.ok()) {
        errors.emplace_back(i, status.message());
        continue;
      }
      if (HoldsNothing(runs)) continue;
    }
    chunks.push_back(i);
  }
  return chunks;
}

// Hands out chunks, and lets threads through in the order of the chunks.
class Turnstile {
 public:
  size_t TakeNext() { return next_.fetch_add(1, std::memory_order_relaxed); }

  template <typename F>
  void InOrder(size_t index, F&& f) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return turn_ == index; });
    f();
    ++turn_;
    lock.unlock();
    changed_.notify_all();
  }

 private:
  std::atomic<size_t> next_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t turn_ = 0;
};

}  // namespace

std::vector<std::string> FoldTrace(const trace::TraceReader& reader,
                                   std::span<Analyzer* const> analyzers,
                                   const FoldOptions& options) {
  std::vector<std::pair<size_t, std::string>> errors;  // by chunk
  const std::vector<size_t> to_fold = ChunksToFold(reader, errors);
  const size_t chunks = to_fold.size();
  const std::vector<uint64_t> earliest_later = EarliestLaterStarts(reader);
  size_t threads = options.threads > 0 ? options.threads : std::thread::hardware_concurrency();
  threads = std::clamp<size_t>(threads, 1, std::max<size_t>(chunks, 1));
  size_t instance_bytes = 1;
  for (const Analyzer* analyzer : analyzers) instance_bytes += analyzer->instance_bytes();
  threads = std::min(threads, std::max<size_t>(kMostInstanceBytes / instance_bytes, 1));

  std::vector<std::vector<std::unique_ptr<Analyzer>>> instances(threads);
  for (auto& own : instances) {
    for (const Analyzer* analyzer : analyzers) own.push_back(analyzer->Init());
  }

  Turnstile turnstile;
  auto work = [&](size_t worker) {
    trace::ChunkRuns runs;
    for (size_t turn; (turn = turnstile.TakeNext()) < chunks;) {
      const size_t index = to_fold[turn];
      const absl::Status status = reader.ReadRuns(index, runs);
      const Chunk chunk{index, runs, earliest_later[index]};
      if (status.ok()) {
        for (auto& analyzer : instances[worker]) analyzer->Fold(chunk);
      }
      turnstile.InOrder(turn, [&] {
        if (status.ok()) {
          for (size_t i = 0; i < analyzers.size(); ++i) {
            analyzers[i]->FoldInOrder(chunk, *instances[worker][i]);
          }
        } else {
          errors.emplace_back(index, status.message());
        }
        if (options.progress) options.progress(turn + 1, chunks);
      });
    }
  };
  std::vector<std::thread> pool;
  try {
    for (size_t worker = 1; worker < threads; ++worker) pool.emplace_back(work, worker);
  } catch (const std::system_error&) {
    // A limit on threads: fewer do the same work.
  }
  work(0);
  for (std::thread& thread : pool) thread.join();

  for (const auto& own : instances) {
    for (size_t i = 0; i < analyzers.size(); ++i) analyzers[i]->Merge(*own[i]);
  }
  std::sort(errors.begin(), errors.end());
  std::vector<std::string> messages;
  for (auto& [chunk, message] : errors) messages.push_back(std::move(message));
  return messages;
}

}  // namespace hotproof::analyzers
