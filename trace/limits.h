// Bounds that writer and reader agree on (proto/FORMAT.md, "Limits").
#pragma once

#include <cstddef>
#include <cstdint>

namespace hotproof::trace {

inline constexpr size_t kMaxHeadBytes = size_t{64} << 20;      // of a head, uncompressed
inline constexpr size_t kMaxColumnsBytes = size_t{256} << 20;  // of a columns frame, uncompressed
// More than this many records, launches or operations are not in one chunk. The writer takes fewer
// launches and operations, so that its columns (at most 90 bytes a record, 35 a launch, 70 an
// operation) stay under kMaxColumnsBytes.
inline constexpr size_t kMaxPendingEntries = size_t{1} << 21;
inline constexpr size_t kMaxPendingLaunches = size_t{1} << 20;
inline constexpr size_t kMaxPendingOperations = size_t{1} << 18;

// Ids beyond this are no ids of operation classes: there are a few dozen.
inline constexpr uint32_t kMaxOperationClasses = uint32_t{1} << 16;

inline constexpr uint32_t kMaxCounterSlots = uint32_t{1} << 20;  // of each table of a counter file
inline constexpr uint32_t kMaxTableEntries = uint32_t{1} << 20;  // of each table of a trace

// A snapshot's label is cut to this.
inline constexpr size_t kMaxLabelBytes = 255;

// A reader holds no more than this of tables and problems; a real trace has a few MiB.
inline constexpr uint64_t kMaxTableMemoryBytes = uint64_t{1} << 31;

}  // namespace hotproof::trace
