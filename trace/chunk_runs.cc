#include "trace/chunk_runs.h"

#include <algorithm>

#include "trace/reader.h"
#include "trace/tables.h"

namespace hotproof::trace {
namespace {

bool HasSiteOfNode(const Tables& tables, Target target, uint32_t node, uint32_t site) {
  if (!target.is_graph() || target.id() >= tables.graphs.size()) return false;
  const std::vector<uint32_t>& sites = tables.graphs[target.id()].node_sites;
  return node < sites.size() && sites[node] == site;
}

void ExpandUntimed(const ChunkRuns& runs, const Tables& tables, ChunkColumns& columns) {
  columns.untimed_target = runs.untimed_target;
  columns.untimed_node = runs.untimed_node;
  columns.untimed_site = runs.untimed_site;
  const size_t count = runs.untimed_group.size();
  columns.untimed_correlation_id.resize(count);
  columns.untimed_attributes.resize(count);
  for (size_t i = 0; i < count; ++i) {
    columns.untimed_correlation_id[i] = runs.groups[runs.untimed_group[i]].correlation_id;
    columns.untimed_attributes[i] = tables.site_attributes[runs.untimed_site[i]];
  }
}

// Where each record is a launch of its own.
void ExpandOwnGroups(const ChunkRuns& runs, const Run& run, const Tables& tables,
                     ChunkColumns& columns) {
  for (uint32_t i = run.begin; i < run.begin + run.count; ++i) {
    const RecordGroup& group = runs.groups[run.GroupOf(i)];
    columns.correlation_id[i] = group.correlation_id;
    columns.target[i] = group.target;
    columns.node[i] = 0;
    columns.site[i] = group.target.id();
    columns.stream[i] = run.stream;
    columns.attributes[i] = tables.site_attributes[group.target.id()];
  }
}

// The group of a record or untimed record: the one before if it is the same launch.
uint32_t GroupOf(uint64_t correlation_id, Target target, uint32_t stream, ChunkRuns& runs) {
  if (runs.groups.empty() || runs.groups.back().correlation_id != correlation_id ||
      runs.groups.back().target != target) {
    runs.groups.push_back({correlation_id, target, stream});
  }
  return static_cast<uint32_t>(runs.groups.size() - 1);
}

}  // namespace

void Expand(const ChunkRuns& runs, const Tables& tables, ChunkColumns& columns) {
  columns.sequence = runs.sequence;
  columns.launch_correlation_id = runs.launch_correlation_id;
  columns.launch_target = runs.launch_target;
  columns.launch_stream = runs.launch_stream;
  columns.late_count = runs.late_count;
  columns.start_ns = runs.start_ns;
  columns.end_ns = runs.end_ns;
  const size_t count = runs.start_ns.size();
  columns.correlation_id.resize(count);
  columns.target.resize(count);
  columns.node.resize(count);
  columns.site.resize(count);
  columns.stream.resize(count);
  columns.attributes.resize(count);
  for (const Run& run : runs.runs) {
    if (run.own_groups) {
      ExpandOwnGroups(runs, run, tables, columns);
      continue;
    }
    const size_t end = run.begin + run.count;
    std::fill(&columns.correlation_id[run.begin], columns.correlation_id.data() + end,
              runs.groups[run.group].correlation_id);
    std::fill(&columns.target[run.begin], columns.target.data() + end, run.target);
    std::fill(&columns.stream[run.begin], columns.stream.data() + end, run.stream);
    const uint32_t step = run.target.is_graph() ? 1 : 0;
    const uint32_t* const sites =
        run.sites_by_node ? tables.graphs[run.target.id()].node_sites.data() : nullptr;
    for (uint32_t i = 0; i < run.count; ++i) {
      const uint32_t node = run.node + i * step;
      const uint32_t site = sites != nullptr ? sites[node] : run.site;
      columns.node[run.begin + i] = node;
      columns.site[run.begin + i] = site;
      columns.attributes[run.begin + i] = tables.site_attributes[site];
    }
  }
  ExpandUntimed(runs, tables, columns);
  for (const OddAttributes& odd : runs.odd_attributes) {
    (odd.record < count ? columns.attributes[odd.record]
                        : columns.untimed_attributes[odd.record - count]) = odd.attributes;
  }
}

void Collapse(const ChunkColumns& columns, const Tables& tables, ChunkRuns& runs) {
  runs.sequence = columns.sequence;
  runs.launch_correlation_id = columns.launch_correlation_id;
  runs.launch_target = columns.launch_target;
  runs.launch_stream = columns.launch_stream;
  runs.late_count = columns.late_count;
  runs.start_ns = columns.start_ns;
  runs.end_ns = columns.end_ns;
  runs.last_end_ns = 0;
  runs.groups.clear();
  runs.runs.clear();
  runs.odd_attributes.clear();
  runs.overlapping.clear();
  for (uint32_t i = 0; i < columns.start_ns.size(); ++i) {
    if (i > 0 && columns.start_ns[i] < columns.end_ns[i - 1]) runs.overlapping.push_back(i);
    runs.last_end_ns = std::max(runs.last_end_ns, columns.end_ns[i]);
    const Target target = columns.target[i];
    const size_t groups = runs.groups.size();
    const uint32_t group = GroupOf(columns.correlation_id[i], target, columns.stream[i], runs);
    const bool by_node = HasSiteOfNode(tables, target, columns.node[i], columns.site[i]);
    Run* const last = runs.runs.empty() ? nullptr : &runs.runs.back();
    if (group == groups && target.is_known() && !target.is_graph() &&
        columns.site[i] == target.id() && target.id() < tables.sites.size()) {
      if (last != nullptr && last->own_groups && last->stream == columns.stream[i] &&
          last->group + last->count == group) {
        ++last->count;
      } else {
        runs.runs.push_back({.begin = i,
                             .count = 1,
                             .group = group,
                             .stream = columns.stream[i],
                             .own_groups = true});
      }
      continue;
    }
    if (last != nullptr && by_node && last->sites_by_node && last->group == group &&
        last->stream == columns.stream[i] && last->node + last->count == columns.node[i]) {
      ++last->count;
      continue;
    }
    runs.runs.push_back({.begin = i,
                         .count = 1,
                         .group = group,
                         .target = target,
                         .node = columns.node[i],
                         .site = columns.site[i],
                         .stream = columns.stream[i],
                         .sites_by_node = by_node});
  }
  runs.untimed_target = columns.untimed_target;
  runs.untimed_node = columns.untimed_node;
  runs.untimed_site = columns.untimed_site;
  runs.untimed_group.clear();
  for (size_t i = 0; i < columns.untimed_node.size(); ++i) {
    runs.untimed_group.push_back(
        GroupOf(columns.untimed_correlation_id[i], columns.untimed_target[i], 0, runs));
  }
}

}  // namespace hotproof::trace
