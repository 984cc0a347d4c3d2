#include "trace/table_builder.h"

#include <algorithm>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "trace/graph_decoder.h"
#include "trace/limits.h"
#include "trace/rollups.h"

namespace hotproof::trace {
namespace {

// Ids are given densely. One far beyond the entries seen so far is not an id, even with a few
// thousand entries lost.
bool IsPlausibleId(uint32_t id, uint64_t entries) {
  return id != 0 && id <= std::min<uint64_t>(65536 + 16 * entries, kMaxTableEntries);
}

// Snapshots are held as full counter values, in 512 MiB at most.
constexpr uint64_t kMaxSnapshotWords = uint64_t{1} << 26;

void AddCounts(const SlotCounts& counts, std::vector<uint64_t>& to) {
  for (const auto& [id, count] : counts) to[id < to.size() ? id : 0] += count;
}

// Sums by id while it is not yet known which ids the tables will have.
void Add(uint32_t id, uint64_t count, std::vector<uint64_t>& to) {
  if (id >= kMaxCounterSlots) id = 0;
  if (id >= to.size()) to.resize(id + 1);
  to[id] += count;
}

// What belongs to ids that no table has is added to 0.
void Fit(size_t size, std::vector<uint64_t>& sums) {
  for (size_t id = std::max<size_t>(size, 1); id < sums.size(); ++id) sums[0] += sums[id];
  sums.resize(size);
}

// What an entry holds beyond its own size.
template <typename Entry>
uint64_t HeldBytes(const Entry& entry) {
  return entry.SpaceUsedLong() - sizeof(Entry);
}

template <typename Entries>
uint64_t HeldByAll(const Entries& entries) {
  uint64_t bytes = 0;
  for (const auto& entry : entries) bytes += HeldBytes(entry);
  return bytes;
}

// A message takes no more memory than this for each of its bytes: an empty one among others has two
// and takes its own size and a pointer.
constexpr uint64_t kMostHeldPerByte = 256;
static_assert(sizeof(Device) < 2 * kMostHeldPerByte - 64);
static_assert(sizeof(Problem) < 2 * kMostHeldPerByte - 64);

uint64_t SurroundingsBytes(const GraphTable& graph) {
  return sizeof(uint64_t) * graph.other_node_ids.size() +
         sizeof(uint32_t) * graph.other_node_types.size() +
         sizeof(GraphTable::Edge) * graph.edges.size();
}

uint64_t HeldBytes(const GraphTable& graph) {
  return SurroundingsBytes(graph) + sizeof(uint64_t) * graph.node_ids.size() +
         sizeof(uint32_t) * (graph.node_sites.size() + graph.node_range_paths.size() +
                             graph.node_process_ranges.size()) +
         sizeof(GraphCaveat) * graph.caveats.size();
}

// Whole characters of it: what old writers stored may be longer.
std::string Label(const Snapshot& snapshot) {
  const std::string& label = snapshot.label();
  size_t length = std::min(label.size(), kMaxLabelBytes);
  while (length != label.size() && length != 0 && (label[length] & 0xC0) == 0x80) --length;
  return label.substr(0, length);
}

}  // namespace

TableBuilder::TableBuilder(Tables& tables, std::vector<ReadIssue>& issues,
                           uint64_t memory_limit_bytes)
    : tables_(tables), issues_(issues), memory_limit_bytes_(memory_limit_bytes) {
  tables.kernels.resize(1);
  tables.attributes.resize(1);
  tables.tensor_maps.resize(1);
  tables.range_paths.resize(1);
  tables.sites.resize(1);
  tables.graphs.resize(1);
  tables.streams.resize(1);
  tables.operation_classes.resize(1);
}

void TableBuilder::AddMalformed(std::string detail) {
  constexpr size_t kMaxIssues = 1000;  // enough to say that the file is bad
  if (issues_.size() > kMaxIssues) return;
  issues_.push_back({ReadIssue::Kind::kMalformedChunk, offset_bytes_, 0, std::move(detail)});
}

template <typename Entry>
void TableBuilder::Place(std::vector<Entry>& table, uint64_t& entries, uint32_t id, Entry&& entry,
                         const char* table_name) {
  if (!IsPlausibleId(id, entries)) {
    AddMalformed(absl::StrCat(table_name, " id ", id, " is out of range; entry ignored"));
    return;
  }
  ++entries;
  if (id >= table.size()) {
    memory_bytes_ += (id + 1 - table.size()) * sizeof(Entry);
    table.resize(id + 1);
  }
  // A later file tells its tables again.
  if (measures_entries_ || std::is_same_v<Entry, GraphTable>) {
    memory_bytes_ += HeldBytes(entry) - HeldBytes(table[id]);
  }
  table[id] = std::forward<Entry>(entry);
}

TableBuilder::Increments TableBuilder::Decode(const Counters& counters) {
  const auto decode = [this](const auto& ids, const auto& counts) {
    if (ids.size() != counts.size()) AddMalformed("counter ids and counts differ in number");
    SlotCounts result;
    uint32_t id = 0;
    for (int i = 0; i < std::min(ids.size(), counts.size()); ++i) {
      result.push_back({id += static_cast<uint32_t>(ids[i]), counts[i]});
    }
    Normalise(result);
    return result;
  };
  return {decode(counters.site_ids(), counters.site_counts()),
          decode(counters.graph_ids(), counters.graph_counts())};
}

void TableBuilder::FoldGraph(const Graph& graph) {
  const auto complain = [&](const char* what) {
    AddMalformed(absl::StrCat("graph ", graph.id(), ": ", what));
  };
  GraphTable table = DecodeGraph(graph, complain);
  if (graph.surroundings_of() != 0) TakeSurroundings(graph.surroundings_of(), table);
  Place(tables_.graphs, graphs_, graph.id(), std::move(table), "graph");
}

void TableBuilder::TakeSurroundings(uint32_t of, GraphTable& table) {
  // Lost with its chunk: then it is not known what is around.
  if (of >= tables_.graphs.size()) return;
  const GraphTable& same = tables_.graphs[of];
  if (same.id == 0) return;
  if (same.node_ids.size() != table.node_ids.size()) {
    AddMalformed(absl::StrCat("graph ", table.id, ": is not like graph ", same.id));
    return;
  }
  // A few bytes of a hostile file ask for copies of megabytes.
  if (memory_bytes_ + SurroundingsBytes(same) > memory_limit_bytes_) {
    memory_bytes_ = memory_limit_bytes_ + 1;
    return;
  }
  table.other_node_ids = same.other_node_ids;
  table.other_node_types = same.other_node_types;
  table.edges_known = same.edges_known;
  table.edges = same.edges;
}

// Measuring needs descriptors, and those take longer to build than a short trace to read.
void TableBuilder::MeasureWhenNeeded(uint64_t head_bytes) {
  if (measures_entries_) return;
  head_bytes_ += head_bytes;
  if (head_bytes_ <= memory_limit_bytes_ / (4 * kMostHeldPerByte)) return;
  measures_entries_ = true;
  memory_bytes_ += HeldBytes(tables_.header) + HeldByAll(tables_.kernels) +
                   HeldByAll(tables_.attributes) + HeldByAll(tables_.tensor_maps) +
                   HeldByAll(tables_.range_paths) + HeldByAll(tables_.sites) +
                   HeldByAll(tables_.streams) + HeldByAll(tables_.operation_classes) +
                   HeldByAll(tables_.problems) + HeldByAll(tables_.clocks);
}

bool TableBuilder::FoldTablesAgain(Chunk& head, uint64_t head_bytes, uint64_t offset_bytes) {
  offset_bytes_ = offset_bytes;
  MeasureWhenNeeded(head_bytes);
  FoldTables(head);
  return memory_bytes_ <= memory_limit_bytes_;
}

void TableBuilder::FoldTables(Chunk& head) {
  for (Kernel& entry : *head.mutable_kernels()) {
    Place(tables_.kernels, kernels_, entry.id(), std::move(entry), "kernel");
  }
  for (Attributes& entry : *head.mutable_attributes()) {
    Place(tables_.attributes, attributes_, entry.id(), std::move(entry), "attributes");
  }
  for (TensorMap& entry : *head.mutable_tensor_maps()) {
    Place(tables_.tensor_maps, tensor_maps_, entry.id(), std::move(entry), "tensor map");
  }
  for (RangePath& entry : *head.mutable_range_paths()) {
    Place(tables_.range_paths, range_paths_, entry.id(), std::move(entry), "range path");
  }
  for (Site& entry : *head.mutable_sites()) {
    Place(tables_.sites, sites_, entry.id(), std::move(entry), "site");
  }
  for (const Graph& entry : head.graphs()) FoldGraph(entry);
  for (Stream& entry : *head.mutable_streams()) {
    Place(tables_.streams, streams_, entry.id(), std::move(entry), "stream");
  }
  for (OperationClass& entry : *head.mutable_operation_classes()) {
    Place(tables_.operation_classes, operation_classes_, entry.id(), std::move(entry),
          "operation class");
  }
  const SiteAttributes& pairs = head.site_attributes();
  if (pairs.sites_size() != pairs.attributes_size()) {
    AddMalformed("site attributes: sites and ids differ in number");
  }
  for (int i = 0; i < std::min(pairs.sites_size(), pairs.attributes_size()); ++i) {
    site_attributes_.push_back({pairs.sites(i), pairs.attributes(i)});
    memory_bytes_ += sizeof site_attributes_.back();
  }
}

bool TableBuilder::Fold(Chunk& head, uint64_t head_bytes, uint64_t offset_bytes) {
  offset_bytes_ = offset_bytes;
  MeasureWhenNeeded(head_bytes);
  if (head.has_header()) {
    if (measures_entries_) memory_bytes_ -= HeldBytes(tables_.header);
    tables_.header.MergeFrom(head.header());
    if (measures_entries_) memory_bytes_ += HeldBytes(tables_.header);
  }
  FoldTables(head);
  for (Snapshot& entry : *head.mutable_snapshots()) {
    Increments increments = Decode(entry.asked());
    snapshots_.Add({.reason = static_cast<uint32_t>(entry.reason()),
                    .label = Label(entry),
                    .realtime_ns = entry.realtime_ns(),
                    .correlation_id = entry.correlation_id(),
                    .graph_id = entry.graph_id(),
                    .sites = std::move(increments.sites),
                    .graphs = std::move(increments.graphs),
                    .repeats = entry.repeats(),
                    .exact = counts_exact_});
  }
  const auto keep = [this](auto& entries, auto& to) {
    for (auto& entry : entries) {
      memory_bytes_ += sizeof entry + (measures_entries_ ? HeldBytes(entry) : 0);
      to.push_back(std::move(entry));
    }
  };
  keep(*head.mutable_problems(), tables_.problems);
  keep(*head.mutable_clocks(), tables_.clocks);
  if (head.has_footer()) {
    tables_.has_footer = true;
    tables_.footer = head.footer();
  }
  AddAsked(head.statistics());
  if (head.has_continuation()) FoldRollups(*head.mutable_continuation());
  return memory_bytes_ <= memory_limit_bytes_;
}

void TableBuilder::AddAsked(const ChunkStatistics& statistics) {
  if (!statistics.has_asked()) return;
  const Increments increments = Decode(statistics.asked());
  for (const auto& [id, count] : increments.sites) Add(id, count, tables_.asked.sites);
  for (const auto& [id, count] : increments.graphs) Add(id, count, tables_.asked.graphs);
}

void TableBuilder::FoldRollups(Continuation& continuation) {
  RotatedOut& out = tables_.rotated_out;
  out.files = std::max(continuation.segment(), 1u) - 1;
  if (const char* const wrong = WrongWithRollups(continuation); wrong != nullptr) {
    AddMalformed(absl::StrCat("sums of earlier files: ", wrong, "; not used"));
    NoteLostChunk();
    return;
  }
  for (Rollup& rollup : *continuation.mutable_rollups()) {
    ChunkStatistics& statistics = *rollup.mutable_statistics();
    out.records += statistics.record_count();
    out.untimed += statistics.untimed_count();
    out.launch_entries += statistics.launch_count();
    AddAsked(statistics);
    SumSites(statistics, 1, out.site_records, out.site_duration_ns);
    statistics.clear_asked();
    statistics.clear_site_ids();
    statistics.clear_site_records();
    statistics.clear_site_duration_ns();
    out.rollups.push_back(std::move(rollup));
  }
}

// References to entries that no chunk defined read as 0, unknown.
void TableBuilder::ResolveReferences() {
  const auto known = [](uint32_t id, const auto& table) { return id < table.size() ? id : 0; };
  for (size_t id = 1; id < tables_.range_paths.size(); ++id) {
    RangePath& path = tables_.range_paths[id];
    if (path.parent() >= id) path.set_parent(0);  // no cycles
  }
  for (Site& site : tables_.sites) {
    site.set_range_path(known(site.range_path(), tables_.range_paths));
    site.set_process_ranges(known(site.process_ranges(), tables_.range_paths));
    if (site.kernel_id() >= tables_.kernels.size()) site.set_kernel_id(0);
    for (TensorMapUse& use : *site.mutable_tensor_maps()) {
      use.set_tensor_map_id(known(use.tensor_map_id(), tables_.tensor_maps));
    }
  }
  for (GraphTable& graph : tables_.graphs) {
    for (uint32_t& site : graph.node_sites) site = known(site, tables_.sites);
    for (auto* ranges : {&graph.node_range_paths, &graph.node_process_ranges}) {
      for (uint32_t& path : *ranges) path = known(path, tables_.range_paths);
    }
    graph.replaces = known(graph.replaces, tables_.graphs);
  }
  tables_.site_attributes.assign(tables_.sites.size(), 0);
  for (const auto& [site, attributes] : site_attributes_) {
    if (site != 0 && site < tables_.sites.size()) {
      tables_.site_attributes[site] = known(attributes, tables_.attributes);
    }
  }
}

void TableBuilder::ResolveCounts() {
  CounterValues zero;
  zero.sites.resize(tables_.sites.size());
  zero.graphs.resize(tables_.graphs.size());
  Fit(tables_.sites.size(), tables_.asked.sites);
  Fit(tables_.graphs.size(), tables_.asked.graphs);
  Fit(tables_.sites.size(), tables_.site_records);
  Fit(tables_.sites.size(), tables_.site_duration_ns);
  Fit(tables_.sites.size(), tables_.rotated_out.site_records);
  Fit(tables_.sites.size(), tables_.rotated_out.site_duration_ns);
  snapshots_.CutTo(kMaxSnapshotWords / (zero.sites.size() + zero.graphs.size()));
  CounterValues values = std::move(zero);
  for (const ListedSnapshot& snapshot : snapshots_.snapshots()) {
    AddCounts(snapshot.sites, values.sites);
    AddCounts(snapshot.graphs, values.graphs);
    tables_.snapshots.push_back(
        {.reason = static_cast<SnapshotReason>(snapshot.reason),
         .label = snapshot.label,
         .realtime_ns = snapshot.realtime_ns,
         .correlation_id = snapshot.correlation_id,
         .graph_id = snapshot.graph_id < tables_.graphs.size() ? snapshot.graph_id : 0,
         .asked = values,
         .asked_exact = snapshot.exact,
         .repeats = snapshot.repeats});
  }
}

void TableBuilder::SumSites(const ChunkStatistics& statistics, uint64_t factor,
                            std::vector<uint64_t>& records, std::vector<uint64_t>& duration_ns) {
  const int sites = std::min({statistics.site_ids_size(), statistics.site_records_size(),
                              statistics.site_duration_ns_size()});
  uint32_t id = 0;
  for (int i = 0; i < sites; ++i) {
    id += static_cast<uint32_t>(statistics.site_ids(i));
    Add(id, factor * statistics.site_records(i), records);
    Add(id, factor * statistics.site_duration_ns(i), duration_ns);
  }
}

void TableBuilder::Finish() {
  ResolveReferences();
  ResolveCounts();
}

}  // namespace hotproof::trace
