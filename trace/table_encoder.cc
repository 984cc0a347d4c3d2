// The tables, snapshots and problems of a head, as they come up.
#include <algorithm>

#include "trace/chunk_encoder.h"
#include "trace/wire_fields.h"
#include "trace/wire_put.h"
#include "xxhash.h"

namespace hotproof::trace {

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
  PutUint(to, 10, map.learnt ? 1 : 0);
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

// A composition differs from the one that it replaces in a kernel, mostly, not in what is around: that is
// said once.
void ChunkEncoder::PutSurroundings(const GraphEntry& graph, std::string& message) {
  scratch_.clear();
  pbf_writer own(scratch_);
  PutDelta64(own, 10, graph.other_node_ids);
  PutPacked(own, 11, graph.other_node_types);
  PutUint(own, 12, graph.edges_known);
  PutDelta32(own, 13, graph.edge_from);
  PutDelta32(own, 14, graph.edge_to);
  PutPacked(own, 15, graph.edge_data);
  const XXH128_hash_t hash =
      XXH3_128bits_withSeed(scratch_.data(), scratch_.size(), graph.node_ids.size());
  Surroundings self{.hash = {hash.low64, hash.high64}, .graph = graph.id};
  if (graph.replaces != 0 && graph.replaces < surroundings_.size()) {
    const Surroundings& before = surroundings_[graph.replaces];
    if (before.graph != 0 && std::equal(self.hash, self.hash + 2, before.hash)) self = before;
  }
  if (self.graph == graph.id || scratch_.empty()) {
    message += scratch_;
  } else {
    pbf_writer to(message);
    PutUint(to, 18, self.graph);
  }
  if (graph.id >= surroundings_.size()) surroundings_.resize(graph.id + 1);
  surroundings_[graph.id] = self;
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
  PutSurroundings(graph, pending_);
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
  snapshots_.Add({.reason = snapshot.reason,
                  .label = std::string(snapshot.label.substr(0, kMaxLabelBytes)),
                  .realtime_ns = snapshot.realtime_ns,
                  .correlation_id = snapshot.correlation_id,
                  .graph_id = snapshot.graph_id,
                  .sites = snapshot_sites_.moves(),
                  .graphs = snapshot_graphs_.moves()});
  snapshot_sites_.Commit();  // snapshots stay pending until they are on disk: none is lost
  snapshot_graphs_.Commit();
}

// Cumulative: the latest says all.
void ChunkEncoder::AddProblem(const ProblemEntry& problem) {
  std::string message;
  pbf_writer chunk(message);
  {
    pbf_writer to(chunk, wire::kProblems);
    PutUint(to, 1, problem.kind);
    PutUint(to, 2, problem.count);
    PutString(to, 3, problem.detail);
    PutUint(to, 4, problem.realtime_ns);
  }
  problems_.insert_or_assign({problem.kind, std::string(problem.detail)}, std::move(message));
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

}  // namespace hotproof::trace
