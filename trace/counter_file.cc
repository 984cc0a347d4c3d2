#include "trace/counter_file.h"

#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "trace/file_window.h"
#include "trace/limits.h"
#include "trace/reader.h"
#include "xxhash.h"

namespace hotproof::trace {
namespace {

// Takes the words for the counts that they stand for; false: one stands for none.
bool TakeCounts(std::span<uint64_t> words) {
  bool whole = true;
  for (uint64_t& word : words) {
    whole &= word % kCountUnit == 0;
    word /= kCountUnit;
  }
  return whole;
}

}  // namespace

absl::StatusOr<CounterFile> ReadCounters(const std::string& path) {
  absl::StatusOr<std::unique_ptr<File>> file = File::Open(path);
  if (!file.ok()) return file.status();
  CounterFile result;
  CountersHeader& header = result.header;
  if ((*file)->ReadAt(0, &header, sizeof(header)) < sizeof(header)) {
    return absl::DataLossError(absl::StrCat(path, ": ends within its header"));
  }
  const bool checked = std::memcmp(header.magic, kCountersMagic, sizeof(kCountersMagic)) == 0;
  if (!checked && std::memcmp(header.magic, kUncheckedCountersMagic, sizeof(kCountersMagic)) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": not a counter file of this version"));
  }
  if (checked && header.check != XXH3_64bits(&header, kCheckedHeaderBytes)) {
    return absl::DataLossError(absl::StrCat(path, ": damaged: its header is not what was written"));
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
  result.checked = checked;
  result.values.sites.resize(header.site_slots);
  result.values.graphs.resize(header.graph_slots);
  if ((*file)->ReadAt(header.header_bytes, result.values.sites.data(), site_bytes) < site_bytes ||
      (*file)->ReadAt(header.header_bytes + site_bytes, result.values.graphs.data(), graph_bytes) <
          graph_bytes) {
    return absl::DataLossError(absl::StrCat(path, ": cannot be read to its end"));
  }
  if (checked &&
      !(TakeCounts({&header.records_written, 1}) && TakeCounts({&header.launches_refused, 1}) &&
        TakeCounts(result.values.sites) && TakeCounts(result.values.graphs))) {
    return absl::DataLossError(absl::StrCat(path, ": damaged: it holds what no count is kept as"));
  }
  return result;
}

std::string CounterFileBeside(const std::string& trace_path, const Header& header) {
  const std::string& name = header.counters_file();
  if (name.empty() || name.find('/') != std::string::npos) return "";
  return trace_path.substr(0, trace_path.rfind('/') + 1) + name;
}

void TakeCounterFile(const std::string& trace_path, Tables& tables,
                     std::vector<ReadIssue>& issues) {
  const Header& header = tables.header;
  const auto add_issue = [&issues](std::string detail) {
    issues.push_back({ReadIssue::Kind::kCounterFile, 0, 0, std::move(detail)});
  };
  const std::string& name = header.counters_file();
  if (name.empty()) return;
  if (name.find('/') != std::string::npos) {
    add_issue("the counter file's name is a path; not opened");
    return;
  }
  const std::string path = CounterFileBeside(trace_path, header);
  absl::StatusOr<CounterFile> file = ReadCounters(path);
  if (!file.ok()) {
    add_issue(std::string(file.status().message()));
    return;
  }
  if (file->header.pid != header.pid() ||
      file->header.process_start_ticks != header.process_start_ticks()) {
    add_issue(absl::StrCat(path, ": of another process"));
    return;
  }
  // Slots of sites and graphs that no chunk defined count as launches without one.
  bool behind = false, ahead = false;
  const auto fit = [&](std::vector<uint64_t> slots, const std::vector<uint64_t>& chunks) {
    for (size_t id = chunks.size(); id < slots.size(); ++id) slots[0] += slots[id];
    slots.resize(chunks.size());
    for (size_t id = 0; id < chunks.size(); ++id) {
      behind |= slots[id] < chunks[id];
      ahead |= slots[id] > chunks[id];
    }
    return slots;
  };
  CounterValues values{fit(std::move(file->values.sites), tables.asked.sites),
                       fit(std::move(file->values.graphs), tables.asked.graphs)};
  if (behind) {
    add_issue(absl::StrCat(path, ": counts less than the trace does; not used"));
    return;
  }
  // The process said at its end all that it had launched.
  if (ahead && !file->checked && tables.has_footer && issues.empty()) {
    add_issue(absl::StrCat(path,
                           ": counts more than the trace, which is whole, and a file of its "
                           "version does not show damage; not used"));
    return;
  }
  tables.asked = std::move(values);
  tables.asked_source = CounterSource::kCounterFile;
  tables.records_written = file->header.records_written;
  tables.launches_refused = file->header.launches_refused;
}

}  // namespace hotproof::trace
