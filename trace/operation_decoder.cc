#include "trace/operation_decoder.h"

#include <vector>

#include "protozero/pbf_reader.hpp"
#include "trace/column_set.h"
#include "trace/limits.h"
#include "trace/varint.h"
#include "trace/wire_fields.h"

namespace hotproof::trace {
namespace {

using OperationColumns = ColumnSet<wire::kOperationDetails>;

// Of the previous operation of a class, as the encoder keeps it.
struct Previous {
  uint64_t duration_ns = 0, node_id = 0, amount = 0, detail = 0;
  uint32_t stream = 0;
};

void Resize(ChunkOperations& out, size_t count) {
  out.operation_class.resize(count);
  out.correlation_id.resize(count);
  out.stream.resize(count);
  out.start_ns.resize(count);
  out.end_ns.resize(count);
  out.node_id.resize(count);
  out.amount.resize(count);
  out.detail.resize(count);
}

absl::Status Decode(OperationColumns columns, const OperationStatistics& statistics, const Tables& tables,
                    ChunkOperations& out) {
  const size_t count = columns[wire::kOperationClassIds].Count();
  if (count != statistics.count() || statistics.untimed_count() > count ||
      statistics.late_count() > count - statistics.untimed_count()) {
    return Contradiction("statistics and operations differ in number");
  }
  const size_t timed = count - statistics.untimed_count();
  for (uint32_t field = wire::kOperationClassIds; field < columns.size(); ++field) {
    const bool of_times =
        field == wire::kOperationStartGapsNs || field == wire::kOperationDurationsNs;
    if (!columns[field].Checked(of_times ? timed : count)) return Contradiction("operations");
  }
  Resize(out, count);
  std::vector<Previous> previous_of_class(tables.operation_classes.size());
  uint32_t id = 0;
  uint64_t correlation_id = 0, start_ns = statistics.first_start_ns();
  for (size_t i = 0; i < count; ++i) {
    id += columns[wire::kOperationClassIds].Delta32();
    if (id >= kMaxOperationClasses) return Contradiction("an operation's class is out of range");
    if (id >= previous_of_class.size()) previous_of_class.resize(id + 1);  // its entry was lost
    Previous& previous = previous_of_class[id];
    out.operation_class[i] = id < tables.operation_classes.size() ? id : 0;
    out.correlation_id[i] = correlation_id += columns[wire::kOperationCorrelationIds].Delta64();
    out.start_ns[i] = out.end_ns[i] = 0;
    if (i < timed) {
      const uint64_t gap_ns = columns[wire::kOperationStartGapsNs].Large();
      previous.duration_ns += columns[wire::kOperationDurationsNs].Delta64();
      if (start_ns + gap_ns < start_ns ||
          start_ns + gap_ns + previous.duration_ns < start_ns + gap_ns) {
        return Contradiction("an operation's time is out of range");
      }
      out.start_ns[i] = start_ns += gap_ns;
      out.end_ns[i] = start_ns + previous.duration_ns;
    }
    previous.stream += columns[wire::kOperationStreams].Delta32();
    out.stream[i] = previous.stream < tables.streams.size() ? previous.stream : 0;
    out.node_id[i] = previous.node_id += columns[wire::kOperationNodeIds].Delta64();
    out.amount[i] = previous.amount += columns[wire::kOperationAmounts].Delta64();
    out.detail[i] = previous.detail += columns[wire::kOperationDetails].Delta64();
  }
  out.timed_count = timed;
  out.late_count = statistics.late_count();
  return absl::OkStatus();
}

}  // namespace

absl::Status DecodeOperations(std::string_view message, const ChunkStatistics& statistics,
                              const Tables& tables, ChunkOperations& operations) {
  try {
    OperationColumns columns;
    protozero::pbf_reader reader(message.data(), message.size());
    while (reader.next(wire::kOperations, protozero::pbf_wire_type::length_delimited)) {
      columns = ReadColumnSet<wire::kOperationDetails>(reader.get_view());
    }
    return Decode(columns, statistics.operations(), tables, operations);
  } catch (const protozero::exception&) {
    return absl::DataLossError("operations are no valid message");
  }
}

}  // namespace hotproof::trace
