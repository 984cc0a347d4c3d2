// Constants of the trace format that writer and reader share. proto/FORMAT.md is the description.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hotproof::trace {

inline constexpr uint32_t kFormatMajor = 1;
inline constexpr uint32_t kFormatMinor = 5;

// Records or launches after which a chunk is best written (docs/measurements/trace_format.md).
inline constexpr size_t kChunkEntries = 65536;

// What a launch asked for: one site (eager) or one graph (replay). 0: unknown.
class Target {
 public:
  constexpr Target() = default;
  static constexpr Target Site(uint32_t site_id) { return Target(site_id * 2); }
  static constexpr Target Graph(uint32_t graph_id) { return Target(graph_id * 2 + 1); }
  static constexpr Target FromWire(uint32_t wire) { return Target(wire); }
  constexpr uint32_t wire() const { return wire_; }
  constexpr bool is_known() const { return wire_ != 0; }
  constexpr bool is_graph() const { return (wire_ & 1) != 0; }
  constexpr uint32_t id() const { return wire_ / 2; }
  friend constexpr bool operator==(Target, Target) = default;

 private:
  explicit constexpr Target(uint32_t wire) : wire_(wire) {}
  uint32_t wire_ = 0;
};

// trace.proto's OperationKind, for code without protobuf.
inline constexpr uint32_t kMemcpyOperation = 1;
inline constexpr uint32_t kMemsetOperation = 2;
inline constexpr uint32_t kSynchronizationOperation = 3;
inline constexpr uint32_t kEventRecordOperation = 4;

// trace.proto's SnapshotReason, likewise.
inline constexpr uint32_t kMarkSnapshot = 1;
inline constexpr uint32_t kEndCaptureSnapshot = 2;
inline constexpr uint32_t kFirstReplaySnapshot = 3;
inline constexpr uint32_t kReplayAfterCaptureSnapshot = 4;
// The marks that say where steady serving begins.
constexpr bool IsSteadyMark(uint32_t snapshot_reason, std::string_view label) {
  return snapshot_reason == kMarkSnapshot && (label == "steady" || label == "hotproof.steady");
}

// Gaps between launch calls are predicted by the latest one of a target with the same remainder.
inline constexpr uint32_t kPredictedLaunchTargets = 8192;
inline constexpr uint32_t kCallLowBits = 7;

// The counter file (.hpc): one header page, then the site slots, then the graph slots, all
// little-endian 64-bit words. Slot 0 of each table counts what found no slot of its own.
inline constexpr char kCountersMagic[8] = {'H', 'P', 'C', 'O', 'U', 'N', 'T', '2'};
// Of traces before 1.5: each word is a count, without a check.
inline constexpr char kUncheckedCountersMagic[8] = {'H', 'P', 'C', 'O', 'U', 'N', 'T', '1'};
inline constexpr size_t kCountersHeaderBytes = 4096;
// A count n is kept as n times this (an arithmetic code): one addition counts, at every moment each
// word is a multiple, and with up to four of its bits flipped, or any number of 15 neighbours, it is none
// (tests/trace/counters_test.cc).
inline constexpr uint64_t kCountUnit = 64709;
struct CountersHeader {
  char magic[8];
  uint32_t header_bytes;
  uint32_t site_slots;
  uint32_t graph_slots;
  uint32_t pid;
  uint64_t process_start_ticks;
  uint64_t records_written;   // activity records in the trace so far; cross-check for readers
  uint64_t launches_refused;  // launch calls that returned an error: not launches
  uint64_t heartbeat;         // goes up with each look at whether the file still stands
  uint64_t check;             // XXH3-64 of what is before records_written
  // This file's own, by which a copy is told from it; 0: not known.
  uint64_t file_device, file_inode;
  int64_t file_born_ns;
};
inline constexpr size_t kCheckedHeaderBytes = offsetof(CountersHeader, records_written);

}  // namespace hotproof::trace
