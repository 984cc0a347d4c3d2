#include "trace/launch_time_decoder.h"

#include "protozero/pbf_reader.hpp"
#include "trace/limits.h"
#include "trace/varint_column.h"
#include "trace/wire_fields.h"

namespace hotproof::trace {
namespace {

struct Columns {
  VarintColumn enter, call;
};

Columns Find(std::string_view message) {
  Columns columns;
  protozero::pbf_reader chunk(message.data(), message.size());
  while (chunk.next(wire::kLaunches, protozero::pbf_wire_type::length_delimited)) {
    protozero::pbf_reader launches(chunk.get_view());
    while (launches.next()) {
      const uint32_t tag = launches.tag();
      const bool packed =
          launches.wire_type() == protozero::pbf_wire_type::length_delimited;
      if (!packed || (tag != wire::kLaunchEnterNs && tag != wire::kLaunchCallNs)) {
        launches.skip();
        continue;
      }
      const protozero::data_view view = launches.get_view();
      (tag == wire::kLaunchEnterNs ? columns.enter : columns.call) =
          VarintColumn({view.data(), view.size()});
    }
  }
  return columns;
}

}  // namespace

absl::Status DecodeLaunchTimes(std::string_view message, uint64_t launch_count,
                               ChunkLaunchTimes& times) {
  try {
    Columns columns = Find(message);
    if (!columns.enter.Checked(launch_count) || !columns.call.Checked(launch_count)) {
      return absl::DataLossError("columns contradict each other: times of launches");
    }
    times.enter_ns.resize(launch_count);
    times.call_ns.resize(launch_count);
    uint64_t enter_ns = 0;
    for (size_t i = 0; i < launch_count; ++i) {
      times.enter_ns[i] = enter_ns += columns.enter.Delta64();
      times.call_ns[i] = static_cast<uint32_t>(columns.call.Small());
    }
    return absl::OkStatus();
  } catch (const protozero::exception&) {
    return absl::DataLossError("launches are no valid message");
  }
}

}  // namespace hotproof::trace
