// Sums launches and times of slots into rows of a report, over processes. Each table of the report
// (hot_path, kernels, kinds) is one Rows with its own idea of which row a site belongs to.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analyzers/durations.h"
#include "analyzers/number.h"
#include "analyzers/process_analysis.h"

namespace hotproof::analyzers {

struct RowSums {
  uint64_t launches = 0;  // in the chosen phase
  uint64_t warmup_launches = 0;
  uint64_t captured_nodes = 0;
  uint64_t eager_launches = 0;  // of `launches`
  uint64_t timed_launches = 0;  // records in the chosen phase
  uint64_t duration_ns = 0;
  uint64_t exclusive_ns = 0;
  Durations durations;  // of timed_launches
  // Launches in one replay of each replayed graph that has any, if all agree.
  std::optional<uint32_t> per_replay;
  bool per_replay_differs = false;
  std::set<std::string> runs;  // that launched or captured it
};

// Of one launch; inclusive.
double MeanNs(const RowSums& sums);
// The mean of its times is far from their median: a few launches took much longer, or there are two
// populations, and sums say little about one launch.
bool IsUneven(const RowSums& sums);

inline constexpr uint32_t kNoRow = UINT32_MAX;

// What of a slot belongs to the chosen phase. An unphased process has one phase: all of it.
uint64_t LaunchesIn(const ProcessAnalysis& process, uint32_t slot, PhaseChoice phase);
TimeSums TimesIn(const ProcessAnalysis& process, uint32_t slot, PhaseChoice phase);

// "sm90" if `kernel` was made for another architecture than all devices of the process have, which is
// sm90 then; else empty. 8.0 code on 8.6 is another one, too: it was not tuned for it.
std::string OtherArchitecture(const ProcessAnalysis& process, const KernelInfo& kernel);

class Rows {
 public:
  // The row of `key`, made when it is new.
  uint32_t RowOf(const std::string& key);

  // Adds one process. `row_of_site`: by site id (0: unknown kernel), kNoRow: in no row.
  void Add(const ProcessAnalysis& process, const std::vector<uint32_t>& row_of_site,
           PhaseChoice phase);

  size_t size() const { return sums_.size(); }
  const RowSums& sums(uint32_t row) const { return sums_[row]; }
  const std::string& key(uint32_t row) const { return keys_[row]; }
  // Rows that ran or were captured; longest exclusive time first, then most launches, then by key.
  std::vector<uint32_t> Sorted() const;

 private:
  void AddDurations(const ProcessAnalysis& process, const std::vector<uint32_t>& row_of_site,
                    PhaseChoice phase);
  void AddPerReplay(const ProcessAnalysis& process, const std::vector<uint32_t>& row_of_site,
                    PhaseChoice phase);

  absl::flat_hash_map<std::string, uint32_t> row_by_key_;
  std::vector<std::string> keys_;
  std::vector<RowSums> sums_;
};

// Sets the fields that all rows have in common; times and share only where execution was observed.
// `all_exclusive_ns`: of the whole report.
template <typename Row>
void FillRow(const RowSums& sums, uint64_t all_exclusive_ns, Row* row) {
  row->set_launches(Number(sums.launches));
  row->set_warmup_launches(Number(sums.warmup_launches));
  row->set_timed_launches(Number(sums.timed_launches));
  for (const std::string& run : sums.runs) row->add_runs(run);
  if (sums.timed_launches == 0 && sums.launches > 0) return;
  row->set_time_ns(Number(sums.duration_ns));
  row->set_exclusive_time_ns(Number(sums.exclusive_ns));
  if (sums.durations.count() > 0) {
    row->set_median_ns(Number(sums.durations.QuantileNs(0.5)));
    row->set_p99_ns(Number(sums.durations.QuantileNs(0.99)));
  }
  if (all_exclusive_ns > 0) {
    row->set_share(static_cast<double>(sums.exclusive_ns) / static_cast<double>(all_exclusive_ns));
  }
}

}  // namespace hotproof::analyzers
