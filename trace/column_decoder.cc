#include "trace/column_decoder.h"

#include <algorithm>

#include "protozero/pbf_reader.hpp"
#include "trace/column_set.h"
#include "trace/limits.h"
#include "trace/record_decoder.h"
#include "trace/refill.h"
#include "trace/wire_fields.h"

namespace hotproof::trace {
namespace {

using Column = VarintColumn;
using LaunchColumns = ColumnSet<wire::kLaunchCallLow>;
using AllRecordColumns = ColumnSet<wire::kTemplateNodes>;

// A launch's target, unknown if the tables do not have it.
class Targets {
 public:
  explicit Targets(const Tables& tables)
      : known_{static_cast<uint32_t>(tables.sites.size()),
               static_cast<uint32_t>(tables.graphs.size())} {}
  Target Resolve(uint32_t wire) const {
    const Target target = Target::FromWire(wire);
    return target.id() != 0 && target.id() < known_[wire & 1] ? target : Target();
  }

 private:
  uint32_t known_[2];  // sites, graphs
};

// Which targets of a chunk are predicted, and where their predictions are.
class Templates {
 public:
  absl::Status Decode(AllRecordColumns& set) {
    Column& targets = set[wire::kTemplateTargets];
    Column& nodes = set[wire::kTemplateNodes];
    const size_t count = targets.Count();
    if (!targets.Checked(count) || !nodes.Checked(count)) return Contradiction("templates");
    stretches_.resize(count);
    uint32_t end = 1;
    uint32_t target = 0;
    for (size_t i = 0; i < count; ++i) {
      const uint32_t next = target + targets.Delta32();
      const uint64_t more = nodes.Small();
      if ((i != 0 && next <= target) || more > kMaxPendingEntries + 1 - end) {
        return Contradiction("templates");
      }
      stretches_[i] = {target = next, more != 0 ? end : 0, static_cast<uint32_t>(more)};
      end += static_cast<uint32_t>(more);
    }
    predictions_.gap_ns.assign(end, 0);
    predictions_.duration_ns.assign(end, 0);
    const size_t reach = std::min<size_t>(count == 0 ? 0 : size_t{target} + 1, kMostIndexed);
    by_target_.assign(reach, {});
    for (const Stretch& stretch : stretches_) {
      if (stretch.target < reach) by_target_[stretch.target] = stretch;
    }
    return absl::OkStatus();
  }
  void Attach(uint32_t target, GroupState& group) const {
    const Stretch stretch = StretchOf(target);
    group.predictions = stretch.begin;
    group.predicted_nodes = stretch.nodes;
  }
  Predictions& predictions() { return predictions_; }

 private:
  static constexpr size_t kMostIndexed = size_t{1} << 16;  // targets below; others are searched for
  struct Stretch {
    uint32_t target = 0, begin = 0, nodes = 0;
  };
  Stretch StretchOf(uint32_t target) const {
    if (target < by_target_.size()) return by_target_[target];
    if (by_target_.size() < kMostIndexed) return {};
    const auto found = std::lower_bound(
        stretches_.begin(), stretches_.end(), target,
        [](const Stretch& stretch, uint32_t sought) { return stretch.target < sought; });
    return found == stretches_.end() || found->target != target ? Stretch{} : *found;
  }

  std::vector<Stretch> stretches_;  // ascending by target
  std::vector<Stretch> by_target_;
  Predictions predictions_;
};

// f(index, correlation id, target) for the entries of two columns: small differences in no order that
// a processor could learn.
template <typename F>
void ForEachLaunch(const Column& ids, const Column& targets, size_t count, ZigZagBlock& block,
                   F&& f) {
  ZigZagCursor cursors[2] = {CursorOf(ids), CursorOf(targets)};
  uint64_t id = 0;
  uint32_t target = 0;
  for (size_t begin = 0; begin < count; begin += kBlockEntries) {
    const size_t part = std::min(count - begin, kBlockEntries);
    DecodeBlock(cursors, part, block);
    const auto pass = [&](const auto& entries) {
      for (size_t i = 0; i < part; ++i) {
        id += static_cast<uint64_t>(int64_t{entries[0][i]});
        target += static_cast<uint32_t>(entries[1][i]);
        f(begin + i, id, target);
      }
    };
    if (block.wide) {
      pass(block.entries);
    } else {
      pass(block.narrow);
    }
  }
}

absl::Status DecodeLaunches(LaunchColumns& set, const Tables& tables, ZigZagBlock& block,
                            ChunkRuns& out) {
  Column& ids = set[wire::kLaunchCorrelationIds];
  Column& targets = set[wire::kLaunchTargets];
  Column& streams = set[wire::kLaunchStreams];
  const size_t count = ids.Count();
  if (!ids.Checked(count) || !targets.Checked(count) || !streams.Checked(count)) {
    return Contradiction("launches");
  }
  ResizeToRefill(out.launch_correlation_id, count);
  ResizeToRefill(out.launch_target, count);
  ResizeToRefill(out.launch_stream, count);
  const Targets known(tables);
  const auto known_streams = static_cast<uint32_t>(tables.streams.size());
  uint64_t* const ids_out = out.launch_correlation_id.data();
  Target* const targets_out = out.launch_target.data();
  uint32_t* const streams_out = out.launch_stream.data();
  uint32_t stream = 0;
  ForEachLaunch(ids, targets, count, block, [&](size_t i, uint64_t id, uint32_t target) {
    ids_out[i] = id;
    targets_out[i] = known.Resolve(target);
    stream += streams.Delta32();
    streams_out[i] = stream < known_streams ? stream : 0;
  });
  return absl::OkStatus();
}

absl::Status DecodeGroups(AllRecordColumns& set, const Tables& tables, const Templates& templates,
                          ZigZagBlock& block, std::vector<GroupState>& states, ChunkRuns& out) {
  Column& ids = set[wire::kGroupCorrelationIds];
  Column& targets = set[wire::kGroupTargets];
  Column& streams = set[wire::kGroupStreams];
  const size_t count = ids.Count();
  if (!ids.Checked(count) || !targets.Checked(count) || !streams.Checked(count)) {
    return Contradiction("groups");
  }
  ResizeToRefill(states, count);
  ResizeToRefill(out.groups, count);
  const Targets known(tables);
  const auto known_streams = static_cast<uint32_t>(tables.streams.size());
  GroupState* const states_out = states.data();
  RecordGroup* const groups_out = out.groups.data();
  uint32_t stream = 0;
  ForEachLaunch(ids, targets, count, block, [&](size_t i, uint64_t id, uint32_t target) {
    GroupState state{.target = known.Resolve(target), .stream = stream += streams.Delta32()};
    templates.Attach(target, state);
    states_out[i] = state;
    groups_out[i] = {id, state.target, stream < known_streams ? stream : 0};
  });
  return absl::OkStatus();
}

// In the order of the records; what is said twice of a record counts as said last.
absl::Status DecodeExceptions(AllRecordColumns& set, const Tables& tables, size_t record_count,
                              std::vector<Exception>& exceptions) {
  Column& records = set[wire::kExceptionRecords];
  Column& sites = set[wire::kExceptionSites];
  Column& attributes = set[wire::kExceptionAttributes];
  const size_t count = records.Count();
  if (!records.Checked(count) || !sites.Checked(count) || !attributes.Checked(count)) {
    return Contradiction("exceptions");
  }
  exceptions.clear();
  uint64_t record = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t step = records.Small(), site = sites.Small(), attribute = attributes.Small();
    if (step >= record_count - record) return Contradiction("an exception refers to no record");
    record += step;
    if (exceptions.empty() || exceptions.back().record != record) {
      exceptions.push_back({.record = static_cast<uint32_t>(record)});
    }
    Exception& exception = exceptions.back();
    if (site != 0) {
      exception.has_site = true;
      exception.site = site < tables.sites.size() ? static_cast<uint32_t>(site) : 0;
      exception.has_attributes = false;
    }
    if (attribute != 0) {
      exception.has_attributes = true;
      exception.attributes =
          attribute < tables.attributes.size() ? static_cast<uint32_t>(attribute) : 0;
    }
  }
  return absl::OkStatus();
}

absl::Status DecodeUntimed(AllRecordColumns& set, const Tables& tables,
                           const std::vector<GroupState>& groups, size_t timed,
                           const std::vector<Exception>& exceptions, ChunkRuns& out) {
  Column& group_deltas = set[wire::kUntimedGroups];
  Column& nodes = set[wire::kUntimedNodes];
  const size_t count = group_deltas.Count();
  out.untimed_group.resize(count);
  out.untimed_target.resize(count);
  out.untimed_node.resize(count);
  out.untimed_site.resize(count);
  uint32_t index = 0;
  for (size_t i = 0; i < count; ++i) {
    index += group_deltas.Delta32();
    if (index >= groups.size()) return Contradiction("an untimed record refers to no group");
    Target target = groups[index].target;
    auto node = static_cast<uint32_t>(nodes.Small());
    uint32_t site = target.id();
    if (target.is_graph()) {
      const std::vector<uint32_t>& sites = tables.graphs[target.id()].node_sites;
      const bool known = node < sites.size();
      site = known ? sites[node] : 0;
      if (!known) target = Target();
    }
    if (!target.is_graph()) node = 0;
    out.untimed_group[i] = index;
    out.untimed_target[i] = target;
    out.untimed_node[i] = node;
    out.untimed_site[i] = site;
  }
  for (const Exception& exception : exceptions) {
    if (exception.has_site && exception.record >= timed) {
      out.untimed_site[exception.record - timed] = exception.site;
    }
  }
  return absl::OkStatus();
}

// What is kept from chunk to chunk; one per thread.
struct Buffers {
  std::vector<GroupState> groups;
  Templates templates;
  std::vector<Exception> exceptions;
  RecordDecoder records;
  ZigZagBlock block;
};

absl::Status DecodeRecords(AllRecordColumns& set, const ChunkStatistics& statistics, const Tables& tables,
                           Buffers& buffers, ChunkRuns& out) {
  const RecordColumns columns{set[wire::kGroups], set[wire::kNodes], set[wire::kGapsNs],
                              set[wire::kDurationsNs], set[wire::kStreamDeltas]};
  const size_t timed = columns.durations.Count();
  if (!columns.durations.Ends() || timed > kMaxPendingEntries) return Contradiction("records");
  for (const Column* column : {&columns.groups, &columns.nodes, &columns.gaps, &columns.streams}) {
    if (!column->Checked(timed)) return Contradiction("records");
  }
  const Column &untimed_groups = set[wire::kUntimedGroups],
               &untimed_nodes = set[wire::kUntimedNodes];
  const size_t untimed = untimed_groups.Count();
  if (!untimed_groups.Checked(untimed) || !untimed_nodes.Checked(untimed)) {
    return Contradiction("untimed records");
  }
  absl::Status status = buffers.templates.Decode(set);
  if (status.ok()) {
    status = DecodeGroups(set, tables, buffers.templates, buffers.block, buffers.groups, out);
  }
  if (status.ok()) status = DecodeExceptions(set, tables, timed + untimed, buffers.exceptions);
  if (status.ok()) {
    status = buffers.records.Decode(columns, timed, statistics.first_start_ns(), tables,
                                    buffers.exceptions, buffers.groups,
                                    buffers.templates.predictions(), out);
  }
  if (status.ok()) {
    status = DecodeUntimed(set, tables, buffers.groups, timed, buffers.exceptions, out);
  }
  if (!status.ok()) return status;
  out.odd_attributes.clear();
  for (const Exception& exception : buffers.exceptions) {
    if (exception.has_attributes) {
      out.odd_attributes.push_back({exception.record, exception.attributes});
    }
  }
  return absl::OkStatus();
}

absl::Status Decode(std::string_view message, const ChunkStatistics& statistics,
                    const Tables& tables, ChunkRuns& out) {
  LaunchColumns launches;
  AllRecordColumns records;
  uint64_t sequence = 0;
  protozero::pbf_reader reader(message.data(), message.size());
  while (reader.next()) {
    switch (reader.tag()) {
      case wire::kSequence:
        sequence = reader.get_uint64();
        break;
      case wire::kLaunches:
        launches = ReadColumnSet<wire::kLaunchCallLow>(reader.get_view());
        break;
      case wire::kRecords:
        records = ReadColumnSet<wire::kTemplateNodes>(reader.get_view());
        break;
      default:
        reader.skip();
    }
  }
  if (!message.empty() && sequence != out.sequence) {
    return Contradiction("sequence of head and columns");
  }
  static thread_local Buffers buffers;
  absl::Status status = DecodeLaunches(launches, tables, buffers.block, out);
  if (status.ok()) status = DecodeRecords(records, statistics, tables, buffers, out);
  if (!status.ok()) return status;
  const uint64_t count = out.start_ns.size() + out.untimed_node.size();
  if (count != statistics.record_count() || out.untimed_node.size() != statistics.untimed_count() ||
      out.launch_correlation_id.size() != statistics.launch_count() ||
      statistics.late_count() > out.start_ns.size()) {
    return Contradiction("statistics and columns differ in number");
  }
  out.late_count = statistics.late_count();
  return absl::OkStatus();
}

}  // namespace

absl::Status DecodeColumns(std::string_view message, const ChunkStatistics& statistics,
                           const Tables& tables, ChunkRuns& runs) {
  try {
    return Decode(message, statistics, tables, runs);
  } catch (const protozero::exception&) {
    return absl::DataLossError("columns are no valid message");
  }
}

UnknownColumns FindUnknownColumns(std::string_view message) {
  UnknownColumns unknown;
  const auto scan = [](protozero::data_view view, uint32_t last, std::vector<uint32_t>& to) {
    protozero::pbf_reader reader(view);
    while (reader.next()) {
      if (reader.tag() > last) to.push_back(reader.tag());
      reader.skip();
    }
  };
  try {
    protozero::pbf_reader reader(message.data(), message.size());
    while (reader.next()) {
      if (reader.tag() == wire::kLaunches) {
        scan(reader.get_view(), wire::kLaunchCallLow, unknown.launches);
      } else if (reader.tag() == wire::kRecords) {
        scan(reader.get_view(), wire::kTemplateNodes, unknown.records);
      } else if (reader.tag() == wire::kOperations) {
        scan(reader.get_view(), wire::kOperationDetails, unknown.operations);
      } else {
        if (reader.tag() > wire::kContinuation) unknown.chunk.push_back(reader.tag());
        reader.skip();
      }
    }
  } catch (const protozero::exception&) {
  }
  return unknown;
}

}  // namespace hotproof::trace
