#include "trace/launch_time_decoder.h"

#include "protozero/pbf_reader.hpp"
#include "trace/column_set.h"
#include "trace/wire_fields.h"

namespace hotproof::trace {
namespace {

ColumnSet<wire::kLaunchCallNs> FindLaunches(std::string_view message) {
  ColumnSet<wire::kLaunchCallNs> columns;
  protozero::pbf_reader chunk(message.data(), message.size());
  while (chunk.next(wire::kLaunches, protozero::pbf_wire_type::length_delimited)) {
    columns = ReadColumnSet<wire::kLaunchCallNs>(chunk.get_view());
  }
  return columns;
}

}  // namespace

absl::Status DecodeLaunchTimes(std::string_view message, uint64_t launch_count,
                               ChunkLaunchTimes& times) {
  try {
    ColumnSet<wire::kLaunchCallNs> columns = FindLaunches(message);
    VarintColumn &enter = columns[wire::kLaunchEnterNs], &call = columns[wire::kLaunchCallNs];
    if (!enter.Checked(launch_count) || !call.Checked(launch_count)) {
      return Contradiction("times of launches");
    }
    times.enter_ns.resize(launch_count);
    times.call_ns.resize(launch_count);
    uint64_t enter_ns = 0;
    for (size_t i = 0; i < launch_count; ++i) {
      times.enter_ns[i] = enter_ns += enter.Delta64();
      times.call_ns[i] = static_cast<uint32_t>(call.Small());
    }
    return absl::OkStatus();
  } catch (const protozero::exception&) {
    return absl::DataLossError("launches are no valid message");
  }
}

}  // namespace hotproof::trace
