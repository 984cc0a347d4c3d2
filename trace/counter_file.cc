// Reads counter files (.hpc).
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "trace/file_window.h"
#include "trace/limits.h"
#include "trace/reader.h"

namespace hotproof::trace {

absl::StatusOr<CounterFile> ReadCounters(const std::string& path) {
  absl::StatusOr<std::unique_ptr<File>> file = File::Open(path);
  if (!file.ok()) return file.status();
  CounterFile result;
  CountersHeader& header = result.header;
  if ((*file)->ReadAt(0, &header, sizeof(header)) < sizeof(header)) {
    return absl::DataLossError(absl::StrCat(path, ": ends within its header"));
  }
  if (std::memcmp(header.magic, kCountersMagic, sizeof(kCountersMagic)) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": not a counter file of this version"));
  }
  if (header.header_bytes < sizeof(header) || header.site_slots == 0 || header.graph_slots == 0 ||
      header.site_slots > kMaxCounterSlots || header.graph_slots > kMaxCounterSlots) {
    return absl::DataLossError(absl::StrCat(path, ": its header is not valid"));
  }
  const size_t site_bytes = header.site_slots * sizeof(uint64_t);
  const size_t graph_bytes = header.graph_slots * sizeof(uint64_t);
  if ((*file)->size_bytes() < header.header_bytes + site_bytes + graph_bytes) {
    return absl::DataLossError(absl::StrCat(path, ": shorter than its header says"));
  }
  result.values.sites.resize(header.site_slots);
  result.values.graphs.resize(header.graph_slots);
  if ((*file)->ReadAt(header.header_bytes, result.values.sites.data(), site_bytes) < site_bytes ||
      (*file)->ReadAt(header.header_bytes + site_bytes, result.values.graphs.data(), graph_bytes) <
          graph_bytes) {
    return absl::DataLossError(absl::StrCat(path, ": cannot be read to its end"));
  }
  return result;
}

}  // namespace hotproof::trace
