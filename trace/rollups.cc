#include "trace/rollups.h"

namespace hotproof::trace {
namespace {

// False: the sum is more than can be.
template <typename Column>
bool AddAll(const Column& column, uint64_t& sum) {
  for (const uint64_t value : column) {
    if (__builtin_add_overflow(sum, value, &sum)) return false;
  }
  return true;
}

// Untimed entries are some of all, and a period ends behind its begin.
template <typename Statistics>
bool IsPossible(const Statistics& statistics, uint64_t count) {
  return statistics.untimed_count() <= count &&
         statistics.first_start_ns() <= statistics.last_end_ns();
}

}  // namespace

const char* WrongWithRollups(const Continuation& continuation) {
  constexpr int kMaxRollups = 256;  // a writer has about thirty
  if (continuation.rollups_size() > kMaxRollups) return "too many of them";
  uint64_t next = 1, records = 0, launches = 0, duration_ns = 0, asked_sites = 0, asked_graphs = 0;
  for (const Rollup& rollup : continuation.rollups()) {
    if (rollup.first_segment() != next || rollup.last_segment() < next) return "files out of order";
    next = uint64_t{rollup.last_segment()} + 1;
    const ChunkStatistics& of = rollup.statistics();
    if (!IsPossible(of, of.record_count()) ||
        !IsPossible(of.operations(), of.operations().count())) {
      return "they contradict themselves";
    }
    if (of.site_ids_size() != of.site_records_size() ||
        of.site_ids_size() != of.site_duration_ns_size()) {
      return "columns differ in number";
    }
    uint64_t by_site = 0;
    if (!AddAll(of.site_records(), by_site) || by_site != of.record_count()) {
      return "records by site are not all records";
    }
    if (__builtin_add_overflow(records, of.record_count(), &records) ||
        __builtin_add_overflow(launches, of.launch_count(), &launches) ||
        !AddAll(of.site_duration_ns(), duration_ns) ||
        !AddAll(of.asked().site_counts(), asked_sites) ||
        !AddAll(of.asked().graph_counts(), asked_graphs)) {
      return "they are more than can be counted";
    }
  }
  return next == continuation.segment() && next > 1 ? nullptr : "they are not of all files before";
}

}  // namespace hotproof::trace
