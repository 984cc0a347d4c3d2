#include "analyzers/launch_groups.h"

#include <algorithm>

namespace hotproof::analyzers {
namespace {

// SplitMix64's mixer (Steele, Lea, Flood 2014): makes sums of node positions tell sets apart.
uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

LaunchGroups::LaunchGroups(const TraceIndex& index) : index_(&index) {
  size_t most_nodes = 1;
  for (const trace::GraphTable& graph : index.tables().graphs) {
    most_nodes = std::max(most_nodes, graph.node_sites.size());
  }
  has_unknown_node_.resize(index.tables().graphs.size());
  for (size_t id = 0; id < has_unknown_node_.size(); ++id) {
    const std::vector<uint32_t>& sites = index.tables().graphs[id].node_sites;
    has_unknown_node_[id] = std::find(sites.begin(), sites.end(), 0u) != sites.end();
  }
  digests_.resize(most_nodes + 1);
  for (size_t n = 0; n < most_nodes; ++n) digests_[n + 1] = digests_[n] + Mix(n);
}

LaunchGroups::Unplaced LaunchGroups::Count(const trace::ChunkRuns& runs) {
  Unplaced unplaced;
  counts_.assign(runs.groups.size(), {});
  for (const trace::Run& run : runs.runs) {
    if (run.own_groups) {
      for (uint32_t i = 0; i < run.count; ++i) {
        ++counts_[run.group + i].seen;
        counts_[run.group + i].digest += digests_[1];
      }
      continue;
    }
    unplaced.without_site += WithoutSite(run);
    if (!run.target.is_known()) {
      unplaced.without_launch += run.count;
      continue;
    }
    Counts& group = counts_[run.group];
    group.seen += run.count;
    group.digest += run.target.is_graph() ? digests_[run.node + run.count] - digests_[run.node]
                                          : run.count * digests_[1];
  }
  for (size_t i = 0; i < runs.untimed_group.size(); ++i) {
    if (runs.untimed_site[i] == 0) ++unplaced.without_site;
    if (!runs.untimed_target[i].is_known()) {
      ++unplaced.without_launch;
      continue;
    }
    Counts& group = counts_[runs.untimed_group[i]];
    ++group.seen;
    ++group.untimed;
    group.digest += Mix(runs.untimed_node[i]);
  }
  return unplaced;
}

uint64_t LaunchGroups::WithoutSite(const trace::Run& run) const {
  if (!run.sites_by_node) return run.site == 0 ? run.count : 0;
  if (!has_unknown_node_[run.target.id()]) return 0;
  const uint32_t* const sites =
      index_->tables().graphs[run.target.id()].node_sites.data() + run.node;
  return std::count(sites, sites + run.count, 0u);
}

bool LaunchGroups::IsComplete(trace::Target target, const Counts& counts) const {
  const uint32_t executions = index_->ExecutionsOf(target);
  return executions != 0 && counts.seen == executions && counts.digest == digests_[executions];
}

size_t LaunchGroups::EagerTogether(const trace::ChunkRuns& runs, size_t launch,
                                   size_t group) const {
  constexpr size_t kTogether =
      8;  // of the 26 behind a decode step three times, and few looks in vain
  if (launch + kTogether > runs.launch_correlation_id.size() ||
      group + kTogether > runs.groups.size() || runs.groups[group].target.is_graph()) {
    return 0;
  }
  const uint64_t* const ids = &runs.launch_correlation_id[launch];
  const trace::Target* const targets = &runs.launch_target[launch];
  const uint32_t* const streams = &runs.launch_stream[launch];
  const trace::RecordGroup* const of = &runs.groups[group];
  const Counts* const counts = &counts_[group];
  uint64_t other = 0;
  uint32_t unlike = 0, unknown = 0;
  for (size_t i = 0; i < kTogether; ++i) {
    const uint32_t target = targets[i].wire();
    other |= (ids[i] ^ of[i].correlation_id) | (counts[i].digest ^ digests_[1]);
    unlike |= (target ^ of[i].target.wire()) | (streams[i] ^ streams[0]) |
              (of[i].stream ^ of[0].stream) | (counts[i].seen ^ 1) | counts[i].untimed |
              (target & 1);
    unknown |= target == 0;
  }
  return other == 0 && (unlike | unknown) == 0 ? kTogether : 0;
}

}  // namespace hotproof::analyzers
