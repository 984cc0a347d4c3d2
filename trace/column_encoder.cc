#include "trace/column_encoder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "trace/packed_column.h"
#include "trace/varint.h"
#include "trace/wire_fields.h"

namespace hotproof::trace {
namespace {

using Column = PackedColumn;

// Bounds of what is predicted: ids are dense and graphs have thousands of nodes, so no real
// workload meets them.
constexpr uint32_t kMaxPredictedTarget = 1u << 22;
constexpr uint32_t kMaxPredictedNodes = 1u << 16;

uint64_t Mix(uint64_t value) {
  value *= 0x9E3779B97F4A7C15u;
  return value ^ value >> 32;
}

// The columns of timed records, each in a stretch of its own.
struct TimedColumns {
  Column groups, nodes, gaps, durations, streams;
};

}  // namespace

bool ColumnEncoder::AddLaunch(const LaunchEntry& launch) {
  if (launches_.size() >= kMaxPendingLaunches) return false;
  launches_.push_back(launch);
  return true;
}

void ColumnEncoder::GrowSites(uint32_t site) {
  site_sums_.resize(site + 1);
  site_attributes_.resize(site + 1);
}

void ColumnEncoder::GrowGroupSlots() {
  group_slots_.assign(std::max<size_t>(64, 4 * group_slots_.size()), 0);
  const size_t mask = group_slots_.size() - 1;
  for (uint32_t i = 0; i < groups_.size(); ++i) {
    if (!groups_[i].target.is_graph()) continue;
    size_t slot = Mix(groups_[i].correlation_id ^ Mix(groups_[i].target.wire())) & mask;
    while (group_slots_[slot] != 0) slot = (slot + 1) & mask;
    group_slots_[slot] = i + 1;
  }
}

// The group of a record that is not of the last one's: records of several replays may alternate.
uint32_t ColumnEncoder::NewGroup(const RecordEntry& record) {
  if (record.target.is_graph()) {
    if (2 * replay_groups_ >= group_slots_.size()) GrowGroupSlots();
    const size_t mask = group_slots_.size() - 1;
    size_t slot = Mix(record.correlation_id ^ Mix(record.target.wire())) & mask;
    for (; group_slots_[slot] != 0; slot = (slot + 1) & mask) {
      const uint32_t index = group_slots_[slot] - 1;
      if (groups_[index].correlation_id == record.correlation_id &&
          groups_[index].target == record.target) {
        return last_group_ = index;
      }
    }
    group_slots_[slot] = static_cast<uint32_t>(groups_.size() + 1);
    ++replay_groups_;
  }
  groups_.push_back({record.correlation_id, record.target, record.stream});
  return last_group_ = static_cast<uint32_t>(groups_.size() - 1);
}

void ColumnEncoder::Clear() {
  launches_.clear();
  timed_.clear();
  untimed_.clear();
  sorted_ = true;
  groups_.clear();
  last_group_ = 0;
  if (replay_groups_ != 0) std::fill(group_slots_.begin(), group_slots_.end(), 0);
  replay_groups_ = 0;
  odd_.clear();
  for (const uint32_t site : touched_sites_) site_sums_[site] = {};
  touched_sites_.clear();
  for (const uint32_t target : used_targets_) target_uses_[target] = {};
  used_targets_.clear();
}

void ColumnEncoder::Commit() {
  last_start_on_disk_ns_ = std::max(last_start_on_disk_ns_, statistics_.last_start_ns);
  Clear();
}

void ColumnEncoder::CommitAttributes() { new_site_attributes_.clear(); }

uint8_t* ColumnEncoder::Reserve(size_t bytes) {
  if (scratch_.size() < bytes) scratch_.resize(bytes);
  return scratch_.data();
}

void ColumnEncoder::SortTimed() {
  order_.clear();
  if (sorted_) return;
  for (uint32_t i = 0; i < timed_.size(); ++i) order_.push_back({timed_[i].start_ns, i});
  SortNearlySorted(order_, [](const SortKey& a, const SortKey& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.index < b.index;
  });
}

// How odd records depart from what readers derive. The first attributes of a site, in the order of
// the chunk, become the site's.
void ColumnEncoder::FindExceptions() {
  exceptions_.clear();
  if (odd_.empty()) return;
  if (!sorted_) {
    positions_.resize(timed_.size());
    for (uint32_t i = 0; i < order_.size(); ++i) positions_[order_[i].index] = i;
  }
  for (Odd& odd : odd_) {
    if (!odd.timed) {
      odd.index += static_cast<uint32_t>(timed_.size());
    } else if (!sorted_) {
      odd.index = positions_[odd.index];
    }
  }
  std::sort(odd_.begin(), odd_.end(), [](const Odd& a, const Odd& b) { return a.index < b.index; });
  for (const Odd& odd : odd_) {
    uint32_t attributes = odd.attributes;
    if (odd.site != 0 && attributes != 0 && site_attributes_[odd.site] == 0) {
      site_attributes_[odd.site] = attributes;
      new_site_attributes_.push_back({odd.site, attributes});
    }
    if (attributes == site_attributes_[odd.site]) attributes = 0;
    const uint32_t site = odd.derivable ? 0 : odd.site;
    if (site != 0 || attributes != 0) exceptions_.push_back({odd.index, site, attributes});
  }
  odd_.clear();
}

void ColumnEncoder::CollectSites() {
  std::sort(touched_sites_.begin(), touched_sites_.end());
  statistics_.sites.clear();
  for (const uint32_t site : touched_sites_) statistics_.sites.push_back({site, site_sums_[site]});
}

void ColumnEncoder::Encode(std::string& message) {
  SortTimed();
  ColumnStatistics& s = statistics_;
  s.record_count = pending_records();
  s.untimed_count = untimed_.size();
  s.launch_count = launches_.size();
  s.late_count = s.first_start_ns = s.last_start_ns = s.last_end_ns = 0;
  const auto start_of = [this](size_t i) {
    return sorted_ ? timed_[i].start_ns : order_[i].start_ns;
  };
  if (!timed_.empty()) {
    s.first_start_ns = start_of(0);
    s.last_start_ns = start_of(timed_.size() - 1);
  }
  while (s.late_count < timed_.size() && start_of(s.late_count) < last_start_on_disk_ns_) {
    ++s.late_count;
  }
  EncodeLaunches(message);
  if (s.record_count != 0) EncodeRecords(message);
  CollectSites();
}

void ColumnEncoder::EncodeLaunches(std::string& message) {
  const size_t n = launches_.size();
  uint8_t* at = Reserve(n * (2 * kMaxVarintBytes + 4 * kMaxVarint32Bytes));
  Column correlation_ids(wire::kLaunchCorrelationIds, at);
  Column targets(wire::kLaunchTargets, at += n * kMaxVarintBytes);
  Column streams(wire::kLaunchStreams, at += n * kMaxVarint32Bytes);
  Column enter_gaps(wire::kLaunchEnterGapsNs, at += n * kMaxVarint32Bytes);
  Column call_high(wire::kLaunchCallHigh, at += n * kMaxVarintBytes);
  Column call_low(wire::kLaunchCallLow, at += n * kMaxVarint32Bytes);
  correlation_ids.Counting();
  enter_gaps_ns_.assign(kPredictedLaunchTargets, 0);
  LaunchEntry previous;
  bool first = true;
  for (const LaunchEntry& launch : launches_) {
    correlation_ids.Put(ZigZag64(launch.correlation_id - previous.correlation_id));
    targets.Put(ZigZag32(launch.target.wire() - previous.target.wire()));
    streams.Put(ZigZag32(launch.stream - previous.stream));
    const uint64_t gap_ns = launch.enter_ns - (previous.enter_ns + previous.call_ns);
    uint64_t& predicted_ns = enter_gaps_ns_[launch.target.wire() % kPredictedLaunchTargets];
    enter_gaps.Put(ZigZag64(gap_ns - predicted_ns));
    if (!first) predicted_ns = gap_ns;  // the first one's is a time since the machine's start
    first = false;
    call_high.Put(launch.call_ns >> kCallLowBits);
    call_low.Put(launch.call_ns & ((1u << kCallLowBits) - 1));
    previous = launch;
  }
  AppendColumns(wire::kLaunches,
                {&correlation_ids, &targets, &streams, &enter_gaps, &call_high, &call_low}, message);
}

// A target that was launched twice repeats itself to within the timer's noise.
void ColumnEncoder::ChooseTemplates() {
  for (const Group& group : groups_) {
    const uint32_t target = group.target.wire();
    if (target == 0 || target >= kMaxPredictedTarget || group.nodes == 0) continue;
    if (target >= target_uses_.size()) target_uses_.resize(target + 1);
    TargetUse& use = target_uses_[target];
    if (use.groups++ == 0) used_targets_.push_back(target);
    use.nodes = std::max(use.nodes, std::min(group.nodes, kMaxPredictedNodes));
  }
  std::sort(used_targets_.begin(), used_targets_.end());
  uint32_t nodes = 0;
  for (const uint32_t target : used_targets_) {
    TargetUse& use = target_uses_[target];
    use.predicted = use.groups > 1 && nodes + use.nodes <= kMaxPendingEntries;
    use.template_begin = nodes;
    if (use.predicted) nodes += use.nodes;
  }
  predictions_.assign(nodes, {0, 0});
  for (Group& group : groups_) {
    const uint32_t target = group.target.wire();
    if (target >= target_uses_.size() || !target_uses_[target].predicted) continue;
    group.template_begin = target_uses_[target].template_begin;
    group.template_nodes = target_uses_[target].nodes;
  }
}

// The hot loop. Everything that it writes is in local variables: bytes may alias any member.
template <bool kSorted, typename Columns>
void ColumnEncoder::EncodeTimed(Columns& columns) {
  const Timed* const records = timed_.data();
  const SortKey* const order = order_.data();
  const size_t count = timed_.size();
  Group* const groups = groups_.data();
  Column::Cursor group_at = columns.groups.Begin(), node_at = columns.nodes.Begin(),
                 gap_at = columns.gaps.Begin(), duration_at = columns.durations.Begin(),
                 stream_at = columns.streams.Begin();
  uint64_t previous_end_ns = statistics_.first_start_ns, last_end_ns = 0;
  uint32_t index = 0;
  Group group = groups[0];
  Prediction* predictions = predictions_.data() + group.template_begin;
  for (size_t i = 0; i < count; ++i) {
    const Timed& record = records[kSorted ? i : order[i].index];
    if (record.group != index) {
      groups[index].next_node = group.next_node;
      group_at.PutSmall(ZigZag32(record.group - index));
      index = record.group;
      group = groups[index];
      predictions = predictions_.data() + group.template_begin;
    } else {
      group_at.PutZero();
    }
    node_at.PutSmall(ZigZag32(record.node - group.next_node));
    stream_at.PutSmall(ZigZag32(record.stream - group.stream));
    group.next_node = record.node + 1;
    uint64_t gap_ns = record.start_ns - previous_end_ns;
    uint64_t duration_ns = record.end_ns - record.start_ns;
    if (record.node < group.template_nodes) {
      const Prediction expected = std::exchange(predictions[record.node], {gap_ns, duration_ns});
      gap_ns -= expected.gap_ns;
      duration_ns -= expected.duration_ns;
    }
    gap_at.PutShort(ZigZag64(gap_ns));
    duration_at.PutShort(ZigZag64(duration_ns));
    previous_end_ns = record.end_ns;
    last_end_ns = std::max(last_end_ns, record.end_ns);
  }
  columns.groups.End(group_at);
  columns.nodes.End(node_at);
  columns.gaps.End(gap_at);
  columns.durations.End(duration_at);
  columns.streams.End(stream_at);
  statistics_.last_end_ns = last_end_ns;
}

void ColumnEncoder::EncodeRecords(std::string& message) {
  const size_t n = pending_records();
  FindExceptions();
  ChooseTemplates();

  // Room for the worst case: every record its own group and an exception.
  constexpr size_t kBytesPerRecord = 4 * kMaxVarintBytes + 10 * kMaxVarint32Bytes;
  uint8_t* at = Reserve(n * kBytesPerRecord + PackedColumn::kSlackBytes);
  const auto column = [&](uint32_t field, int max_bytes) {
    Column result(field, at);
    at += n * max_bytes;
    return result;
  };
  Column group_correlation_ids = column(wire::kGroupCorrelationIds, kMaxVarintBytes);
  Column group_targets = column(wire::kGroupTargets, kMaxVarint32Bytes);
  Column group_streams = column(wire::kGroupStreams, kMaxVarint32Bytes);
  TimedColumns timed{column(wire::kGroups, kMaxVarint32Bytes),
                     column(wire::kNodes, kMaxVarint32Bytes),
                     column(wire::kGapsNs, kMaxVarintBytes),
                     column(wire::kDurationsNs, kMaxVarintBytes),
                     column(wire::kStreamDeltas, kMaxVarint32Bytes)};
  Column exception_records = column(wire::kExceptionRecords, kMaxVarintBytes);
  Column exception_sites = column(wire::kExceptionSites, kMaxVarint32Bytes);
  Column exception_attributes = column(wire::kExceptionAttributes, kMaxVarint32Bytes);
  Column template_targets = column(wire::kTemplateTargets, kMaxVarint32Bytes);
  Column template_nodes = column(wire::kTemplateNodes, kMaxVarint32Bytes);

  for (Column* counting :
       {&group_correlation_ids, &timed.durations, &exception_records, &template_targets}) {
    counting->Counting();
  }
  if (!timed_.empty()) sorted_ ? EncodeTimed<true>(timed) : EncodeTimed<false>(timed);
  // A record is timed or untimed: these go on in the room of `groups` and `nodes`.
  Column untimed_groups = Column(wire::kUntimedGroups, timed.groups.end()).Counting();
  Column untimed_nodes(wire::kUntimedNodes, timed.nodes.end());
  uint32_t previous_group = 0;
  for (const Untimed& record : untimed_) {
    untimed_groups.Put(ZigZag32(record.group - std::exchange(previous_group, record.group)));
    untimed_nodes.Put(record.node);
  }
  uint64_t previous_id = 0;
  uint32_t previous_target = 0, previous_stream = 0;
  for (const Group& group : groups_) {
    const uint32_t target = group.target.wire();
    group_correlation_ids.Put(
        ZigZag64(group.correlation_id - std::exchange(previous_id, group.correlation_id)));
    group_targets.Put(ZigZag32(target - std::exchange(previous_target, target)));
    group_streams.Put(ZigZag32(group.stream - std::exchange(previous_stream, group.stream)));
  }
  previous_target = 0;
  for (const uint32_t target : used_targets_) {
    if (!target_uses_[target].predicted) continue;
    template_targets.Put(ZigZag32(target - std::exchange(previous_target, target)));
    template_nodes.Put(target_uses_[target].nodes);
  }
  uint64_t previous_record = 0;
  for (const Exception& exception : exceptions_) {
    exception_records.Put(exception.record - std::exchange(previous_record, exception.record));
    exception_sites.Put(exception.site);
    exception_attributes.Put(exception.attributes);
  }
  AppendColumns(wire::kRecords,
                {&group_correlation_ids, &group_targets, &group_streams, &timed.groups, &timed.nodes,
                 &timed.gaps, &timed.durations, &timed.streams, &exception_records,
                 &exception_sites, &exception_attributes, &untimed_groups, &untimed_nodes,
                 &template_targets, &template_nodes},
                message);
}

}  // namespace hotproof::trace
