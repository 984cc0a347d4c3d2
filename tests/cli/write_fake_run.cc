// write_fake_run RUN.textproto FOLDER: writes a FakeRun (tests/analyzers/fake_trace.proto) as
// `hotproof run` would have left it: .hpt and .hpc files and the manifest.
#include <fcntl.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "tests/analyzers/fake_trace.h"
#include "trace/counters.h"
#include "trace/writer.h"

namespace hotproof::tests {
namespace {

template <typename T>
std::span<const T> Span(const google::protobuf::RepeatedField<T>& field) {
  return {field.data(), static_cast<size_t>(field.size())};
}

class FileWriter {
 public:
  FileWriter(const FakeTrace& fake, const std::string& folder)
      : fake_(fake),
        reader_(fake),
        folder_(folder),
        stem_(absl::StrCat("trace-", reader_.tables().header.pid())) {}

  bool Write() {
    const int fd =
        open(absl::StrCat(folder_, "/", stem_, ".hpt").c_str(), O_CREAT | O_EXCL | O_RDWR, 0600);
    if (fd < 0) return false;
    trace::Writer writer(fd);
    AddTables(writer);
    trace::ChunkColumns columns;
    const trace::CounterValues& asked = reader_.tables().asked;
    const trace::CounterView view{asked.sites, asked.graphs};
    for (size_t i = 0; i < reader_.chunk_count(); ++i) {
      if (!reader_.ReadChunk(i, columns).ok()) return false;
      AddChunk(columns, writer);
      if (i + 1 == reader_.chunk_count() && reader_.tables().has_footer)
        writer.AddFooter({.realtime_ns = reader_.tables().footer.realtime_ns(), .reason = "exit"});
      if (writer.Flush(view) != trace::WriteResult::kOk) return false;
    }
    if (reader_.chunk_count() == 0) {
      if (reader_.tables().has_footer) writer.AddFooter({.realtime_ns = reader_.tables().footer.realtime_ns(), .reason = "exit"});
      if (writer.Flush(view) != trace::WriteResult::kOk) return false;
    }
    return fake_.no_counter_file() || WriteCounters(asked);
  }

 private:
  void AddTables(trace::Writer& writer) {
    const trace::Tables& tables = reader_.tables();
    trace::HeaderEntry header;
    header.format_major = tables.header.format_major();
    header.mode = tables.header.mode();
    header.pid = tables.header.pid();
    header.process_start_ticks = tables.header.process_start_ticks();
    header.boot_id = tables.header.boot_id();
    header.executable = tables.header.executable();
    header.start_realtime_ns = tables.header.start_realtime_ns();
    header.interposers = true;
    if (!fake_.no_counter_file()) header.counters_file = stem_ + ".hpc";
    writer.AddHeader(header);
    for (size_t id = 1; id < tables.kernels.size(); ++id) {
      writer.AddKernel({.id = static_cast<uint32_t>(id), .name = tables.kernels[id].name()});
    }
    for (size_t id = 1; id < tables.sites.size(); ++id) {
      const trace::Site& site = tables.sites[id];
      trace::SiteEntry entry;
      entry.id = site.id();
      entry.kernel_id = site.kernel_id();
      entry.grid[0] = site.grid_x();
      entry.block[0] = site.block_x();
      entry.captured = site.captured();
      entry.arguments = site.arguments();
      writer.AddSite(entry);
    }
    for (size_t id = 1; id < tables.graphs.size(); ++id) {
      const trace::GraphTable& graph = tables.graphs[id];
      writer.AddGraph({.id = graph.id,
                       .exec_graph_id = graph.exec_graph_id,
                       .node_ids = graph.node_ids,
                       .node_sites = graph.node_sites});
    }
    for (size_t id = 1; id < tables.streams.size(); ++id) {
      writer.AddStream(
          {.id = static_cast<uint32_t>(id), .device_id = tables.streams[id].device_id()});
    }
    for (const trace::SnapshotTable& snapshot : tables.snapshots) {
      writer.AddSnapshot({.reason = static_cast<uint32_t>(snapshot.reason),
                          .label = snapshot.label,
                          .correlation_id = snapshot.correlation_id,
                          .graph_id = snapshot.graph_id},
                         {snapshot.asked.sites, snapshot.asked.graphs});
    }
    for (const trace::Problem& problem : tables.problems) {
      writer.AddProblem({.kind = static_cast<uint32_t>(problem.kind()),
                         .count = problem.count(),
                         .detail = problem.detail()});
    }
  }

  static void AddChunk(const trace::ChunkColumns& columns, trace::Writer& writer) {
    for (size_t i = 0; i < columns.launch_target.size(); ++i) {
      writer.AddLaunch(
          {columns.launch_correlation_id[i], columns.launch_target[i], columns.launch_stream[i]});
    }
    auto add = [&](uint64_t id, trace::Target target, uint32_t node, uint32_t site, uint32_t stream,
                   uint64_t start_ns, uint64_t end_ns) {
      writer.AddRecord({.correlation_id = id,
                        .start_ns = start_ns,
                        .end_ns = end_ns,
                        .target = target,
                        .node = node,
                        .stream = stream,
                        .site = 0,
                        .default_site = site});
    };
    for (size_t i = 0; i < columns.target.size(); ++i) {
      add(columns.correlation_id[i], columns.target[i], columns.node[i], columns.site[i],
          columns.stream[i], columns.start_ns[i], columns.end_ns[i]);
    }
    for (size_t i = 0; i < columns.untimed_target.size(); ++i) {
      add(columns.untimed_correlation_id[i], columns.untimed_target[i], columns.untimed_node[i],
          columns.untimed_site[i], 1, 0, 0);
    }
  }

  bool WriteCounters(const trace::CounterValues& asked) {
    const int directory = open(folder_.c_str(), O_RDONLY | O_DIRECTORY);
    trace::CounterTable counters(directory, (stem_ + ".hpc").c_str(), asked.sites.size() + 1,
                                 asked.graphs.size() + 1, reader_.tables().header.pid(),
                                 reader_.tables().header.process_start_ticks());
    for (size_t id = 0; id < asked.sites.size(); ++id) counters.CountSite(id, asked.sites[id]);
    for (size_t id = 0; id < asked.graphs.size(); ++id) counters.CountGraph(id, asked.graphs[id]);
    return counters.on_disk();
  }

  const FakeTrace& fake_;
  FakeReader reader_;
  std::string folder_, stem_;
};

int Main(const char* run_path, const std::string& folder) {
  std::ifstream file(run_path);
  std::stringstream text;
  text << file.rdbuf();
  FakeRun run;
  if (!google::protobuf::TextFormat::ParseFromString(text.str(), &run)) return 2;
  for (const FakeTrace& trace : run.trace()) {
    if (!FileWriter(trace, folder).Write()) {
      std::fprintf(stderr, "write_fake_run: cannot write into %s\n", folder.c_str());
      return 1;
    }
  }
  if (!run.has_manifest()) return 0;
  std::string json;
  if (!google::protobuf::util::MessageToJsonString(run.manifest(), &json).ok()) return 1;
  std::ofstream(folder + "/hotproof-manifest.json") << json;
  return 0;
}

}  // namespace
}  // namespace hotproof::tests

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: write_fake_run RUN.textproto FOLDER\n");
    return 2;
  }
  return hotproof::tests::Main(argv[1], argv[2]);
}
