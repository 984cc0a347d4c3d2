#include "tests/analyzers/fake_trace.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "catalog/classifier.h"

namespace hotproof::tests {
namespace {

constexpr uint64_t kClockStartNs = 1'000'000'000;

struct Record {
  uint64_t correlation_id;
  trace::Target target;
  uint32_t node, site, stream;
  uint64_t start_ns, end_ns;
};

template <typename Message>
void PutById(std::vector<Message>& table,
             const google::protobuf::RepeatedPtrField<Message>& messages) {
  table.resize(1);
  for (const Message& message : messages) {
    if (message.id() >= table.size()) table.resize(message.id() + 1);
    table[message.id()] = message;
  }
}

template <typename T>
T OrElse(T value, T otherwise) {
  return value == T{} ? otherwise : value;
}

uint64_t& At(std::vector<uint64_t>& values, uint32_t index) {
  if (index >= values.size()) values.resize(index + 1);
  return values[index];
}

}  // namespace

class Builder {
 public:
  Builder(const FakeTrace& fake, FakeReader& reader) : fake_(fake), reader_(reader) {}

  void Build() {
    BuildTables();
    for (const Step& step : fake_.step()) {
      switch (step.step_case()) {
        case Step::kLaunch:
          AddLaunches(step.launch());
          break;
        case Step::kSnapshot:
          AddSnapshot(step.snapshot());
          break;
        case Step::kEndChunk:
          ++chunk_;
          break;
        case Step::STEP_NOT_SET:
          break;
      }
    }
    trace::Tables& tables = reader_.tables_;
    tables.asked = asked_;
    for (const Count& count : fake_.counted_more()) {
      if (count.graph() != 0) {
        At(tables.asked.graphs, count.graph()) += count.count();
      } else {
        At(tables.asked.sites, count.site()) += count.count();
      }
    }
    for (size_t i = 0; i < std::max(records_.size(), reader_.chunks_.size()); ++i) FinishChunk(i);
  }

 private:
  void BuildTables() {
    trace::Tables& tables = reader_.tables_;
    tables.header = fake_.header();
    trace::Header& header = tables.header;
    if (header.format_major() == 0) header.set_format_major(trace::kFormatMajor);
    if (header.mode() == trace::MODE_UNSPECIFIED) header.set_mode(trace::MODE_FULL);
    if (header.pid() == 0) header.set_pid(100);
    header.set_interposers(true);
    reader_.path_ = absl::StrCat("/traces/", header.pid(), ".hpt");
    PutById(tables.kernels, fake_.kernel());
    PutById(tables.tensor_maps, fake_.tensor_map());
    PutById(tables.range_paths, fake_.range_path());
    PutById(tables.sites, fake_.site());
    PutById(tables.streams, fake_.stream());
    PutById(tables.operation_classes, fake_.operation_class());
    if (tables.streams.size() == 1) tables.streams.emplace_back().set_id(1);
    tables.site_attributes.resize(tables.sites.size());
    tables.graphs.resize(1);
    for (const FakeGraph& graph : fake_.graph()) {
      if (graph.id() >= tables.graphs.size()) tables.graphs.resize(graph.id() + 1);
      trace::GraphTable& table = tables.graphs[graph.id()];
      table.id = table.exec_graph_id = graph.id();
      table.node_sites.assign(graph.node_site().begin(), graph.node_site().end());
      for (size_t i = 0; i < table.node_sites.size(); ++i) table.node_ids.push_back(i + 1);
      table.node_range_paths = {graph.node_range_path().begin(), graph.node_range_path().end()};
      table.node_process_ranges = {graph.node_process_ranges().begin(),
                                   graph.node_process_ranges().end()};
      for (const int caveat : graph.caveat()) {
        table.caveats.push_back(static_cast<trace::GraphCaveat>(caveat));
      }
    }
    tables.problems.assign(fake_.problem().begin(), fake_.problem().end());
    tables.clocks.assign(fake_.clock().begin(), fake_.clock().end());
    tables.has_footer = !fake_.no_footer();
    tables.footer = fake_.footer();
    tables.asked_source = fake_.no_counter_file() ? trace::CounterSource::kChunks
                                                  : trace::CounterSource::kCounterFile;
    for (const Issue& issue : fake_.issue()) {
      reader_.issues_.push_back({static_cast<trace::ReadIssue::Kind>(issue.kind()),
                                 issue.offset_bytes(), issue.lost_bytes(), issue.detail()});
    }
    asked_.sites.resize(tables.sites.size());
    asked_.graphs.resize(tables.graphs.size());
  }

  trace::ChunkColumns& ChunkAt(size_t index) {
    if (index >= reader_.chunks_.size()) reader_.chunks_.resize(index + 1);
    return reader_.chunks_[index];
  }

  void AddLaunches(const Launch& launch) {
    for (uint32_t i = 0; i < OrElse(launch.times(), 1u); ++i) AddLaunch(launch, i == 0);
  }

  void AddLaunch(const Launch& launch, bool first) {
    const uint64_t id = ++correlation_id_;
    const uint32_t stream = OrElse(launch.stream(), 1u);
    const trace::Target target = launch.graph() != 0 ? trace::Target::Graph(launch.graph())
                                                     : trace::Target::Site(launch.site());
    if (!launch.uncounted()) {
      ++(target.is_graph() ? At(asked_.graphs, target.id()) : At(asked_.sites, target.id()));
    }
    trace::ChunkColumns& columns = ChunkAt(chunk_);
    if (!launch.unlisted()) {
      columns.launch_correlation_id.push_back(id);
      columns.launch_target.push_back(target);
      columns.launch_stream.push_back(stream);
    }
    uint64_t& clock = clocks_[stream];
    if (first && launch.at_ns() != 0) clock = launch.at_ns();
    if (clock == 0) clock = kClockStartNs;
    const std::vector<uint32_t> sites = target.is_graph()
                                            ? reader_.tables_.graphs[target.id()].node_sites
                                            : std::vector<uint32_t>{target.id()};
    const std::set<uint32_t> lost(launch.lose_node().begin(), launch.lose_node().end());
    const std::set<uint32_t> untimed(launch.untimed_node().begin(), launch.untimed_node().end());
    trace::ChunkColumns& later = ChunkAt(chunk_ + launch.records_chunks_later());
    for (uint32_t node = 0; node < sites.size(); ++node) {
      const uint64_t duration_ns = static_cast<int>(node) < launch.node_duration_ns_size()
                                       ? launch.node_duration_ns(node)
                                       : OrElse<uint64_t>(launch.duration_ns(), 1000);
      const uint64_t start_ns = clock + launch.gap_ns();
      clock = start_ns + duration_ns;
      if (launch.unrecorded() || lost.count(node) > 0) continue;
      const uint32_t site = OrElse(launch.record_site(), sites[node]);
      if (untimed.count(node) > 0) {
        later.untimed_correlation_id.push_back(id);
        later.untimed_target.push_back(target);
        later.untimed_node.push_back(node);
        later.untimed_site.push_back(site);
        continue;
      }
      const uint32_t record_stream =
          static_cast<int>(node) < launch.node_stream_size() ? launch.node_stream(node) : stream;
      const size_t copies = 1 + (node == 0 ? launch.extra_records() : 0);
      auto& records = RecordsAt(chunk_ + launch.records_chunks_later());
      records.insert(records.end(), copies,
                     {id, target, node, site, record_stream, start_ns, clock});
    }
  }

  std::vector<Record>& RecordsAt(size_t index) {
    if (index >= records_.size()) records_.resize(index + 1);
    return records_[index];
  }

  void AddSnapshot(const Snapshot& snapshot) {
    trace::SnapshotTable& table = reader_.tables_.snapshots.emplace_back();
    table.reason = snapshot.reason();
    table.label = snapshot.label();
    table.graph_id = snapshot.graph_id();
    table.correlation_id = correlation_id_ + 1;
    table.asked = asked_;
  }

  void FinishChunk(size_t index) {
    trace::ChunkColumns& columns = ChunkAt(index);
    std::vector<Record>& records = RecordsAt(index);
    std::stable_sort(records.begin(), records.end(),
                     [](const Record& a, const Record& b) { return a.start_ns < b.start_ns; });
    columns.sequence = index;
    trace::ChunkStatistics& statistics = reader_.tables_.chunk_statistics.emplace_back();
    for (const Record& record : records) {
      columns.correlation_id.push_back(record.correlation_id);
      columns.target.push_back(record.target);
      columns.node.push_back(record.node);
      columns.site.push_back(record.site);
      columns.stream.push_back(record.stream);
      columns.attributes.push_back(0);
      columns.start_ns.push_back(record.start_ns);
      columns.end_ns.push_back(record.end_ns);
      statistics.set_last_end_ns(std::max<uint64_t>(statistics.last_end_ns(), record.end_ns));
    }
    if (!records.empty()) statistics.set_first_start_ns(records.front().start_ns);
    statistics.set_record_count(records.size() + columns.untimed_site.size());
    statistics.set_untimed_count(columns.untimed_site.size());
    statistics.set_launch_count(columns.launch_target.size());
    if (static_cast<int>(index) < fake_.operations_size()) {
      *statistics.mutable_operations() = fake_.operations(static_cast<int>(index));
    }
  }

  const FakeTrace& fake_;
  FakeReader& reader_;
  trace::CounterValues asked_;
  uint64_t correlation_id_ = 0;
  size_t chunk_ = 0;
  std::map<uint32_t, uint64_t> clocks_;
  std::vector<std::vector<Record>> records_;
};

FakeReader::FakeReader(const FakeTrace& fake) { Builder(fake, *this).Build(); }

absl::Status FakeReader::ReadChunk(size_t index, trace::ChunkColumns& columns) const {
  columns = chunks_[index];
  return absl::OkStatus();
}

FakeRun ParseRun(const std::string& text) {
  FakeRun run;
  if (!google::protobuf::TextFormat::ParseFromString(text, &run)) std::abort();
  return run;
}

FakeTrace ParseTrace(const std::string& text) {
  FakeTrace trace;
  if (!google::protobuf::TextFormat::ParseFromString(text, &trace)) std::abort();
  return trace;
}

AnalysedRun Analyse(const FakeRun& run, int threads) {
  static const catalog::Classifier classifier = [] {
    auto created = catalog::Classifier::Create();
    if (!created.ok()) {
      std::cerr << created.status() << "\n";
      std::abort();
    }
    return *std::move(created);
  }();
  AnalysedRun analysed;
  analyzers::AnalyzeOptions options;
  options.fold.threads = threads;
  if (run.has_manifest()) options.manifests.push_back(run.manifest());
  for (const FakeTrace& trace : run.trace()) {
    analysed.processes.push_back(
        analyzers::AnalyzeTrace(std::make_unique<FakeReader>(trace), classifier, options));
  }
  std::vector<const trace::Header*> headers;
  for (const auto& process : analysed.processes) headers.push_back(&process.header());
  analysed.coverage = analyzers::JudgeCoverage(options.manifests, headers);
  return analysed;
}

AnalysedRun Analyse(const FakeTrace& trace, int threads) {
  FakeRun run;
  *run.add_trace() = trace;
  return Analyse(run, threads);
}

}  // namespace hotproof::tests
