#include "trace/tables.h"

#include <algorithm>

namespace hotproof::trace {
namespace {

uint64_t At(const std::vector<uint64_t>& values, size_t id) {
  return id < values.size() ? values[id] : 0;
}

}  // namespace

uint64_t Tables::LaunchesOfSite(uint32_t site_id, const CounterValues& values) const {
  uint64_t launches = At(values.sites, site_id);
  for (size_t id = 0; id < graphs.size(); ++id) {
    const std::vector<uint32_t>& nodes = graphs[id].node_sites;
    if (const uint64_t replays = At(values.graphs, id); replays != 0) {
      launches += replays * std::count(nodes.begin(), nodes.end(), site_id);
    }
  }
  return launches;
}

std::vector<uint64_t> Tables::LaunchesBySite(const CounterValues& values) const {
  std::vector<uint64_t> launches(sites.size());
  for (size_t id = 0; id < sites.size(); ++id) launches[id] = At(values.sites, id);
  for (size_t id = 0; id < graphs.size(); ++id) {
    if (const uint64_t replays = At(values.graphs, id); replays != 0) {
      for (const uint32_t site : graphs[id].node_sites) launches[site] += replays;
    }
  }
  return launches;
}

}  // namespace hotproof::trace
