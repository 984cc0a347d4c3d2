#include "trace/launch_time_decoder.h"

#include <vector>

#include "protozero/pbf_reader.hpp"
#include "trace/column_set.h"
#include "trace/format.h"
#include "trace/wire_fields.h"

namespace hotproof::trace {
namespace {

ColumnSet<wire::kLaunchCallLow> FindLaunches(std::string_view message) {
  ColumnSet<wire::kLaunchCallLow> columns;
  protozero::pbf_reader chunk(message.data(), message.size());
  while (chunk.next(wire::kLaunches, protozero::pbf_wire_type::length_delimited)) {
    columns = ReadColumnSet<wire::kLaunchCallLow>(chunk.get_view());
  }
  return columns;
}

}  // namespace

absl::Status DecodeLaunchTimes(std::string_view message, uint64_t launch_count,
                               ChunkLaunchTimes& times) {
  try {
    ColumnSet<wire::kLaunchCallLow> columns = FindLaunches(message);
    VarintColumn &targets = columns[wire::kLaunchTargets],
                 &gaps = columns[wire::kLaunchEnterGapsNs],
                 &high = columns[wire::kLaunchCallHigh], &low = columns[wire::kLaunchCallLow],
                 &enter = columns[wire::kLaunchEnterNs], &call = columns[wire::kLaunchCallNs];
    for (const VarintColumn* column : {&targets, &gaps, &high, &low, &enter, &call}) {
      if (!column->Checked(launch_count)) return Contradiction("times of launches");
    }
    times.enter_ns.resize(launch_count);
    times.call_ns.resize(launch_count);
    const bool deltas = !enter.data().empty() || !call.data().empty();  // before minor version 3
    std::vector<uint64_t> predicted_ns(kPredictedLaunchTargets);
    uint64_t enter_ns = 0, end_ns = 0;
    uint32_t target = 0;
    for (size_t i = 0; i < launch_count; ++i) {
      if (deltas) {
        times.enter_ns[i] = enter_ns += enter.Delta64();
        times.call_ns[i] = static_cast<uint32_t>(call.Small());
        continue;
      }
      uint64_t& gap_ns = predicted_ns[(target += targets.Delta32()) % kPredictedLaunchTargets];
      const uint64_t this_gap_ns = gap_ns + gaps.Delta64();
      if (i != 0) gap_ns = this_gap_ns;
      times.enter_ns[i] = end_ns + this_gap_ns;
      times.call_ns[i] = static_cast<uint32_t>(high.Small() << kCallLowBits) +
                         static_cast<uint32_t>(low.Small());
      end_ns = times.enter_ns[i] + times.call_ns[i];
    }
    return absl::OkStatus();
  } catch (const protozero::exception&) {
    return absl::DataLossError("launches are no valid message");
  }
}

}  // namespace hotproof::trace
