#include "analyzers/operations.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analyzers/number.h"

namespace hotproof::analyzers {
namespace {

// CUPTI's numbers (cupti_activity.h); the spelling is that of torch's profiler.
constexpr std::string_view kCopies[] = {"",     "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                        "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"};
constexpr std::string_view kMemories[] = {"",        "Pageable",      "Pinned",        "Device", "Array",
                                          "Managed", "Device Static", "Managed Static"};
constexpr std::string_view kWaits[] = {"", "Event Sync", "Stream Wait Event", "Stream Sync",
                                       "Context Sync"};
constexpr uint32_t kKernelKinds[] = {3, 10};  // CUPTI_ACTIVITY_KIND_KERNEL, _CONCURRENT_KERNEL

std::string NameOf(std::span<const std::string_view> names, uint32_t value) {
  return value < names.size() && !names[value].empty() ? std::string(names[value])
                                                       : absl::StrCat("kind ", value);
}

std::string CopyName(const trace::OperationClass& of) {
  const std::string copy = absl::StrCat("Memcpy ", NameOf(kCopies, of.copy_kind()));
  if (of.peer()) {
    return absl::StrCat(copy, " (device ", of.source_device(), " -> ", of.destination_device(), ")");
  }
  return absl::StrCat(copy, " (", NameOf(kMemories, of.source_memory()), " -> ",
                      NameOf(kMemories, of.destination_memory()), ")");
}

std::string NameOf(const trace::OperationClass& of) {
  switch (of.kind()) {
    case trace::OPERATION_MEMCPY:
      return CopyName(of);
    case trace::OPERATION_MEMSET:
      return absl::StrCat("Memset (", NameOf(kMemories, of.destination_memory()), ")");
    case trace::OPERATION_SYNCHRONIZATION:
      return absl::StrCat(NameOf(kWaits, of.synchronization_type()),
                          of.return_value() == 0 ? "" : absl::StrCat(" (CUDA error ", of.return_value(), ")"));
    case trace::OPERATION_EVENT_RECORD:
      return "Event Record";
    default:
      return "unknown";
  }
}

}  // namespace

void Operations::Merge(const ProcessAnalysis& process) {
  const trace::Tables& tables = process.reader->tables();
  for (const uint32_t kind : tables.header.activity_kinds()) {
    recorded_ |= std::find(std::begin(kKernelKinds), std::end(kKernelKinds), kind) == std::end(kKernelKinds);
  }
  std::vector<Sums> by_class(tables.operation_classes.size() + 1);  // the last: of those that the trace has lost
  const auto add = [&by_class](const trace::OperationStatistics& statistics) {
    const int classes = std::min({statistics.class_ids_size(), statistics.class_counts_size(),
                                  statistics.class_duration_ns_size(), statistics.class_bytes_size()});
    uint32_t id = 0;
    for (int i = 0; i < classes; ++i) {
      id += static_cast<uint32_t>(statistics.class_ids(i));
      Sums& sums = by_class[std::min<size_t>(id, by_class.size() - 1)];
      sums.count += statistics.class_counts(i);
      sums.bytes += statistics.class_bytes(i);
      sums.time_ns += statistics.class_duration_ns(i);
    }
  };
  for (const trace::ChunkStatistics& chunk : tables.chunk_statistics) add(chunk.operations());
  for (const trace::Rollup& rollup : tables.rotated_out.rollups) add(rollup.statistics().operations());
  for (size_t id = 0; id < by_class.size(); ++id) {
    if (by_class[id].count == 0) continue;
    const bool known = id + 1 < by_class.size();
    Sums& sums = by_name_[known ? NameOf(tables.operation_classes[id]) : "unknown"];
    sums.count += by_class[id].count;
    sums.bytes += by_class[id].bytes;
    sums.time_ns += by_class[id].time_ns;
  }
}

void Operations::Finish(report::Report* report) const {
  report->set_operations_recorded(recorded_);
  std::vector<std::pair<std::string, Sums>> rows(by_name_.begin(), by_name_.end());
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.second.time_ns > b.second.time_ns;
  });
  for (const auto& [name, sums] : rows) {
    report::Operation* row = report->add_operations();
    row->set_operation(name);
    row->set_count(Number(sums.count));
    row->set_bytes(Number(sums.bytes));
    row->set_time_ns(Number(sums.time_ns));
  }
}

}  // namespace hotproof::analyzers
