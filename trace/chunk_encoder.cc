#include "trace/chunk_encoder.h"

#include <algorithm>

#include "protozero/pbf_writer.hpp"
#include "trace/counters.h"
#include "trace/varint.h"
#include "trace/wire_fields.h"

namespace hotproof::trace {
namespace {

using protozero::pbf_writer;

// Length of the longest prefix that is valid UTF-8 (RFC 3629: no overlong forms, no surrogates).
size_t ValidUtf8Prefix(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[at + i]); };
    const uint8_t first = byte(0);
    const size_t length = first < 0x80   ? 1
                          : first < 0xC2 ? 0
                          : first < 0xE0 ? 2
                          : first < 0xF0 ? 3
                          : first < 0xF5 ? 4
                                         : 0;
    if (length == 0 || length > text.size() - at) return at;
    for (size_t i = 1; i < length; ++i) {
      const uint8_t low = i > 1 ? 0x80 : first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
      const uint8_t high = i > 1 ? 0xBF : first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
      if (byte(i) < low || byte(i) > high) return at;
    }
    at += length;
  }
  return at;
}

// proto3: zeros are not written.
void PutUint(pbf_writer& to, uint32_t field, uint64_t value) {
  if (value != 0) to.add_uint64(field, value);
}
void PutBytes(pbf_writer& to, uint32_t field, std::string_view value) {
  if (!value.empty()) to.add_bytes(field, value.data(), value.size());
}

// Arguments, paths and names may be any bytes, protobuf's strings must be UTF-8: a reader would
// refuse the whole chunk. Bytes that are not UTF-8 become U+FFFD.
void PutText(pbf_writer& to, uint32_t field, std::string_view value) {
  if (ValidUtf8Prefix(value) == value.size()) {
    to.add_bytes(field, value.data(), value.size());
    return;
  }
  std::string text;
  while (!value.empty()) {
    const size_t valid = ValidUtf8Prefix(value);
    text.append(value.substr(0, valid));
    value.remove_prefix(valid);
    if (value.empty()) break;
    text.append("\xEF\xBF\xBD");
    value.remove_prefix(1);
  }
  to.add_bytes(field, text.data(), text.size());
}
void PutString(pbf_writer& to, uint32_t field, std::string_view value) {
  if (!value.empty()) PutText(to, field, value);
}

// Adds the packed field whose varints are `coded(i)` for i in [0, count).
template <typename Coded>
void PutPacked(pbf_writer& to, uint32_t field, size_t count, Coded coded) {
  if (count == 0) return;
  protozero::packed_field_uint64 packed(to, field);
  for (size_t i = 0; i < count; ++i) packed.add_element(coded(i));
}

template <typename T>
void PutPacked(pbf_writer& to, uint32_t field, std::span<const T> values) {
  PutPacked(to, field, values.size(), [&](size_t i) -> uint64_t { return values[i]; });
}

template <typename T>
void PutDelta32(pbf_writer& to, uint32_t field, std::span<const T> values) {
  uint32_t previous = 0;
  PutPacked(to, field, values.size(), [&](size_t i) -> uint64_t {
    return ZigZag32(values[i] - std::exchange(previous, values[i]));
  });
}

void PutDelta64(pbf_writer& to, uint32_t field, std::span<const uint64_t> values) {
  uint64_t previous = 0;
  PutPacked(to, field, values.size(), [&](size_t i) -> uint64_t {
    return ZigZag64(values[i] - std::exchange(previous, values[i]));
  });
}

}  // namespace

bool CounterIncrements::Compute(std::span<const uint64_t> now, size_t slots) {
  slots = std::min(slots, now.size());
  if (known_.size() < slots) known_.resize(slots);
  moves_.clear();
  for (size_t id = 0; id < slots; ++id) {
    const uint64_t count = LoadCounter(now[id]);
    if (count > known_[id]) moves_.push_back({static_cast<uint32_t>(id), count - known_[id]});
  }
  return !moves_.empty();
}

void CounterIncrements::Commit() {
  for (const Move& move : moves_) known_[move.id] += move.by;
  moves_.clear();
}

void CounterIncrements::AppendTo(uint32_t ids_field, uint32_t counts_field, std::string& message) {
  pbf_writer to(message);
  uint32_t previous = 0;
  PutPacked(to, ids_field, moves_.size(), [&](size_t i) -> uint64_t {
    return ZigZag32(moves_[i].id - std::exchange(previous, moves_[i].id));
  });
  PutPacked(to, counts_field, moves_.size(), [&](size_t i) { return moves_[i].by; });
}

void ChunkEncoder::AddHeader(const HeaderEntry& header) {
  pbf_writer chunk(pending_);
  pbf_writer to(chunk, wire::kHeader);
  const bool first = !std::exchange(header_added_, true);
  PutUint(to, 1, header.format_major == 0 && first ? kFormatMajor : header.format_major);
  PutUint(to, 2, header.format_major == 0 && first ? kFormatMinor : header.format_minor);
  PutString(to, 3, header.hotproof_version);
  PutUint(to, 4, header.mode);
  PutUint(to, 5, header.pid);
  PutUint(to, 6, header.parent_pid);
  PutString(to, 7, header.host);
  PutString(to, 8, header.boot_id);
  PutUint(to, 9, header.process_start_ticks);
  PutString(to, 10, header.executable);
  for (const std::string& argument : header.arguments) PutText(to, 11, argument);
  for (const std::string& variable : header.environment) PutText(to, 12, variable);
  PutUint(to, 13, header.start_realtime_ns);
  PutString(to, 14, header.cupti_path);
  PutUint(to, 15, header.cupti_version);
  PutUint(to, 16, header.driver_version);
  for (const DeviceEntry& device : header.devices) {
    pbf_writer sub(to, 17);
    PutUint(sub, 1, device.id);
    PutString(sub, 2, device.name);
    PutString(sub, 3, device.uuid);
    PutUint(sub, 4, device.compute_capability_major);
    PutUint(sub, 5, device.compute_capability_minor);
    PutUint(sub, 6, device.multiprocessors);
    PutUint(sub, 7, device.memory_bytes);
    PutUint(sub, 8, device.l2_bytes);
    PutUint(sub, 9, device.memory_clock_khz);
    PutUint(sub, 10, device.memory_bus_bits);
  }
  PutUint(to, 18, header.interposers);
  PutString(to, 19, header.counters_file);
  PutUint(to, 20, header.flush_period_ms);
  for (const std::string& quirk : header.quirks) PutText(to, 21, quirk);
  PutString(to, 22, header.chained_injection);
  PutString(to, 23, header.driver_name);
  PutUint(to, 24, header.cupti_header_version);
  PutPacked(to, 25, std::span<const uint32_t>(header.activity_kinds));
  PutPacked(to, 26, std::span<const uint32_t>(header.refused_activity_kinds));
}

void ChunkEncoder::AddKernel(const KernelEntry& kernel) {
  pbf_writer chunk(pending_);
  pbf_writer to(chunk, wire::kKernels);
  PutUint(to, 1, kernel.id);
  PutString(to, 2, kernel.name);
  PutUint(to, 3, kernel.module_id);
  if (kernel.cubin_hash != 0) to.add_fixed64(4, kernel.cubin_hash);
  PutPacked(to, 5, kernel.parameter_offsets);
  PutPacked(to, 6, kernel.parameter_sizes);
  PutUint(to, 7, kernel.architecture);
  PutString(to, 8, kernel.architecture_suffix);
}

void ChunkEncoder::AddAttributes(uint32_t id, const AttributesEntry& a) {
  pbf_writer chunk(pending_);
  pbf_writer to(chunk, wire::kAttributes);
  PutUint(to, 1, id);
  PutUint(to, 2, a.registers_per_thread);
  PutUint(to, 3, a.static_shared_bytes);
  PutUint(to, 4, a.local_bytes_per_thread);
  PutUint(to, 5, a.local_total_bytes);
  PutUint(to, 6, a.launch_type);
  PutUint(to, 7, a.cluster_x);
  PutUint(to, 8, a.cluster_y);
  PutUint(to, 9, a.cluster_z);
  PutUint(to, 10, a.cluster_scheduling_policy);
  PutUint(to, 11, a.shared_memory_executed_bytes);
  PutUint(to, 12, a.shared_memory_carveout_requested);
  PutUint(to, 13, a.device_launched);
  PutUint(to, 14, static_cast<uint64_t>(int64_t{a.priority}));
  PutUint(to, 15, a.partitioned_cache_executed);
  PutUint(to, 16, a.cache_config);
  PutUint(to, 17, a.shared_memory_config);
  PutUint(to, 18, a.channel_type);
  PutUint(to, 19, a.max_potential_cluster_size);
  PutUint(to, 20, a.max_active_clusters);
}

void ChunkEncoder::AddTensorMap(const TensorMapEntry& map) {
  pbf_writer chunk(pending_);
  pbf_writer to(chunk, wire::kTensorMaps);
  PutUint(to, 1, map.id);
  PutUint(to, 2, map.data_type);
  PutPacked(to, 3, map.global_dims);
  PutPacked(to, 4, map.global_strides);
  PutPacked(to, 5, map.box_dims);
  PutPacked(to, 6, map.element_strides);
  PutUint(to, 7, map.interleave);
  PutUint(to, 8, map.swizzle);
  PutUint(to, 9, map.kind);
}

namespace {

void PutLibraryCall(pbf_writer& site, uint32_t field, const LibraryCallEntry& call) {
  pbf_writer to(site, field);
  const LibraryCallEntry::Numbers& n = call.numbers;
  PutBytes(to, 1, call.entry_point);
  const uint64_t extents[] = {n.m,   n.n,   n.k,   n.batch,    n.groups,  n.lda,
                              n.ldb, n.ldd, n.stride_a, n.stride_b, n.stride_d};
  const uint32_t enumerators[] = {n.operation_a,  n.operation_b,  n.order_d,      n.a_type,
                                  n.b_type,       n.c_type,       n.d_type,       n.compute_type,
                                  n.scale_type,   n.a_scale_mode, n.b_scale_mode, n.d_scale_mode,
                                  n.epilogue};
  uint32_t number = 2;
  for (const uint64_t extent : extents) PutUint(to, number++, extent);
  for (const uint32_t enumerator : enumerators) PutUint(to, number++, enumerator);
}

}  // namespace

void ChunkEncoder::AddRangePath(const RangePathEntry& path) {
  pbf_writer chunk(pending_);
  pbf_writer to(chunk, wire::kRangePaths);
  PutUint(to, 1, path.id);
  PutUint(to, 2, path.parent);
  PutString(to, 3, path.name);
  PutString(to, 4, path.domain);
  PutUint(to, 5, path.source);
  PutUint(to, 6, path.payload_kind);
  if (path.payload != 0) to.add_fixed64(7, path.payload);
  PutUint(to, 8, path.many);
}

void ChunkEncoder::AddSite(const SiteEntry& site) {
  last_site_ = std::max(last_site_, site.id);
  pbf_writer chunk(pending_);
  pbf_writer to(chunk, wire::kSites);
  PutUint(to, 1, site.id);
  PutUint(to, 2, site.kernel_id);
  for (uint32_t i = 0; i < 3; ++i) PutUint(to, 3 + i, site.grid[i]);
  for (uint32_t i = 0; i < 3; ++i) PutUint(to, 6 + i, site.block[i]);
  for (uint32_t i = 0; i < 3; ++i) PutUint(to, 9 + i, site.cluster[i]);
  PutUint(to, 12, site.dynamic_shared_bytes);
  PutUint(to, 13, site.captured);
  PutUint(to, 14, site.cooperative);
  PutUint(to, 15, site.programmatic);
  PutBytes(to, 16, site.arguments);
  PutPacked(to, 17, site.masked_offsets);
  PutUint(to, 18, site.arguments_overflowed);
  for (const TensorMapUseEntry& use : site.tensor_maps) {
    pbf_writer sub(to, 19);
    PutUint(sub, 1, use.argument_offset);
    PutUint(sub, 2, use.tensor_map_id);
  }
  PutUint(to, 20, site.api_cbid);
  PutUint(to, 21, site.unattributed);
  if (site.library_call != nullptr) PutLibraryCall(to, 22, *site.library_call);
  PutString(to, 23, site.launching_library);
  PutUint(to, 26, site.library_calls_overflowed);
  PutUint(to, 24, site.range_path);
  PutUint(to, 25, site.process_ranges);
}

void ChunkEncoder::AddGraph(const GraphEntry& graph) {
  last_graph_ = std::max(last_graph_, graph.id);
  pbf_writer chunk(pending_);
  pbf_writer to(chunk, wire::kGraphs);
  PutUint(to, 1, graph.id);
  PutUint(to, 2, graph.exec_graph_id);
  PutUint(to, 3, graph.source_graph_id);
  PutUint(to, 4, graph.replaces);
  PutDelta64(to, 5, graph.node_ids);
  PutDelta32(to, 6, graph.node_sites);
  PutPacked(to, 7, graph.caveats);
  PutUint(to, 8, graph.disabled_nodes);
  PutUint(to, 9, graph.other_nodes);
  PutDelta64(to, 10, graph.other_node_ids);
  PutPacked(to, 11, graph.other_node_types);
  PutUint(to, 12, graph.edges_known);
  PutDelta32(to, 13, graph.edge_from);
  PutDelta32(to, 14, graph.edge_to);
  PutPacked(to, 15, graph.edge_data);
  PutDelta32(to, 16, graph.node_range_paths);
  PutDelta32(to, 17, graph.node_process_ranges);
}

void ChunkEncoder::AddStream(const StreamEntry& stream) {
  pbf_writer chunk(pending_);
  pbf_writer to(chunk, wire::kStreams);
  PutUint(to, 1, stream.id);
  PutUint(to, 2, stream.device_id);
  PutUint(to, 3, stream.context_id);
  PutUint(to, 4, stream.stream_id);
}

void ChunkEncoder::AddSnapshot(const SnapshotEntry& snapshot, const CounterView& counters) {
  snapshot_sites_.Compute(counters.sites, counters.sites.size());
  snapshot_graphs_.Compute(counters.graphs, counters.graphs.size());
  scratch_.clear();
  snapshot_sites_.AppendTo(1, 2, scratch_);
  snapshot_graphs_.AppendTo(3, 4, scratch_);
  snapshot_sites_.Commit();  // snapshots stay pending until they are on disk: none is lost
  snapshot_graphs_.Commit();

  pbf_writer chunk(pending_);
  pbf_writer to(chunk, wire::kSnapshots);
  PutUint(to, 1, snapshot.reason);
  PutString(to, 2, snapshot.label);
  PutUint(to, 3, snapshot.realtime_ns);
  PutUint(to, 4, snapshot.correlation_id);
  if (!scratch_.empty()) to.add_message(5, scratch_);
  PutUint(to, 6, snapshot.graph_id);
}

void ChunkEncoder::AddProblem(const ProblemEntry& problem) {
  pbf_writer chunk(pending_);
  pbf_writer to(chunk, wire::kProblems);
  PutUint(to, 1, problem.kind);
  PutUint(to, 2, problem.count);
  PutString(to, 3, problem.detail);
  PutUint(to, 4, problem.realtime_ns);
}

void ChunkEncoder::AddClockPair(const ClockPairEntry& pair) {
  pbf_writer chunk(pending_);
  pbf_writer to(chunk, wire::kClocks);
  PutUint(to, 1, pair.cupti_ns);
  PutUint(to, 2, pair.realtime_ns);
  PutUint(to, 3, pair.monotonic_ns);
}

void ChunkEncoder::AddOperationClass(const OperationClassEntry& of) {
  pbf_writer chunk(pending_);
  pbf_writer to(chunk, wire::kOperationClasses);
  PutUint(to, 1, of.id);
  PutUint(to, 2, of.kind);
  PutUint(to, 3, of.copy_kind);
  PutUint(to, 4, of.source_memory);
  PutUint(to, 5, of.destination_memory);
  PutUint(to, 6, of.flags);
  PutUint(to, 7, of.channel_type);
  PutUint(to, 8, of.device_launched);
  PutUint(to, 9, of.peer);
  PutUint(to, 10, of.source_device);
  PutUint(to, 11, of.source_context);
  PutUint(to, 12, of.destination_device);
  PutUint(to, 13, of.destination_context);
  PutUint(to, 14, of.synchronization_type);
  PutUint(to, 15, of.return_value);
}

void ChunkEncoder::AddFooter(const FooterEntry& footer) {
  pbf_writer chunk(pending_);
  pbf_writer to(chunk, wire::kFooter);
  PutUint(to, 1, footer.realtime_ns);
  PutString(to, 2, footer.reason);
  PutUint(to, 3, footer.launches);
  PutUint(to, 4, footer.records);
  PutUint(to, 5, footer.dropped);
  PutUint(to, 6, footer.discarded);
  PutUint(to, 7, footer.flushed);
}

bool ChunkEncoder::ComputeAsked(const CounterView& counters, bool all_slots) {
  const bool sites = asked_sites_.Compute(
      counters.sites, all_slots ? counters.sites.size() : size_t{last_site_} + 1);
  const bool graphs = asked_graphs_.Compute(
      counters.graphs, all_slots ? counters.graphs.size() : size_t{last_graph_} + 1);
  return sites || graphs;
}

void ChunkEncoder::AppendStatistics(const ColumnStatistics* columns,
                                    const OperationTotals* operations) {
  asked_.clear();
  asked_sites_.AppendTo(1, 2, asked_);
  asked_graphs_.AppendTo(3, 4, asked_);
  if (columns == nullptr && asked_.empty()) return;
  pbf_writer chunk(head_);
  pbf_writer to(chunk, wire::kStatistics);
  if (columns != nullptr) {
    PutUint(to, 1, columns->first_start_ns);
    PutUint(to, 2, columns->last_end_ns);
    PutUint(to, 3, columns->record_count);
    PutUint(to, 4, columns->untimed_count);
    PutUint(to, 5, columns->late_count);
    PutUint(to, 6, columns->launch_count);
  }
  if (!asked_.empty()) to.add_message(7, asked_);
  if (columns != nullptr) {
    const auto& sites = columns->sites;
    uint32_t previous = 0;
    PutPacked(to, 8, sites.size(), [&](size_t i) -> uint64_t {
      return ZigZag32(sites[i].first - std::exchange(previous, sites[i].first));
    });
    PutPacked(to, 9, sites.size(), [&](size_t i) { return sites[i].second.records; });
    PutPacked(to, 10, sites.size(), [&](size_t i) { return sites[i].second.duration_ns; });
  }
  if (operations != nullptr && operations->count != 0) {
    pbf_writer of(to, 11);
    PutUint(of, 1, operations->count);
    PutUint(of, 2, operations->untimed_count);
    PutUint(of, 3, operations->late_count);
    PutUint(of, 4, operations->first_start_ns);
    PutUint(of, 5, operations->last_end_ns);
    const auto& classes = operations->classes;
    uint32_t previous = 0;
    PutPacked(of, 6, classes.size(), [&](size_t i) -> uint64_t {
      return ZigZag32(classes[i].first - std::exchange(previous, classes[i].first));
    });
    PutPacked(of, 7, classes.size(), [&](size_t i) { return classes[i].second.count; });
    PutPacked(of, 8, classes.size(), [&](size_t i) { return classes[i].second.duration_ns; });
    PutPacked(of, 9, classes.size(), [&](size_t i) { return classes[i].second.bytes; });
  }
}

const std::string& ChunkEncoder::Encode(
    uint64_t sequence, const ColumnStatistics* columns, const OperationTotals* operations,
    const ColumnsFrame* frame, std::span<const std::pair<uint32_t, uint32_t>> site_attributes) {
  head_.clear();
  pbf_writer chunk(head_);
  PutUint(chunk, wire::kSequence, sequence);
  AppendStatistics(columns, operations);
  head_.append(pending_);
  if (!site_attributes.empty()) {
    pbf_writer to(chunk, wire::kSiteAttributes);
    PutPacked(to, 1, site_attributes.size(), [&](size_t i) { return site_attributes[i].first; });
    PutPacked(to, 2, site_attributes.size(), [&](size_t i) { return site_attributes[i].second; });
  }
  if (frame != nullptr) {
    pbf_writer to(chunk, wire::kColumnsFrame);
    PutUint(to, 1, frame->size_bytes);
    to.add_fixed64(2, frame->hash);
  }
  return head_;
}

void ChunkEncoder::Commit() {
  pending_.clear();
  asked_sites_.Commit();
  asked_graphs_.Commit();
}

}  // namespace hotproof::trace
