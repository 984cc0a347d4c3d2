// Counts by slot, as Counters of trace.proto has them. Used by whoever adds up counters, on his thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace hotproof::trace {

// Ascending by id, no id twice.
using SlotCounts = std::vector<std::pair<uint32_t, uint64_t>>;

// Puts counts in any order, with ids that come more than once, in that form.
inline void Normalise(SlotCounts& counts) {
  const auto before = [](const auto& a, const auto& b) { return a.first < b.first; };
  if (!std::is_sorted(counts.begin(), counts.end(), before)) {
    std::sort(counts.begin(), counts.end(), before);
  }
  size_t kept = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (kept != 0 && counts[kept - 1].first == counts[i].first) {
      counts[kept - 1].second += counts[i].second;
    } else {
      counts[kept++] = counts[i];
    }
  }
  counts.resize(kept);
}

}  // namespace hotproof::trace
