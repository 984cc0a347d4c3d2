#include "trace/column_decoder.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "protozero/pbf_reader.hpp"
#include "trace/limits.h"
#include "trace/varint_column.h"
#include "trace/wire_fields.h"

namespace hotproof::trace {
namespace {

constexpr uint32_t kMaxColumnField = 16;
static_assert(wire::kTemplateNodes < kMaxColumnField);

using Column = VarintColumn;

struct ColumnSet {
  Column fields[kMaxColumnField];
  Column& operator[](uint32_t field) { return fields[field]; }
};

// The packed fields of a submessage by number; a field that comes twice counts once, the last time.
ColumnSet ReadColumns(protozero::data_view view) {
  ColumnSet set;
  protozero::pbf_reader reader(view);
  while (reader.next()) {
    const uint32_t field = reader.tag();  // protozero forgets it with the value where it has assertions
    if (field < kMaxColumnField &&
        reader.wire_type() == protozero::pbf_wire_type::length_delimited) {
      const protozero::data_view data = reader.get_view();
      set[field] = Column({data.data(), data.size()});
    } else {
      reader.skip();
    }
  }
  return set;
}

absl::Status Contradiction(const char* what) {
  return absl::DataLossError(absl::StrCat("columns contradict each other: ", what));
}

// What the tables say of a launch's target.
struct TargetSites {
  Target target;
  const uint32_t* node_sites = nullptr;  // of a graph
  uint32_t nodes = 0;
  uint32_t eager_site = 0;
};

TargetSites Resolve(uint32_t wire, const Tables& tables) {
  const Target target = Target::FromWire(wire);
  if (target.is_graph()) {
    if (target.id() == 0 || target.id() >= tables.graphs.size()) return {};
    const GraphTable& graph = tables.graphs[target.id()];
    return {target, graph.node_sites.data(), static_cast<uint32_t>(graph.node_sites.size()), 0};
  }
  if (target.id() == 0 || target.id() >= tables.sites.size()) return {};
  return {target, nullptr, 0, target.id()};
}

// Gap and duration of the latest record of one target and node.
struct Prediction {
  uint64_t gap_ns, duration_ns;
};

struct Group : TargetSites {
  uint64_t correlation_id = 0;
  uint32_t stream = 0, next_node = 0;
  uint32_t predicted_nodes = 0;
  Prediction* predictions = nullptr;
};

// The predictions of a chunk: for each predicted target a stretch of one for each node.
class Templates {
 public:
  absl::Status Decode(ColumnSet& set) {
    Column& targets = set[wire::kTemplateTargets];
    Column& nodes = set[wire::kTemplateNodes];
    const size_t count = targets.Count();
    if (!targets.Checked(count) || !nodes.Checked(count)) return Contradiction("templates");
    targets_.resize(count);
    ends_.resize(count);
    uint64_t end = 0;
    uint32_t target = 0;
    for (size_t i = 0; i < count; ++i) {
      const uint32_t next = target + targets.Delta32();
      end += nodes.Small();
      if ((i != 0 && next <= target) || end > kMaxPendingEntries) return Contradiction("templates");
      targets_[i] = target = next;
      ends_[i] = end;
    }
    predictions_.assign(end, {0, 0});
    return absl::OkStatus();
  }
  void Attach(uint32_t target, Group& group) {
    const auto found = std::lower_bound(targets_.begin(), targets_.end(), target);
    if (found == targets_.end() || *found != target) {
      group.predicted_nodes = 0;
      return;
    }
    const size_t index = found - targets_.begin();
    const uint64_t begin = index == 0 ? 0 : ends_[index - 1];
    group.predictions = predictions_.data() + begin;
    group.predicted_nodes = static_cast<uint32_t>(ends_[index] - begin);
  }

 private:
  std::vector<uint32_t> targets_;
  std::vector<uint64_t> ends_;
  std::vector<Prediction> predictions_;
};

absl::Status DecodeLaunches(ColumnSet& set, const Tables& tables, ChunkColumns& out) {
  Column& ids = set[wire::kLaunchCorrelationIds];
  Column& targets = set[wire::kLaunchTargets];
  Column& streams = set[wire::kLaunchStreams];
  const size_t count = ids.Count();
  if (!ids.Checked(count) || !targets.Checked(count) || !streams.Checked(count)) {
    return Contradiction("launches");
  }
  out.launch_correlation_id.resize(count);
  out.launch_target.resize(count);
  out.launch_stream.resize(count);
  uint64_t id = 0;
  uint32_t target = 0, stream = 0;
  for (size_t i = 0; i < count; ++i) {
    out.launch_correlation_id[i] = id += ids.Delta64();
    out.launch_target[i] = Resolve(target += targets.Delta32(), tables).target;
    stream += streams.Delta32();
    out.launch_stream[i] = stream < tables.streams.size() ? stream : 0;
  }
  return absl::OkStatus();
}

absl::Status DecodeGroups(ColumnSet& set, const Tables& tables, Templates& templates,
                          std::vector<Group>& groups) {
  Column& ids = set[wire::kGroupCorrelationIds];
  Column& targets = set[wire::kGroupTargets];
  Column& streams = set[wire::kGroupStreams];
  const size_t count = ids.Count();
  if (!ids.Checked(count) || !targets.Checked(count) || !streams.Checked(count)) {
    return Contradiction("groups");
  }
  groups.resize(count);
  uint64_t id = 0;
  uint32_t target = 0, stream = 0;
  for (Group& group : groups) {
    static_cast<TargetSites&>(group) = Resolve(target += targets.Delta32(), tables);
    templates.Attach(target, group);
    group.correlation_id = id += ids.Delta64();
    group.stream = stream += streams.Delta32();
    group.next_node = 0;
  }
  return absl::OkStatus();
}

// Gives a record's target and site; a node that the graph does not have makes both unknown.
inline void Place(const Group& group, uint32_t node, Target& target, uint32_t& node_out,
                  uint32_t& site) {
  target = group.target;
  node_out = node;
  site = group.eager_site;
  if (!group.target.is_graph()) return;
  if (node < group.nodes) {
    site = group.node_sites[node];
  } else {
    target = Target();
    node_out = 0;
  }
}

absl::Status DecodeTimed(ColumnSet& set, const ChunkStatistics& statistics, const Tables& tables,
                         std::vector<Group>& groups, ChunkColumns& out) {
  Column group_deltas = set[wire::kGroups], nodes = set[wire::kNodes], gaps = set[wire::kGapsNs],
         durations = set[wire::kDurationsNs], streams = set[wire::kStreamDeltas];
  const size_t count = durations.Count();
  for (const Column& column : {group_deltas, nodes, gaps, durations, streams}) {
    if (!column.Checked(count)) return Contradiction("records");
  }
  out.correlation_id.resize(count);
  out.target.resize(count);
  out.node.resize(count);
  out.site.resize(count);
  out.stream.resize(count);
  out.attributes.resize(count);
  out.start_ns.resize(count);
  out.end_ns.resize(count);
  const size_t group_count = groups.size(), stream_count = tables.streams.size();
  const uint32_t* const site_attributes = tables.site_attributes.data();
  uint64_t* const correlation_id_out = out.correlation_id.data();
  Target* const target_out = out.target.data();
  uint32_t *const node_out = out.node.data(), *const site_out = out.site.data(),
                  *const stream_out = out.stream.data(),
                  *const attributes_out = out.attributes.data();
  uint64_t *const start_out = out.start_ns.data(), *const end_out = out.end_ns.data();
  // The group of the record before: replays have hundreds of records in a row.
  Group group;
  uint32_t index = 0;
  uint64_t previous_end_ns = statistics.first_start_ns(), previous_start_ns = 0;
  bool sorted = true;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t step = group_deltas.Delta32();
    if (step != 0 || i == 0) {
      if (i != 0) groups[index].next_node = group.next_node;
      index += step;
      if (index >= group_count) return Contradiction("a record refers to no group");
      group = groups[index];
    }
    const uint32_t node = group.next_node + nodes.Delta32();
    group.next_node = node + 1;
    uint64_t gap_ns = gaps.Delta64(), duration_ns = durations.Delta64();
    if (node < group.predicted_nodes) {
      Prediction& prediction = group.predictions[node];
      gap_ns += prediction.gap_ns;
      duration_ns += prediction.duration_ns;
      prediction = {gap_ns, duration_ns};
    }
    const uint64_t start_ns = previous_end_ns + gap_ns;
    const uint64_t end_ns = start_ns + duration_ns;
    sorted &= start_ns >= previous_start_ns && end_ns >= start_ns;
    previous_start_ns = start_ns;
    previous_end_ns = end_ns;
    const uint32_t stream = group.stream + streams.Delta32();
    uint32_t site;
    Place(group, node, target_out[i], node_out[i], site);
    correlation_id_out[i] = group.correlation_id;
    site_out[i] = site;
    stream_out[i] = stream < stream_count ? stream : 0;
    attributes_out[i] = site_attributes[site];
    start_out[i] = start_ns;
    end_out[i] = end_ns;
  }
  return sorted ? absl::OkStatus() : Contradiction("records are not sorted by start");
}

absl::Status DecodeUntimed(ColumnSet& set, const Tables& tables, const std::vector<Group>& groups,
                           ChunkColumns& out) {
  Column& group_deltas = set[wire::kUntimedGroups];
  Column& nodes = set[wire::kUntimedNodes];
  const size_t count = group_deltas.Count();
  if (!group_deltas.Checked(count) || !nodes.Checked(count)) {
    return Contradiction("untimed records");
  }
  out.untimed_correlation_id.resize(count);
  out.untimed_target.resize(count);
  out.untimed_node.resize(count);
  out.untimed_site.resize(count);
  out.untimed_attributes.resize(count);
  uint32_t index = 0;
  for (size_t i = 0; i < count; ++i) {
    index += group_deltas.Delta32();
    if (index >= groups.size()) return Contradiction("an untimed record refers to no group");
    out.untimed_correlation_id[i] = groups[index].correlation_id;
    Place(groups[index], static_cast<uint32_t>(nodes.Small()), out.untimed_target[i],
          out.untimed_node[i], out.untimed_site[i]);
    out.untimed_attributes[i] = tables.site_attributes[out.untimed_site[i]];
  }
  return absl::OkStatus();
}

absl::Status ApplyExceptions(ColumnSet& set, const Tables& tables, ChunkColumns& out) {
  Column& records = set[wire::kExceptionRecords];
  Column& sites = set[wire::kExceptionSites];
  Column& attributes = set[wire::kExceptionAttributes];
  const size_t count = records.Count();
  if (!records.Checked(count) || !sites.Checked(count) || !attributes.Checked(count)) {
    return Contradiction("exceptions");
  }
  const size_t timed = out.start_ns.size(), all = timed + out.untimed_node.size();
  uint64_t record = 0;
  for (size_t i = 0; i < count; ++i) {
    record += records.Small();
    const uint64_t site = sites.Small(), attribute = attributes.Small();
    if (record >= all) return Contradiction("an exception refers to no record");
    uint32_t& site_out = record < timed ? out.site[record] : out.untimed_site[record - timed];
    uint32_t& attributes_out =
        record < timed ? out.attributes[record] : out.untimed_attributes[record - timed];
    if (site != 0) {
      site_out = site < tables.sites.size() ? static_cast<uint32_t>(site) : 0;
      attributes_out = tables.site_attributes[site_out];
    }
    if (attribute != 0) {
      attributes_out = attribute < tables.attributes.size() ? static_cast<uint32_t>(attribute) : 0;
    }
  }
  return absl::OkStatus();
}

absl::Status Decode(std::string_view message, const ChunkStatistics& statistics,
                    const Tables& tables, ChunkColumns& columns) {
  ColumnSet launches, records;
  uint64_t sequence = 0;
  protozero::pbf_reader reader(message.data(), message.size());
  while (reader.next()) {
    switch (reader.tag()) {
      case wire::kSequence:
        sequence = reader.get_uint64();
        break;
      case wire::kLaunches:
        launches = ReadColumns(reader.get_view());
        break;
      case wire::kRecords:
        records = ReadColumns(reader.get_view());
        break;
      default:
        reader.skip();
    }
  }
  if (!message.empty() && sequence != columns.sequence)
    return Contradiction("sequence of head and columns");
  static thread_local std::vector<Group> groups;
  static thread_local Templates templates;
  absl::Status status = DecodeLaunches(launches, tables, columns);
  if (status.ok()) status = templates.Decode(records);
  if (status.ok()) status = DecodeGroups(records, tables, templates, groups);
  if (status.ok()) status = DecodeTimed(records, statistics, tables, groups, columns);
  if (status.ok()) status = DecodeUntimed(records, tables, groups, columns);
  if (status.ok()) status = ApplyExceptions(records, tables, columns);
  if (!status.ok()) return status;
  const uint64_t count = columns.start_ns.size() + columns.untimed_node.size();
  if (count != statistics.record_count() ||
      columns.untimed_node.size() != statistics.untimed_count() ||
      columns.launch_correlation_id.size() != statistics.launch_count() ||
      statistics.late_count() > columns.start_ns.size()) {
    return Contradiction("statistics and columns differ in number");
  }
  columns.late_count = statistics.late_count();
  return absl::OkStatus();
}

}  // namespace

absl::Status DecodeColumns(std::string_view message, const ChunkStatistics& statistics,
                           const Tables& tables, ChunkColumns& columns) {
  try {
    return Decode(message, statistics, tables, columns);
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
        scan(reader.get_view(), wire::kLaunchCallNs, unknown.launches);
      } else if (reader.tag() == wire::kRecords) {
        scan(reader.get_view(), wire::kTemplateNodes, unknown.records);
      } else if (reader.tag() == wire::kOperations) {
        scan(reader.get_view(), wire::kOperationDetails, unknown.operations);
      } else {
        if (reader.tag() > wire::kOperationClasses) unknown.chunk.push_back(reader.tag());
        reader.skip();
      }
    }
  } catch (const protozero::exception&) {
  }
  return unknown;
}

}  // namespace hotproof::trace
