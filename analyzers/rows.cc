#include "analyzers/rows.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "absl/strings/str_cat.h"

namespace hotproof::analyzers {
namespace {

void MeetRate(RowSums& sums, uint32_t rate) {
  if (sums.per_replay_differs) return;
  if (sums.per_replay && *sums.per_replay != rate) {
    sums.per_replay.reset();
    sums.per_replay_differs = true;
    return;
  }
  sums.per_replay = rate;
}

}  // namespace

double MeanNs(const RowSums& sums) {
  return static_cast<double>(sums.duration_ns) / static_cast<double>(sums.timed_launches);
}

bool IsUneven(const RowSums& sums) {
  constexpr double kFar = 0.1;
  if (sums.durations.count() == 0) return false;
  const auto median = static_cast<double>(sums.durations.QuantileNs(0.5));
  return std::abs(MeanNs(sums) - median) > kFar * median;
}

uint64_t LaunchesIn(const ProcessAnalysis& process, uint32_t slot, PhaseChoice phase) {
  const SlotLaunches& launches = process.index->launches()[slot];
  return phase == PhaseChoice::kAll ? launches.total() : launches.steady;
}

TimeSums TimesIn(const ProcessAnalysis& process, uint32_t slot, PhaseChoice phase) {
  TimeSums sums = process.times.sums[1][slot];
  if (phase == PhaseChoice::kAll) {
    const TimeSums& warmup = process.times.sums[0][slot];
    sums.records += warmup.records;
    sums.duration_ns += warmup.duration_ns;
    sums.exclusive_ns += warmup.exclusive_ns;
  }
  return sums;
}

std::string OtherArchitecture(const ProcessAnalysis& process, const KernelInfo& kernel) {
  uint32_t of_devices = 0;
  for (const trace::Device& device : process.header().devices()) {
    const uint32_t number =
        10 * device.compute_capability_major() + device.compute_capability_minor();
    if (of_devices != 0 && number != of_devices) return "";
    of_devices = number;
  }
  const bool differs = of_devices != 0 && kernel.architecture != 0 &&
                       kernel.architecture != of_devices;
  return differs ? absl::StrCat("sm", of_devices) : "";
}

uint32_t Rows::RowOf(const std::string& key) {
  const auto [at, is_new] = row_by_key_.try_emplace(key, static_cast<uint32_t>(sums_.size()));
  if (is_new) {
    keys_.push_back(key);
    sums_.emplace_back();
  }
  return at->second;
}

void Rows::Add(const ProcessAnalysis& process, const std::vector<uint32_t>& row_of_site,
               PhaseChoice phase) {
  const TraceIndex& index = *process.index;
  std::vector<char> in_run(sums_.size(), 0);
  for (uint32_t slot = 0; slot < index.slot_count(); ++slot) {
    const uint32_t row = row_of_site[index.site_of_slot(slot)];
    if (row == kNoRow) continue;
    RowSums& sums = sums_[row];
    sums.launches += LaunchesIn(process, slot, phase);
    sums.warmup_launches += index.launches()[slot].warmup;
    sums.captured_nodes += index.IsGraphSlot(slot) ? 1 : 0;
    if (!index.IsGraphSlot(slot)) sums.eager_launches += LaunchesIn(process, slot, phase);
    if (index.IsGraphSlot(slot) || index.launches()[slot].total() > 0) in_run[row] = 1;
    const TimeSums times = TimesIn(process, slot, phase);
    sums.timed_launches += times.records;
    sums.duration_ns += times.duration_ns;
    sums.exclusive_ns += times.exclusive_ns;
  }
  for (uint32_t row = 0; row < in_run.size(); ++row) {
    if (in_run[row] != 0) sums_[row].runs.insert(process.run);
  }
  AddDurations(process, row_of_site, phase);
  AddPerReplay(process, row_of_site, phase);
}

void Rows::AddDurations(const ProcessAnalysis& process, const std::vector<uint32_t>& row_of_site,
                        PhaseChoice phase) {
  for (uint32_t site = 0; site < row_of_site.size(); ++site) {
    if (row_of_site[site] == kNoRow) continue;
    Durations& durations = sums_[row_of_site[site]].durations;
    process.times.durations[1].AddTo(site, durations);
    if (phase == PhaseChoice::kAll) process.times.durations[0].AddTo(site, durations);
  }
}

void Rows::AddPerReplay(const ProcessAnalysis& process, const std::vector<uint32_t>& row_of_site,
                        PhaseChoice phase) {
  const TraceIndex& index = *process.index;
  std::vector<uint32_t> nodes(sums_.size(), 0);
  std::vector<uint32_t> touched;
  const size_t graphs = index.tables().graphs.size();
  for (uint32_t graph = 1; graph < graphs; ++graph) {
    const uint32_t first = index.first_slot_of_graph(graph),
                   end = index.first_slot_of_graph(graph + 1);
    if (first == end || LaunchesIn(process, first, phase) == 0) continue;
    for (uint32_t slot = first; slot < end; ++slot) {
      const uint32_t row = row_of_site[index.site_of_slot(slot)];
      if (row == kNoRow) continue;
      if (nodes[row]++ == 0) touched.push_back(row);
    }
    for (const uint32_t row : touched) {
      MeetRate(sums_[row], nodes[row]);
      nodes[row] = 0;
    }
    touched.clear();
  }
}

std::vector<uint32_t> Rows::Sorted() const {
  std::vector<uint32_t> rows;
  for (uint32_t row = 0; row < sums_.size(); ++row) {
    const RowSums& sums = sums_[row];
    if (sums.launches + sums.warmup_launches + sums.captured_nodes + sums.timed_launches > 0) {
      rows.push_back(row);
    }
  }
  auto rank = [this](uint32_t row) {
    const RowSums& sums = sums_[row];
    return std::tuple<uint64_t, uint64_t, uint64_t>(~sums.exclusive_ns, ~sums.launches,
                                                    ~sums.warmup_launches);
  };
  std::sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) {
    const auto rank_a = rank(a), rank_b = rank(b);
    return rank_a != rank_b ? rank_a < rank_b : keys_[a] < keys_[b];
  });
  return rows;
}

}  // namespace hotproof::analyzers
