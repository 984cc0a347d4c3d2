#include "trace/operation_encoder.h"

#include <algorithm>

#include "trace/limits.h"
#include "trace/packed_column.h"
#include "trace/varint.h"
#include "trace/wire_fields.h"

namespace hotproof::trace {
namespace {

bool IsTimed(const OperationEntry& entry) {
  return entry.start_ns != 0 && entry.end_ns >= entry.start_ns;
}

}  // namespace

void OperationEncoder::NoteClass(uint32_t id, uint32_t kind) {
  if (id == 0 || id >= kMaxOperationClasses) return;
  if (id >= classes_.size()) classes_.resize(id + 1);
  classes_[id].has_bytes = kind == kMemcpyOperation || kind == kMemsetOperation;
}

bool OperationEncoder::Add(const OperationEntry& entry) {
  if (operations_.size() >= kMaxPendingOperations) return false;
  if (entry.operation_class == 0 || entry.operation_class >= classes_.size()) return false;
  operations_.push_back(entry);
  return true;
}

void OperationEncoder::Clear() {
  operations_.clear();
  for (Class& of : classes_) of.sum = {}, of.previous = {};  // after an Encode that failed
}

void OperationEncoder::Commit() {
  last_start_on_disk_ns_ = std::max(last_start_on_disk_ns_, totals_.last_start_ns);
  Clear();
}

void OperationEncoder::Sort() {
  timed_.clear();
  order_.clear();
  for (uint32_t i = 0; i < operations_.size(); ++i) {
    if (IsTimed(operations_[i])) timed_.push_back({operations_[i].start_ns, i});
  }
  SortNearlySorted(timed_, [](const SortKey& a, const SortKey& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.index < b.index;
  });
  for (const SortKey& key : timed_) order_.push_back(key.index);
  for (uint32_t i = 0; i < operations_.size(); ++i) {
    if (!IsTimed(operations_[i])) order_.push_back(i);
  }
  totals_.count = operations_.size();
  totals_.untimed_count = operations_.size() - timed_.size();
  totals_.first_start_ns = timed_.empty() ? 0 : timed_.front().start_ns;
  totals_.last_start_ns = timed_.empty() ? 0 : timed_.back().start_ns;
  totals_.last_end_ns = 0;
  totals_.late_count = 0;
  while (totals_.late_count < timed_.size() &&
         timed_[totals_.late_count].start_ns < last_start_on_disk_ns_) {
    ++totals_.late_count;
  }
}

void OperationEncoder::CollectSums() {
  totals_.classes.clear();
  for (uint32_t id = 0; id < classes_.size(); ++id) {
    Class& of = classes_[id];
    if (of.sum.count != 0) totals_.classes.push_back({id, of.sum});
    of.sum = {};
    of.previous = {};
  }
}

void OperationEncoder::Encode(std::string& message) {
  Sort();
  if (operations_.empty()) return CollectSums();
  const size_t n = operations_.size();
  constexpr size_t kBytesPerOperation = 6 * kMaxVarintBytes + 2 * kMaxVarint32Bytes;
  if (scratch_.size() < n * kBytesPerOperation) scratch_.resize(n * kBytesPerOperation);
  uint8_t* at = scratch_.data();
  const auto column = [&](uint32_t field, int max_bytes) {
    PackedColumn result(field, at);
    at += n * max_bytes;
    return result;
  };
  PackedColumn classes = column(wire::kOperationClassIds, kMaxVarint32Bytes);
  PackedColumn correlation_ids = column(wire::kOperationCorrelationIds, kMaxVarintBytes);
  PackedColumn gaps = column(wire::kOperationStartGapsNs, kMaxVarintBytes);
  PackedColumn durations = column(wire::kOperationDurationsNs, kMaxVarintBytes);
  PackedColumn streams = column(wire::kOperationStreams, kMaxVarint32Bytes);
  PackedColumn node_ids = column(wire::kOperationNodeIds, kMaxVarintBytes);
  PackedColumn amounts = column(wire::kOperationAmounts, kMaxVarintBytes);
  PackedColumn details = column(wire::kOperationDetails, kMaxVarintBytes);
  classes.Counting();

  uint32_t previous_class = 0;
  uint64_t previous_id = 0, previous_start_ns = totals_.first_start_ns;
  for (size_t i = 0; i < n; ++i) {
    const OperationEntry& entry = operations_[order_[i]];
    Class& of = classes_[entry.operation_class];
    Previous& previous = of.previous;
    classes.Put(ZigZag32(entry.operation_class - std::exchange(previous_class, entry.operation_class)));
    correlation_ids.Put(
        ZigZag64(entry.correlation_id - std::exchange(previous_id, entry.correlation_id)));
    if (i < timed_.size()) {
      const uint64_t duration_ns = entry.end_ns - entry.start_ns;
      gaps.Put(entry.start_ns - std::exchange(previous_start_ns, entry.start_ns));
      durations.Put(ZigZag64(duration_ns - std::exchange(previous.duration_ns, duration_ns)));
      of.sum.duration_ns += duration_ns;
      totals_.last_end_ns = std::max(totals_.last_end_ns, entry.end_ns);
    }
    streams.Put(ZigZag32(entry.stream - std::exchange(previous.stream, entry.stream)));
    node_ids.Put(ZigZag64(entry.node_id - std::exchange(previous.node_id, entry.node_id)));
    amounts.Put(ZigZag64(entry.amount - std::exchange(previous.amount, entry.amount)));
    details.Put(ZigZag64(entry.detail - std::exchange(previous.detail, entry.detail)));
    ++of.sum.count;
    if (of.has_bytes) of.sum.bytes += entry.amount;
  }
  CollectSums();
  AppendColumns(wire::kOperations,
                {&classes, &correlation_ids, &gaps, &durations, &streams, &node_ids, &amounts,
                 &details},
                message);
}

}  // namespace hotproof::trace
