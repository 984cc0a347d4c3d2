// What is known of a launch besides its kernel's name, as the recorder of it saw it. Filled by
// whoever reads traces; a view: nothing is owned.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

namespace hotproof::catalog {

// Bytes [begin, end) of the argument buffer that were not kept: masked addresses and tensor maps.
struct ByteRange {
  uint32_t begin, end;
};

struct LaunchEvidence {
  std::span<const uint32_t> parameter_offsets, parameter_sizes;  // bytes, in the argument buffer
  std::string_view arguments;  // the buffer; empty if it could not be read or was not kept
  std::span<const ByteRange> hidden;
  uint32_t grid[3] = {}, block[3] = {};
};

}  // namespace hotproof::catalog
