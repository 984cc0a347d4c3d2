#include "trace/column_encoder.h"

#include <algorithm>
#include <utility>

#include "trace/limits.h"
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

bool IsTimed(const RecordEntry& record) {
  return record.start_ns != 0 && record.end_ns >= record.start_ns;
}

uint64_t Mix(uint64_t value) {
  value *= 0x9E3779B97F4A7C15u;
  return value ^ value >> 32;
}

}  // namespace

bool ColumnEncoder::AddLaunch(const LaunchEntry& launch) {
  if (launches_.size() >= kMaxPendingLaunches) return false;
  launches_.push_back(launch);
  return true;
}

bool ColumnEncoder::AddRecord(const RecordEntry& record) {
  if (records_.size() >= kMaxPendingEntries) return false;
  records_.push_back(record);
  return true;
}

void ColumnEncoder::Clear() {
  launches_.clear();
  records_.clear();
  for (const uint32_t site : touched_sites_) site_sums_[site] = {};  // after an Encode that failed
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

uint32_t ColumnEncoder::SiteOf(const RecordEntry& record) const {
  return record.site != 0 ? record.site : record.default_site;
}

void ColumnEncoder::SplitAndSort() {
  timed_.clear();
  untimed_.clear();
  for (uint32_t i = 0; i < records_.size(); ++i) {
    if (IsTimed(records_[i])) {
      timed_.push_back({records_[i].start_ns, i});
    } else {
      untimed_.push_back(i);
    }
  }
  SortNearlySorted(timed_, [](const SortKey& a, const SortKey& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.index < b.index;
  });
}

// A group is one launch: its correlation id and what it asked for.
uint32_t ColumnEncoder::GroupOf(const RecordEntry& record) {
  const auto matches = [&](uint32_t index) {
    return groups_[index].correlation_id == record.correlation_id &&
           groups_[index].target == record.target;
  };
  if (!groups_.empty() && matches(last_group_)) return last_group_;
  const size_t mask = group_slots_.size() - 1;
  size_t slot = Mix(record.correlation_id ^ Mix(record.target.wire())) & mask;
  while (group_slots_[slot] != 0) {
    if (matches(group_slots_[slot] - 1)) return last_group_ = group_slots_[slot] - 1;
    slot = (slot + 1) & mask;
  }
  groups_.push_back({record.correlation_id, record.target, record.stream, 0, 0, 0});
  group_slots_[slot] = static_cast<uint32_t>(groups_.size());
  return last_group_ = static_cast<uint32_t>(groups_.size() - 1);
}

// Sums the record into its site's statistics and notes how it departs from what readers derive.
void ColumnEncoder::NoteRecord(const RecordEntry& record, uint64_t position, bool timed) {
  const uint32_t site = SiteOf(record);
  if (site >= site_sums_.size()) {
    site_sums_.resize(site + 1);
    site_attributes_.resize(site + 1);
  }
  SiteSum& sum = site_sums_[site];
  if (sum.records++ == 0) touched_sites_.push_back(site);
  if (timed) sum.duration_ns += record.end_ns - record.start_ns;

  const bool derivable = record.target.is_known() && site == record.default_site;
  uint32_t attributes = 0;
  if (record.attributes != 0 && record.attributes != site_attributes_[site]) {
    if (site != 0 && site_attributes_[site] == 0) {
      site_attributes_[site] = record.attributes;
      new_site_attributes_.push_back({site, record.attributes});
    } else {
      attributes = record.attributes;
    }
  }
  if ((!derivable && site != 0) || attributes != 0) {
    exceptions_.push_back({position, derivable ? 0 : site, attributes});
  }
}

void ColumnEncoder::CollectSites() {
  std::sort(touched_sites_.begin(), touched_sites_.end());
  statistics_.sites.clear();
  for (const uint32_t site : touched_sites_) {
    statistics_.sites.push_back({site, site_sums_[site]});
    site_sums_[site] = {};
  }
  touched_sites_.clear();
}

void ColumnEncoder::Encode(std::string& message) {
  SplitAndSort();
  ColumnStatistics& s = statistics_;
  s.record_count = records_.size();
  s.untimed_count = untimed_.size();
  s.launch_count = launches_.size();
  s.late_count = 0;
  s.first_start_ns = timed_.empty() ? 0 : timed_.front().start_ns;
  s.last_start_ns = timed_.empty() ? 0 : timed_.back().start_ns;
  s.last_end_ns = 0;
  while (s.late_count < timed_.size() && timed_[s.late_count].start_ns < last_start_on_disk_ns_) {
    ++s.late_count;
  }
  EncodeLaunches(message);
  if (!records_.empty()) EncodeRecords(message);
  CollectSites();
}

void ColumnEncoder::EncodeLaunches(std::string& message) {
  const size_t n = launches_.size();
  uint8_t* at = Reserve(n * (kMaxVarintBytes + 2 * kMaxVarint32Bytes));
  Column correlation_ids(wire::kLaunchCorrelationIds, at);
  Column targets(wire::kLaunchTargets, at += n * kMaxVarintBytes);
  Column streams(wire::kLaunchStreams, at += n * kMaxVarint32Bytes);
  correlation_ids.Counting();
  LaunchEntry previous;
  for (const LaunchEntry& launch : launches_) {
    correlation_ids.Put(ZigZag64(launch.correlation_id - previous.correlation_id));
    targets.Put(ZigZag32(launch.target.wire() - previous.target.wire()));
    streams.Put(ZigZag32(launch.stream - previous.stream));
    previous = launch;
  }
  AppendColumns(wire::kLaunches, {&correlation_ids, &targets, &streams}, message);
}

void ColumnEncoder::FormGroups() {
  groups_.clear();
  last_group_ = 0;
  size_t slots = 16;
  while (slots < 2 * records_.size()) slots *= 2;
  group_slots_.assign(slots, 0);
  record_groups_.clear();
  for (const SortKey& key : timed_) {
    const RecordEntry& record = records_[key.index];
    const size_t known = groups_.size();
    record_groups_.push_back(GroupOf(record));
    const uint32_t target = record.target.wire();
    if (target == 0 || target >= kMaxPredictedTarget) continue;
    if (target >= target_uses_.size()) target_uses_.resize(target + 1);
    TargetUse& use = target_uses_[target];
    if (use.nodes == 0) used_targets_.push_back(target);
    use.groups += static_cast<uint32_t>(groups_.size() - known);
    use.nodes = std::max(use.nodes, record.node < kMaxPredictedNodes ? record.node + 1 : 1);
  }
  for (const uint32_t i : untimed_) record_groups_.push_back(GroupOf(records_[i]));
}

// A target that was launched twice repeats itself to within the timer's noise.
void ColumnEncoder::ChooseTemplates() {
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

inline ColumnEncoder::Prediction ColumnEncoder::Predict(const Group& group,
                                                        const RecordEntry& record,
                                                        Prediction actual) {
  if (record.node >= group.template_nodes) return {0, 0};
  return std::exchange(predictions_[group.template_begin + record.node], actual);
}

void ColumnEncoder::EncodeRecords(std::string& message) {
  const size_t n = records_.size();
  exceptions_.clear();
  FormGroups();
  ChooseTemplates();

  // Room for the worst case: every record its own group and an exception.
  constexpr size_t kBytesPerRecord = 4 * kMaxVarintBytes + 10 * kMaxVarint32Bytes;
  uint8_t* at = Reserve(n * kBytesPerRecord);
  const auto column = [&](uint32_t field, int max_bytes) {
    Column result(field, at);
    at += n * max_bytes;
    return result;
  };
  Column group_correlation_ids = column(wire::kGroupCorrelationIds, kMaxVarintBytes);
  Column group_targets = column(wire::kGroupTargets, kMaxVarint32Bytes);
  Column group_streams = column(wire::kGroupStreams, kMaxVarint32Bytes);
  Column groups = column(wire::kGroups, kMaxVarint32Bytes);
  Column nodes = column(wire::kNodes, kMaxVarint32Bytes);
  Column gaps = column(wire::kGapsNs, kMaxVarintBytes);
  Column durations = column(wire::kDurationsNs, kMaxVarintBytes);
  Column streams = column(wire::kStreamDeltas, kMaxVarint32Bytes);
  Column exception_records = column(wire::kExceptionRecords, kMaxVarintBytes);
  Column exception_sites = column(wire::kExceptionSites, kMaxVarint32Bytes);
  Column exception_attributes = column(wire::kExceptionAttributes, kMaxVarint32Bytes);
  Column template_targets = column(wire::kTemplateTargets, kMaxVarint32Bytes);
  Column template_nodes = column(wire::kTemplateNodes, kMaxVarint32Bytes);

  for (Column* counting :
       {&group_correlation_ids, &durations, &exception_records, &template_targets}) {
    counting->Counting();
  }

  uint32_t previous_group = 0;
  uint64_t previous_end_ns = statistics_.first_start_ns;
  uint64_t position = 0;
  for (const SortKey& key : timed_) {
    const RecordEntry& record = records_[key.index];
    const uint32_t index = record_groups_[position];
    Group& group = groups_[index];
    const Prediction actual{record.start_ns - previous_end_ns, record.end_ns - record.start_ns};
    const Prediction expected = Predict(group, record, actual);
    groups.Put(ZigZag32(index - previous_group));
    nodes.Put(ZigZag32(record.node - group.next_node));
    gaps.Put(ZigZag64(actual.gap_ns - expected.gap_ns));
    durations.Put(ZigZag64(actual.duration_ns - expected.duration_ns));
    streams.Put(ZigZag32(record.stream - group.stream));
    previous_group = index;
    group.next_node = record.node + 1;
    previous_end_ns = record.end_ns;
    statistics_.last_end_ns = std::max(statistics_.last_end_ns, record.end_ns);
    NoteRecord(record, position++, /*timed=*/true);
  }
  // A record is timed or untimed: these go on in the room of `groups` and `nodes`.
  Column untimed_groups = Column(wire::kUntimedGroups, groups.end()).Counting();
  Column untimed_nodes(wire::kUntimedNodes, nodes.end());
  previous_group = 0;
  for (const uint32_t i : untimed_) {
    const RecordEntry& record = records_[i];
    const uint32_t index = record_groups_[position];
    untimed_groups.Put(ZigZag32(index - previous_group));
    untimed_nodes.Put(record.node);
    previous_group = index;
    NoteRecord(record, position++, /*timed=*/false);
  }
  Group previous{};
  for (const Group& group : groups_) {
    group_correlation_ids.Put(ZigZag64(group.correlation_id - previous.correlation_id));
    group_targets.Put(ZigZag32(group.target.wire() - previous.target.wire()));
    group_streams.Put(ZigZag32(group.stream - previous.stream));
    previous = group;
  }
  uint32_t previous_target = 0;
  for (const uint32_t target : used_targets_) {
    TargetUse& use = target_uses_[target];
    if (use.predicted) {
      template_targets.Put(ZigZag32(target - std::exchange(previous_target, target)));
      template_nodes.Put(use.nodes);
    }
    use = {};
  }
  used_targets_.clear();
  uint64_t previous_record = 0;
  for (const Exception& exception : exceptions_) {
    exception_records.Put(exception.record - previous_record);
    exception_sites.Put(exception.site);
    exception_attributes.Put(exception.attributes);
    previous_record = exception.record;
  }
  AppendColumns(wire::kRecords,
                {&group_correlation_ids, &group_targets, &group_streams, &groups, &nodes, &gaps,
                 &durations, &streams, &exception_records, &exception_sites, &exception_attributes,
                 &untimed_groups, &untimed_nodes, &template_targets, &template_nodes},
                message);
}

}  // namespace hotproof::trace
