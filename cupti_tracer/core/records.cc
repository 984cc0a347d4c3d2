#include "cupti_tracer/core/records.h"

#include <cstring>
#include <string_view>
#include <utility>

namespace hotproof::tracer {
namespace {

// CUPTI_API_VERSION from which a kernel record has isDeviceLaunched (CUpti_ActivityKernel10).
constexpr uint32_t kKernel10Version = 130000;

void GridOf(const CUpti_ActivityKernel10& r, uint32_t (&grid)[3], uint32_t (&block)[3]) {
  grid[0] = static_cast<uint32_t>(r.gridX);
  grid[1] = static_cast<uint32_t>(r.gridY);
  grid[2] = static_cast<uint32_t>(r.gridZ);
  block[0] = static_cast<uint32_t>(r.blockX);
  block[1] = static_cast<uint32_t>(r.blockY);
  block[2] = static_cast<uint32_t>(r.blockZ);
}

trace::AttributesEntry AttributesOf(const CUpti_ActivityKernel10& r, uint32_t cupti_version) {
  trace::AttributesEntry a;
  a.registers_per_thread = r.registersPerThread;
  a.static_shared_bytes = static_cast<uint32_t>(r.staticSharedMemory);
  a.local_bytes_per_thread = r.localMemoryPerThread;
  a.local_total_bytes = r.localMemoryTotal_v2;
  a.launch_type = r.launchType;
  a.cluster_x = r.clusterX;
  a.cluster_y = r.clusterY;
  a.cluster_z = r.clusterZ;
  a.cluster_scheduling_policy = r.clusterSchedulingPolicy;
  a.shared_memory_executed_bytes = r.sharedMemoryExecuted;
  // 0: not asked for; else one more than the percentage.
  a.shared_memory_carveout_requested =
      r.isSharedMemoryCarveoutRequested != 0 ? 1u + r.sharedMemoryCarveoutRequested : 0u;
  a.partitioned_cache_executed = static_cast<uint32_t>(r.partitionedGlobalCacheExecuted);
  a.cache_config = r.cacheConfig.both;
  a.shared_memory_config = r.sharedMemoryConfig;
  a.channel_type = static_cast<uint32_t>(r.channelType);
  a.max_potential_cluster_size = r.maxPotentialClusterSize;
  a.max_active_clusters = r.maxActiveClusters;
  a.device_launched = cupti_version >= kKernel10Version && r.isDeviceLaunched != 0;
  return a;
}

std::string AttributesKey(const trace::AttributesEntry& a) {
  const uint64_t fields[] = {a.registers_per_thread, a.static_shared_bytes, a.local_bytes_per_thread,
                             a.local_total_bytes, a.launch_type, a.cluster_x, a.cluster_y, a.cluster_z,
                             a.cluster_scheduling_policy, a.shared_memory_executed_bytes,
                             a.shared_memory_carveout_requested, a.device_launched ? 1u : 0u,
                             a.partitioned_cache_executed, a.cache_config, a.shared_memory_config,
                             a.channel_type, a.max_potential_cluster_size, a.max_active_clusters};
  return {reinterpret_cast<const char*>(fields), sizeof fields};
}

}  // namespace

void RecordSink::OnBufferCompleted(uint8_t* buffer, size_t valid_bytes) {
  if (buffer == nullptr) return;
  // CUPTI is asked first, the trace's lock is taken afterwards.
  Contents contents = TakeContents();
  auto& [kernels, operations] = contents;
  kernels.reserve(valid_bytes / sizeof(CUpti_ActivityKernel9));
  bytes_.fetch_add(valid_bytes, std::memory_order_relaxed);
  CUpti_Activity* record = nullptr;
  while (valid_bytes > 0 &&
         cupti_.ActivityGetNextRecord(buffer, valid_bytes, &record) == CUPTI_SUCCESS) {
    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ||
        record->kind == CUPTI_ACTIVITY_KIND_KERNEL) {
      kernels.push_back(reinterpret_cast<const CUpti_ActivityKernel10*>(record));
    } else if (OperationSink::IsOperation(record->kind)) {
      operations.push_back(record);
    }
  }
  size_t dropped = 0;
  if (cupti_.ActivityGetNumDroppedRecords(nullptr, 0, &dropped) == CUPTI_SUCCESS) {
    dropped_.fetch_add(dropped, std::memory_order_relaxed);
  }
  const bool discard = BufferPool::IsDiscard(buffer);
  if (discard || file_.disk_failed()) {
    (discard ? discarded_ : not_written_).fetch_add(kernels.size(), std::memory_order_relaxed);
    operations_discarded_.fetch_add(operations.size(), std::memory_order_relaxed);
  } else {
    std::lock_guard lock(file_.mutex());
    for (const CUpti_ActivityKernel10* kernel : kernels) AddLocked(*kernel, /*final_try=*/false);
    for (const CUpti_Activity* operation : operations) {
      const uint32_t id = OperationSink::CorrelationId(*operation);
      operations_.AddLocked(*operation, id == 0 ? 0 : extender_.Extend(id));
    }
    trace::Writer* writer = file_.writer_locked();
    if (writer != nullptr && (writer->pending_records() >= kRecordsPerChunk ||
                              writer->pending_operations() >= kRecordsPerChunk)) {
      ListLaunchesLocked();
      file_.FlushLocked();
    }
    records_.fetch_add(kernels.size(), std::memory_order_relaxed);
  }
  pool_.Release(buffer);
  KeepContents(std::move(contents));
}

RecordSink::Contents RecordSink::TakeContents() {
  std::lock_guard lock(contents_mutex_);
  return std::exchange(contents_, {});
}

void RecordSink::KeepContents(Contents contents) {
  contents.kernels.clear();
  contents.operations.clear();
  std::lock_guard lock(contents_mutex_);
  // Two at once: the longer one serves the next.
  if (contents.kernels.capacity() >= contents_.kernels.capacity()) contents_ = std::move(contents);
}

bool RecordSink::AgreesLocked(SiteInfo& site, const CUpti_ActivityKernel10& r,
                              bool name_outlives_call) const {
  uint32_t grid[3], block[3];
  GridOf(r, grid, block);
  if (std::memcmp(grid, site.grid, sizeof grid) != 0) return false;
  if (std::memcmp(block, site.block, sizeof block) != 0) {
    // Not known: a legacy launch whose block was set before the tracer came.
    if (site.block[0] != 0) return false;
  }
  const uint32_t generation = sites_.generation();
  if (r.name == site.record_name && site.record_name_generation == generation) return true;
  if (r.name == nullptr || site.kernel == nullptr || site.kernel->name != r.name) return false;
  if (name_outlives_call) {
    site.record_name = r.name;
    site.record_name_generation = generation;
  }
  return true;
}

uint32_t RecordSink::UnattributedSiteLocked(const CUpti_ActivityKernel10& r) {
  ++unattributed_;
  uint32_t grid[3], block[3];
  GridOf(r, grid, block);
  return sites_.ResolveUnattributedLocked(r.name == nullptr ? "" : r.name, grid, block,
                                          static_cast<uint32_t>(r.dynamicSharedMemory),
                                          r.graphNodeId != 0 ? 1 : 0);
}

uint32_t RecordSink::AttributesLocked(SiteInfo& site, const CUpti_ActivityKernel10& r) {
  trace::AttributesEntry attributes = AttributesOf(r, cupti_.version);
  if (site.attributes_id != 0 && attributes == site.attributes) return site.attributes_id;
  const auto [found, inserted] = attribute_ids_.emplace(
      AttributesKey(attributes), static_cast<uint32_t>(attribute_ids_.size() + 1));
  if (inserted) {
    if (trace::Writer* writer = file_.writer_locked()) {
      writer->AddAttributes(found->second, attributes);
    }
  }
  site.attributes = attributes;
  site.attributes_id = found->second;
  return found->second;
}

void RecordSink::AddLocked(const CUpti_ActivityKernel10& r, bool final_try) {
  trace::Writer* writer = file_.writer_locked();
  if (writer == nullptr) return;
  const uint32_t stream = streams_.InternLocked(r.deviceId, r.contextId, r.streamId);
  LaunchTable::Launch launch = launches_.Find(r.correlationId, stream);
  if (!launch.target.is_known()) {
    // The launch call may not have returned yet.
    if (!final_try && waiting_.size() < kMaxWaiting) {
      const std::string_view name = r.name == nullptr ? "" : r.name;
      auto found = waiting_names_.find(name);
      if (found == waiting_names_.end()) found = waiting_names_.emplace(name).first;
      Waiting& waiting = waiting_.emplace_back();
      waiting.name = &*found;
      std::memcpy(&waiting.record, &r, sizeof(CUpti_ActivityKernel9));
      waiting.record.isDeviceLaunched =
          cupti_.version >= kKernel10Version ? r.isDeviceLaunched : uint8_t{0};
      return;
    }
    if (r.graphId != 0) launch.target = graphs_.CurrentTargetLocked(r.graphId);
  }
  trace::RecordEntry entry;
  // Kernels in conditional bodies have no correlation id.
  entry.correlation_id = r.correlationId == 0 ? 0 : extender_.Extend(r.correlationId);
  entry.start_ns = r.start;
  entry.end_ns = r.end;
  entry.target = launch.target;
  entry.stream = stream;
  if (launch.target.is_graph()) {
    const GraphRegistry::Place place =
        graphs_.FindNodeLocked(launch.target.id(), r.graphNodeId);
    entry.node = place.position;
    entry.default_site = place.site;
  } else if (launch.target.is_known()) {
    entry.default_site = launch.target.id();
  }
  uint32_t site = entry.default_site;
  if (site == 0 || !AgreesLocked(sites_.SiteLocked(site), r, /*name_outlives_call=*/!final_try)) {
    site = UnattributedSiteLocked(r);
    entry.site = site;
  }
  entry.attributes = AttributesLocked(sites_.SiteLocked(site), r);
  writer->AddRecord(entry);
}

void RecordSink::ListLaunchesLocked() {
  trace::Writer* writer = file_.writer_locked();
  if (writer == nullptr) return;
  launches_.ListNew([&](const LaunchTable::Launch& launch) {
    ++launches_listed_;
    writer->AddLaunch({.correlation_id = extender_.Extend(launch.correlation_id),
                       .target = launch.target,
                       .stream = launch.stream,
                       .enter_ns = launch.enter_ns,
                       .call_ns = launch.call_ns});
  });
  if (launches_.dropped_possible() != unlisted_reported_) {
    unlisted_reported_ = launches_.dropped_possible();
    file_.AddProblemLocked(ProblemKind::kLaunchEntriesDropped, unlisted_reported_, "");
  }
}

void RecordSink::Tick(bool last) {
  std::lock_guard lock(file_.mutex());
  ListLaunchesLocked();
  tried_again_.clear();
  tried_again_.swap(waiting_);
  for (Waiting& waiting : tried_again_) {
    waiting.record.name = waiting.name->c_str();
    const CUpti_ActivityKernel10& r = waiting.record;
    const uint32_t stream = streams_.InternLocked(r.deviceId, r.contextId, r.streamId);
    const bool known = launches_.Find(r.correlationId, stream).target.is_known();
    if (known || last || waiting.ticks >= 4) {
      AddLocked(waiting.record, /*final_try=*/true);
    } else {
      ++waiting.ticks;
      waiting_.push_back(waiting);
    }
  }
  const auto report = [this](ProblemKind kind, uint64_t now, uint64_t& reported,
                             const char* detail = "") {
    if (now == reported) return;
    reported = now;
    file_.AddProblemLocked(kind, now, detail);
  };
  report(ProblemKind::kCuptiDroppedRecords, dropped(), dropped_reported_);
  report(ProblemKind::kRecordsDiscarded, discarded_.load(std::memory_order_relaxed),
         discarded_reported_);
  report(ProblemKind::kRecordsDiscarded, not_written_.load(std::memory_order_relaxed),
         not_written_reported_, "not written");
  report(ProblemKind::kOperationsDiscarded,
         operations_discarded_.load(std::memory_order_relaxed), operations_discarded_reported_);
  report(ProblemKind::kUnattributedRecords, unattributed_, unattributed_reported_);
}

}  // namespace hotproof::tracer
