// Which ranges a launch was in, as ids of RangePath in the trace.
#pragma once

#include <cstdint>

namespace hotproof::tracer {

struct RangeIds {
  uint32_t thread = 0;   // the launching thread's stack; 0: none
  uint32_t process = 0;  // the ranges open in the process; 0: none
  bool any() const { return (thread | process) != 0; }
  friend bool operator==(const RangeIds&, const RangeIds&) = default;
};

}  // namespace hotproof::tracer
