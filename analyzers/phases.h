// Where warm-up ends and steady serving begins in one process, from the counter snapshots of its
// trace.
#pragma once

#include <cstdint>
#include <string>

#include "trace/tables.h"

namespace hotproof::analyzers {

struct Phases {
  bool phased = false;          // false: the trace does not say where steady begins
  uint64_t correlation_id = 0;  // launches with this id or a later one are steady; 0: all of them
  trace::CounterValues warmup;  // what was asked before steady began; empty if unphased
  std::string detail;           // how the boundary was found, or why there is none

  bool IsSteady(uint64_t id) const { return id >= correlation_id; }
};

// A mark "steady" decides (the last one, if several). Otherwise steady begins at the first replay
// after the last capture. Neither: unphased.
Phases FindPhases(const trace::Tables& tables);

}  // namespace hotproof::analyzers
