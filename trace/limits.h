// Bounds that writer and reader agree on (proto/FORMAT.md, "Limits").
#pragma once

#include <cstddef>
#include <cstdint>

namespace hotproof::trace {

inline constexpr size_t kMaxHeadBytes = size_t{64} << 20;      // of a head, uncompressed
inline constexpr size_t kMaxColumnsBytes = size_t{256} << 20;  // of a columns frame, uncompressed
// More than this many records or launches are not taken into one chunk: its columns, at most 90
// bytes a record and 20 a launch, stay under kMaxColumnsBytes.
inline constexpr size_t kMaxPendingEntries = size_t{1} << 21;

inline constexpr uint32_t kMaxCounterSlots = uint32_t{1} << 20;  // of each table of a counter file

}  // namespace hotproof::trace
