// Counts and times as reports hold them: doubles that are integers below 2^53.
#pragma once

#include <cstdint>

namespace hotproof::analyzers {

// The largest integer that a double, and so JSON, holds exactly together with all below it. As
// nanoseconds: 104 days of GPU time.
inline constexpr uint64_t kMaxNumber = (uint64_t{1} << 53) - 1;

// A larger value is shown as the limit; BuildReport finds those and reports "number_limit".
inline double Number(uint64_t value) {
  return static_cast<double>(value < kMaxNumber ? value : kMaxNumber);
}

}  // namespace hotproof::analyzers
