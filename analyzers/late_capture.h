// Whether steady begins behind a capture that came while graphs were in use: a graph that is captured late
// moves what ran before it into warm-up. Used by phases.cc and asides.cc. Pure.
#pragma once

#include <cstdint>

#include "analyzers/phases.h"
#include "trace/tables.h"

namespace hotproof::analyzers {

// Servers capture all their graphs before they replay one (the recordings in examples/), and what tries a
// graph out replays it a few times: one that was replayed so often was in use.
inline constexpr uint64_t kLateCaptureReplays = 32;

// The replays of all graphs before the capture that steady begins behind, where one graph had
// kLateCaptureReplays of them. 0: it had not, or steady begins elsewhere.
uint64_t ReplaysBeforeLateCapture(const trace::Tables& tables, const Phases& phases);

}  // namespace hotproof::analyzers
