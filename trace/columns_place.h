// Where a chunk's columns lie in a file, and whether they are still the bytes that were written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "trace/file_window.h"

namespace hotproof::trace {

struct ColumnsPlace {
  uint64_t sequence = 0;                      // of the chunk
  uint32_t file = 0;                          // index of its file
  uint64_t head_offset_bytes = 0;             // of its head
  uint64_t offset_bytes = 0, size_bytes = 0;  // 0 bytes: no columns
  uint64_t hash = 0;                          // XXH3-64 that they should have
};

// The indices of the places whose bytes do not have their hash, ascending. Reads them all, with
// `threads` threads (0: as many as the machine has).
std::vector<size_t> FindDamagedColumns(std::span<const std::unique_ptr<File>> files,
                                       std::span<const ColumnsPlace> places, int threads);

}  // namespace hotproof::trace
