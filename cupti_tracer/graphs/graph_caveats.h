// Why replays of a graph may have launched something else than what is known. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace hotproof::tracer {

// GraphCaveat of trace.proto.
inline constexpr uint32_t kCaveatConditional = 1, kCaveatDeviceUpdatable = 2, kCaveatDeviceLaunched = 3,
                   kCaveatOlderThanTracer = 4, kCaveatUpdatedUnseen = 5;

inline void AddCaveat(std::vector<uint32_t>& caveats, uint32_t caveat) {
  if (std::find(caveats.begin(), caveats.end(), caveat) == caveats.end()) caveats.push_back(caveat);
}

}  // namespace hotproof::tracer
