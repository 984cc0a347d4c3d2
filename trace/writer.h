// Writes one .hpt trace. Owned by the tracer, which calls it under its own lock: the class is not
// thread-safe. Nothing here throws, logs, or allocates per record once its buffers have grown to
// the chunk size. No protobuf, no Abseil: this is linked into a library preloaded into other
// people's processes. Ids (kernels, attributes, tensor maps, range paths, sites, graphs, streams) are
// given by the caller, ascending from 1, each added once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/counter_view.h"
#include "trace/format.h"

namespace hotproof::trace {

// Mirrors of the messages in proto/trace.proto; the field meanings are documented there.
struct DeviceEntry {
  uint32_t id = 0;
  std::string name, uuid;
  uint32_t compute_capability_major = 0, compute_capability_minor = 0, multiprocessors = 0;
  uint64_t memory_bytes = 0;
  uint32_t l2_bytes = 0, memory_clock_khz = 0, memory_bus_bits = 0;
};

// Empty strings and zeros are not written, so a second header only adds fields.
struct HeaderEntry {
  uint32_t format_major = 0, format_minor = 0;
  std::string hotproof_version;
  uint32_t mode = 0;  // trace.proto's Mode
  uint32_t pid = 0, parent_pid = 0;
  std::string host, boot_id;
  uint64_t process_start_ticks = 0;
  std::string executable;
  std::vector<std::string> arguments, environment;
  uint64_t start_realtime_ns = 0;
  std::string cupti_path;
  uint32_t cupti_version = 0, driver_version = 0;
  std::vector<DeviceEntry> devices;
  bool interposers = false;
  std::string counters_file;
  uint32_t flush_period_ms = 0;
  std::vector<std::string> quirks;
  std::string chained_injection, driver_name;
  uint32_t cupti_header_version = 0;
  std::vector<uint32_t> activity_kinds, refused_activity_kinds;
};

struct KernelEntry {
  uint32_t id = 0;
  std::string_view name;
  uint32_t module_id = 0;
  uint64_t cubin_hash = 0;
  std::span<const uint32_t> parameter_offsets, parameter_sizes;
  uint32_t architecture = 0;
  std::string_view architecture_suffix;
};

struct AttributesEntry {
  uint32_t registers_per_thread = 0, static_shared_bytes = 0, local_bytes_per_thread = 0;
  uint64_t local_total_bytes = 0;
  uint32_t launch_type = 0, cluster_x = 0, cluster_y = 0, cluster_z = 0;
  uint32_t cluster_scheduling_policy = 0, shared_memory_executed_bytes = 0;
  uint32_t shared_memory_carveout_requested = 0;
  bool device_launched = false;
  uint32_t partitioned_cache_executed = 0, cache_config = 0, shared_memory_config = 0;
  uint32_t channel_type = 0, max_potential_cluster_size = 0, max_active_clusters = 0;
  friend bool operator==(const AttributesEntry&, const AttributesEntry&) = default;
};

struct TensorMapEntry {
  uint32_t id = 0, data_type = 0;
  std::span<const uint64_t> global_dims, global_strides;
  std::span<const uint32_t> box_dims, element_strides;
  uint32_t interleave = 0, swizzle = 0, kind = 0;
  bool learnt = false;
};

struct TensorMapUseEntry {
  uint32_t argument_offset = 0, tensor_map_id = 0;
};

// A call into a library of matrix products; its numbers have no padding and are hashed as bytes.
struct LibraryCallEntry {
  std::string_view entry_point;
  struct Numbers {
    uint64_t m = 0, n = 0, k = 0, batch = 0, groups = 0;
    uint64_t lda = 0, ldb = 0, ldd = 0, stride_a = 0, stride_b = 0, stride_d = 0;
    uint32_t operation_a = 0, operation_b = 0, order_d = 0;
    uint32_t a_type = 0, b_type = 0, c_type = 0, d_type = 0, compute_type = 0, scale_type = 0;
    uint32_t a_scale_mode = 0, b_scale_mode = 0, d_scale_mode = 0, epilogue = 0, unused = 0;
  } numbers;
};

struct SiteEntry {
  uint32_t id = 0, kernel_id = 0;
  uint32_t grid[3] = {}, block[3] = {}, cluster[3] = {};
  uint32_t dynamic_shared_bytes = 0;
  bool captured = false, cooperative = false, programmatic = false;
  std::string_view arguments;
  std::span<const uint32_t> masked_offsets;
  bool arguments_overflowed = false;
  std::span<const TensorMapUseEntry> tensor_maps;
  uint32_t api_cbid = 0;
  bool unattributed = false;
  const LibraryCallEntry* library_call = nullptr;
  std::string_view launching_library;
  bool library_calls_overflowed = false;
  uint32_t range_path = 0, process_ranges = 0;
};

struct RangePathEntry {
  uint32_t id = 0, parent = 0;
  std::string_view name, domain;
  uint32_t source = 0;        // trace.proto's RangeSource
  uint32_t payload_kind = 0;  // its PayloadKind
  uint64_t payload = 0;
  bool many = false;
};

struct GraphEntry {
  uint32_t id = 0, exec_graph_id = 0, source_graph_id = 0, replaces = 0;
  std::span<const uint64_t> node_ids;
  std::span<const uint32_t> node_sites;
  std::span<const uint32_t> caveats;
  uint32_t disabled_nodes = 0, other_nodes = 0;
  std::span<const uint64_t> other_node_ids;
  std::span<const uint32_t> other_node_types;
  bool edges_known = false;
  std::span<const uint32_t> edge_from, edge_to, edge_data;  // edge_data: of each edge, or none
  std::span<const uint32_t> node_range_paths, node_process_ranges;  // of each node, or none
};

struct StreamEntry {
  uint32_t id = 0, device_id = 0, context_id = 0, stream_id = 0;
};

struct SnapshotEntry {
  uint32_t reason = 0;  // trace.proto's SnapshotReason
  std::string_view label;
  uint64_t realtime_ns = 0, correlation_id = 0;
  uint32_t graph_id = 0;
};

struct ProblemEntry {
  uint32_t kind = 0;  // trace.proto's ProblemKind
  uint64_t count = 0;
  std::string_view detail;
  uint64_t realtime_ns = 0;
};

struct ClockPairEntry {
  uint64_t cupti_ns = 0, realtime_ns = 0, monotonic_ns = 0;
};

struct LaunchEntry {
  uint64_t correlation_id = 0;
  Target target;
  uint32_t stream = 0;
  uint64_t enter_ns = 0;  // CLOCK_MONOTONIC; 0: not known
  uint32_t call_ns = 0;   // how long the call took
};

struct RecordEntry {
  uint64_t correlation_id = 0;
  uint64_t start_ns = 0, end_ns = 0;  // either zero, or end before start: untimed
  Target target;                      // what the launch asked for; unknown: site must be set
  uint32_t node = 0;                  // position in the graph's node list; 0 for eager
  uint32_t stream = 0;                // Stream id
  uint32_t site = 0;                  // 0: as target and node say; else an exception
  uint32_t default_site = 0;  // the site that target and node give (for attributes), 0: none
  uint32_t attributes = 0;    // 0: the site's
};

struct OperationClassEntry {
  uint32_t id = 0;
  uint32_t kind = 0;  // trace.proto's OperationKind
  uint32_t copy_kind = 0, source_memory = 0, destination_memory = 0, flags = 0, channel_type = 0;
  bool device_launched = false, peer = false;
  uint32_t source_device = 0, source_context = 0, destination_device = 0, destination_context = 0;
  uint32_t synchronization_type = 0, return_value = 0;
};

struct OperationEntry {
  uint64_t correlation_id = 0;
  uint64_t start_ns = 0, end_ns = 0;  // either zero, or end before start: untimed
  uint32_t operation_class = 0;
  uint32_t stream = 0;   // Stream id
  uint64_t node_id = 0;  // graphNodeId, 0 outside of graphs
  uint64_t amount = 0, detail = 0;
};

struct FooterEntry {
  uint64_t realtime_ns = 0;
  std::string_view reason;
  uint64_t launches = 0, records = 0, dropped = 0, discarded = 0;
  bool flushed = false;
};

// kSlow: the disk is so far behind that nothing more is taken. kDescriptorLost: the program has closed the
// file's descriptor, and may have a file of its own under its number. kTooLarge: a file would begin with more
// than readers take. kEntryLost and kRecordLost: it is written, without an entry for which there was no memory
// or no room: of any table, a problem even; or only a launch, a record of one or an operation.
enum class WriteResult { kOk, kNoSpace, kError, kSlow, kDescriptorLost, kTooLarge, kEntryLost, kRecordLost };

class Writer {
 public:
  // `fd`: an open, empty, writable file, not O_APPEND; the writer owns it. `zstd_level`: 1..19.
  explicit Writer(int fd, int zstd_level = 1);
  // Before the first entry: keeps what StartFile needs.
  void KeepForNextFile();
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void AddHeader(const HeaderEntry&);
  void AddKernel(const KernelEntry&);
  void AddAttributes(uint32_t id, const AttributesEntry&);
  void AddTensorMap(const TensorMapEntry&);
  void AddRangePath(const RangePathEntry&);
  void AddSite(const SiteEntry&);
  void AddGraph(const GraphEntry&);
  void AddStream(const StreamEntry&);
  void AddSnapshot(const SnapshotEntry&, const CounterView&);
  void AddProblem(const ProblemEntry&);
  void AddClockPair(const ClockPairEntry&);
  void AddLaunch(const LaunchEntry&);
  void AddRecord(const RecordEntry&);
  void AddOperationClass(const OperationClassEntry&);
  void AddOperation(const OperationEntry&);
  void AddFooter(const FooterEntry&);

  // Flush at format.h's kChunkEntries of any, or sooner; more than limits.h says are not taken.
  size_t pending_records() const;
  size_t pending_launches() const;
  size_t pending_operations() const;
  bool has_pending_tables() const;  // kernels, sites, graphs, ... not yet on disk

  // Writes what is pending as one chunk (nothing pending and no counter moved: writes nothing).
  // `counters` are the values now. On failure the chunk's tables stay pending, its launches and
  // records are dropped (the caller reports them), and a torn frame is cut off if possible. kEntryLost
  // or kRecordLost where one since the last flush was.
  WriteResult Flush(const CounterView& counters);
  // Tables, snapshots and problems only: a small chunk, written before the first count of a site.
  WriteResult FlushTables(const CounterView& counters);

  // Goes on in the file `fd` (as the first one; owned), which begins with all tables and the sums of what
  // is in the files before, once that is in it and `publish` has put it in its place. Not kOk: nothing
  // has changed, and `fd` is closed or, where the disk hangs, will be. kSlow: something is pending or the
  // disk is behind. kTooLarge: the tables only grow, so that it stays so.
  WriteResult StartFile(int fd, const std::function<bool()>& publish);

  // Launches that were added and are in no chunk: it was not written, or they were lost.
  uint64_t launches_unlisted() const;
  uint64_t records_written() const;  // in all files; kernels', operations are counted in their chunks alone
  uint64_t bytes_written() const;    // to the present file
  // Somebody else has made the present file shorter: what is written behind cannot be read.
  bool file_cut_off() const;
  // False: the program has closed the file's descriptor. Nothing is written until TakeFileAgain.
  bool holds_file() const;
  // `fd` (owned): the present file, opened anew as the first was; false: it is another.
  bool TakeFileAgain(int fd);
  // Waits until everything is in the file; false: not within `patience_ms`. Any thread.
  bool AwaitWritten(unsigned patience_ms);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hotproof::trace
