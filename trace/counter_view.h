// Counters as the tracer reads them while others count: a word for each slot. Used by who writes
// increments (ChunkEncoder) and who adds up (the tracer), on any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hotproof::trace {

// Reads a word of a table while others count: exact, ordered with nothing.
inline uint64_t LoadCounter(const uint64_t& word) {
  return __atomic_load_n(&word, __ATOMIC_RELAXED);
}

// The counts of a table by slot, each kept as a multiple of `unit`. A racy view: each count is exact, not
// the set.
class Counts {
 public:
  constexpr Counts() = default;
  constexpr Counts(std::span<const uint64_t> words, uint64_t unit = 1) : words_(words), unit_(unit) {}
  Counts(const std::vector<uint64_t>& counts) : words_(counts) {}
  Counts(const std::vector<uint64_t>&&) = delete;  // a view of what is gone

  size_t size() const { return words_.size(); }
  uint64_t operator[](size_t slot) const { return LoadCounter(words_[slot]) / unit_; }
  // For who compares many slots of which few have moved.
  uint64_t word(size_t slot) const { return LoadCounter(words_[slot]); }
  uint64_t unit() const { return unit_; }

 private:
  std::span<const uint64_t> words_;
  uint64_t unit_ = 1;
};

// Absolute counter values by slot; the writer stores increments.
struct CounterView {
  Counts sites;   // index = site id; [0] = no slot
  Counts graphs;  // index = graph id
};

}  // namespace hotproof::trace
