// What the program's exit code means, but for `run`, whose code is its command's.
#pragma once

namespace hotproof::cli {

inline constexpr int kPassed = 0;
inline constexpr int kFailed = 1;
inline constexpr int kBadInput = 2;      // usage, unreadable or malformed input
inline constexpr int kInconclusive = 3;  // nothing was proved, either way

}  // namespace hotproof::cli
