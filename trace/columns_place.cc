#include "trace/columns_place.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <system_error>
#include <thread>

#include "xxhash.h"

namespace hotproof::trace {
namespace {

constexpr size_t kStepBytes = size_t{256} << 10;  // stays in a cache
// Fewer are hashed sooner than a thread is started, and every allocation is slower from then on.
constexpr uint64_t kBytesForAThread = uint64_t{8} << 20;

bool HasItsHash(const File& file, const ColumnsPlace& place, char* buffer, XXH3_state_t& state) {
  XXH3_64bits_reset(&state);
  for (uint64_t done = 0; done < place.size_bytes;) {
    const size_t step = std::min<uint64_t>(kStepBytes, place.size_bytes - done);
    if (file.ReadAt(place.offset_bytes + done, buffer, step) != step) return false;
    if (step == place.size_bytes) return XXH3_64bits(buffer, step) == place.hash;
    XXH3_64bits_update(&state, buffer, step);
    done += step;
  }
  return XXH3_64bits_digest(&state) == place.hash;
}

}  // namespace

std::vector<size_t> FindDamagedColumns(std::span<const std::unique_ptr<File>> files,
                                       std::span<const ColumnsPlace> places, int threads) {
  std::vector<char> damaged(places.size());  // not bool: threads write neighbours
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    const auto buffer = std::make_unique_for_overwrite<char[]>(kStepBytes);
    XXH3_state_t state;
    for (size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < places.size();) {
      if (places[i].size_bytes == 0) continue;
      damaged[i] = !HasItsHash(*files[places[i].file], places[i], buffer.get(), state);
    }
  };
  uint64_t bytes = 0;
  for (const ColumnsPlace& place : places) bytes += place.size_bytes;
  size_t workers = threads > 0 ? threads
                               : std::min<uint64_t>(std::thread::hardware_concurrency(),
                                                    bytes / kBytesForAThread);
  workers = std::clamp<size_t>(workers, 1, std::max<size_t>(places.size() / 4, 1));
  std::vector<std::thread> pool;
  try {
    for (size_t i = 1; i < workers; ++i) pool.emplace_back(work);
  } catch (const std::system_error&) {
    // A limit on threads: fewer do the same work.
  }
  work();
  for (std::thread& thread : pool) thread.join();
  std::vector<size_t> indices;
  for (size_t i = 0; i < places.size(); ++i) {
    if (damaged[i]) indices.push_back(i);
  }
  return indices;
}

}  // namespace hotproof::trace
