// dump_trace TRACE: every field of a trace as the C++ reader gives it, one line each, to compare
// with second_reader.py. dump_trace --small TRACE writes the small trace of the tests instead.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>

#include "google/protobuf/descriptor.h"
#include "tests/trace/trace_files.h"
#include "trace/reader.h"

namespace hotproof::trace {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

std::string Hex(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<uint8_t>(byte));
    text += digits;
  }
  return text;
}

void PrintScalar(const std::string& path, const std::string& value) {
  std::printf("%s=%s\n", path.c_str(), value.c_str());
}

void Print(const std::string& path, const Message& message);

// `index` -1: not repeated.
void PrintField(const std::string& path, const Message& message, const FieldDescriptor* field,
                int index) {
  const auto& r = *message.GetReflection();
  const auto get = [&](auto one, auto of_many) { return index < 0 ? one() : of_many(); };
  std::string scratch;
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE:
      Print(path,
            index < 0 ? r.GetMessage(message, field) : r.GetRepeatedMessage(message, field, index));
      break;
    case FieldDescriptor::CPPTYPE_STRING:
      PrintScalar(path, Hex(index < 0 ? r.GetString(message, field)
                                      : r.GetRepeatedString(message, field, index)));
      break;
    case FieldDescriptor::CPPTYPE_UINT32:
      PrintScalar(path,
                  std::to_string(get([&] { return r.GetUInt32(message, field); },
                                     [&] { return r.GetRepeatedUInt32(message, field, index); })));
      break;
    case FieldDescriptor::CPPTYPE_UINT64:
      PrintScalar(path,
                  std::to_string(get([&] { return r.GetUInt64(message, field); },
                                     [&] { return r.GetRepeatedUInt64(message, field, index); })));
      break;
    case FieldDescriptor::CPPTYPE_INT32:
      PrintScalar(path,
                  std::to_string(get([&] { return r.GetInt32(message, field); },
                                     [&] { return r.GetRepeatedInt32(message, field, index); })));
      break;
    case FieldDescriptor::CPPTYPE_ENUM:
      PrintScalar(
          path, std::to_string(get([&] { return r.GetEnumValue(message, field); },
                                   [&] { return r.GetRepeatedEnumValue(message, field, index); })));
      break;
    case FieldDescriptor::CPPTYPE_BOOL:
      PrintScalar(path, std::to_string(r.GetBool(message, field)));
      break;
    default:
      PrintScalar(path, "a type that dump_trace does not know");
  }
}

void Print(const std::string& path, const Message& message) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  std::sort(fields.begin(), fields.end(),
            [](const auto* a, const auto* b) { return a->name() < b->name(); });
  for (const FieldDescriptor* field : fields) {
    const std::string name = path + "." + field->name();
    if (!field->is_repeated()) {
      PrintField(name, message, field, -1);
      continue;
    }
    for (int i = 0; i < message.GetReflection()->FieldSize(message, field); ++i) {
      PrintField(name + "[" + std::to_string(i) + "]", message, field, i);
    }
  }
}

template <typename T>
void PrintIfSet(const std::string& path, T value) {
  if (value != T()) PrintScalar(path, std::to_string(value));
}

template <typename Range>
void PrintList(const std::string& path, const Range& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    PrintScalar(path + "[" + std::to_string(i) + "]", std::to_string(values[i]));
  }
}

void Print(const std::string& path, const GraphTable& graph) {
  PrintList(path + "._nodes", graph.node_ids);
  PrintList(path + "._sites", graph.node_sites);
  PrintList(path + ".caveats", graph.caveats);
  PrintIfSet(path + ".disabled_nodes", graph.disabled_nodes);
  for (size_t i = 0; i < graph.edges.size(); ++i) {
    const GraphTable::Edge& edge = graph.edges[i];
    std::printf("%s.edge %u %u %u\n", path.c_str(), edge.from, edge.to, edge.data);
  }
  PrintIfSet(path + ".edges_known", int{graph.edges_known});
  PrintIfSet(path + ".exec_graph_id", graph.exec_graph_id);
  PrintIfSet(path + ".id", graph.id);
  PrintList(path + ".node_process_ranges", graph.node_process_ranges);
  PrintList(path + ".node_range_paths", graph.node_range_paths);
  PrintList(path + ".other_node_ids", graph.other_node_ids);
  PrintList(path + ".other_node_types", graph.other_node_types);
  PrintIfSet(path + ".other_nodes", graph.other_nodes);
  PrintIfSet(path + ".replaces", graph.replaces);
  PrintIfSet(path + ".source_graph_id", graph.source_graph_id);
}

template <typename Table>
void PrintTable(const std::string& name, const Table& table) {
  for (size_t id = 1; id < table.size(); ++id) Print(name + "." + std::to_string(id), table[id]);
}

void PrintCounts(const std::string& path, const CounterValues& values) {
  for (size_t id = 0; id < values.sites.size(); ++id) {
    PrintIfSet(path + ".site." + std::to_string(id), values.sites[id]);
  }
  for (size_t id = 0; id < values.graphs.size(); ++id) {
    PrintIfSet(path + ".graph." + std::to_string(id), values.graphs[id]);
  }
}

void PrintTables(const TraceReader& reader) {
  const Tables& tables = reader.tables();
  for (const ReadIssue& issue : reader.issues()) {
    static const std::map<ReadIssue::Kind, const char*> kNames = {
        {ReadIssue::Kind::kTornTail, "torn"},
        {ReadIssue::Kind::kCorruptFrame, "corrupt"},
        {ReadIssue::Kind::kCorruptColumns, "corrupt"},
        {ReadIssue::Kind::kMissingChunk, "missing"}};
    if (!kNames.contains(issue.kind)) continue;  // the second reader just goes on
    std::printf("issue %s %lu %lu\n", kNames.at(issue.kind), issue.offset_bytes, issue.lost_bytes);
  }
  Print("header", tables.header);
  PrintTable("kernels", tables.kernels);
  PrintTable("attributes", tables.attributes);
  PrintTable("tensor_maps", tables.tensor_maps);
  PrintTable("sites", tables.sites);
  PrintTable("graphs", tables.graphs);
  PrintTable("streams", tables.streams);
  PrintTable("operation_classes", tables.operation_classes);
  PrintTable("range_paths", tables.range_paths);
  for (size_t id = 0; id < tables.site_attributes.size(); ++id) {
    PrintIfSet("site_attributes." + std::to_string(id), tables.site_attributes[id]);
  }
  for (size_t i = 0; i < tables.snapshots.size(); ++i) {
    const std::string path = "snapshots." + std::to_string(i);
    const SnapshotTable& snapshot = tables.snapshots[i];
    PrintIfSet(path + ".correlation_id", snapshot.correlation_id);
    PrintIfSet(path + ".graph_id", snapshot.graph_id);
    if (!snapshot.label.empty()) PrintScalar(path + ".label", Hex(snapshot.label));
    PrintIfSet(path + ".realtime_ns", snapshot.realtime_ns);
    PrintIfSet(path + ".reason", static_cast<int>(snapshot.reason));
    PrintIfSet(path + ".repeats", snapshot.repeats);
    PrintCounts(path + ".asked", snapshot.asked);
  }
  for (size_t i = 0; i < tables.problems.size(); ++i) {
    Print("problems." + std::to_string(i), tables.problems[i]);
  }
  for (size_t i = 0; i < tables.clocks.size(); ++i) {
    Print("clocks." + std::to_string(i), tables.clocks[i]);
  }
  if (tables.has_footer) Print("footer", tables.footer);
  const bool file = tables.asked_source == CounterSource::kCounterFile;
  std::printf("asked_source=%s\n", file ? "file" : "chunks");
  PrintCounts("asked", tables.asked);
  if (file) {
    std::printf("records_written=%lu launches_refused=%lu\n", tables.records_written,
                tables.launches_refused);
  }
  const RotatedOut& gone = tables.rotated_out;
  if (gone.files == 0) return;
  std::printf("rotated_out.files=%u\n", gone.files);
  for (size_t i = 0; i < gone.rollups.size(); ++i) {
    Print("rotated_out.rollups." + std::to_string(i), gone.rollups[i]);
  }
  for (size_t site = 0; site < gone.site_records.size(); ++site) {
    if (gone.site_records[site] == 0) continue;
    std::printf("rotated_out.site.%zu %lu %lu\n", site, gone.site_records[site],
                gone.site_duration_ns[site]);
  }
}

bool PrintOperations(const TraceReader& reader, size_t index, ChunkOperations& o) {
  const auto status = reader.ReadOperations(index, o);
  if (!status.ok()) {
    std::printf("%s\n", status.ToString().c_str());
    return false;
  }
  for (size_t i = 0; i < o.operation_class.size(); ++i) {
    std::printf("chunk.%lu.operation %u %lu %u %lu %lu %lu %lu %lu\n", o.sequence,
                o.operation_class[i], o.correlation_id[i], o.stream[i], o.start_ns[i], o.end_ns[i],
                o.node_id[i], o.amount[i], o.detail[i]);
  }
  return true;
}

bool PrintChunk(const TraceReader& reader, size_t index, ChunkColumns& c) {
  auto status = reader.ReadChunk(index, c);
  ChunkLaunchTimes times;
  if (status.ok()) status = reader.ReadLaunchTimes(index, times);
  if (!status.ok()) {
    std::printf("%s\n", status.ToString().c_str());
    return false;
  }
  const std::string path = "chunk." + std::to_string(c.sequence);
  ChunkStatistics statistics = *reader.ReadStatistics(index);
  statistics.clear_asked();  // summed up in the tables
  Print(path + ".statistics", statistics);
  for (size_t i = 0; i < c.launch_target.size(); ++i) {
    std::printf("%s.launch %lu %u %u %lu %u\n", path.c_str(), c.launch_correlation_id[i],
                c.launch_target[i].wire(), c.launch_stream[i], times.enter_ns[i],
                times.call_ns[i]);
  }
  for (size_t i = 0; i < c.start_ns.size(); ++i) {
    std::printf("%s.record %lu %u %u %u %u %u %lu %lu\n", path.c_str(), c.correlation_id[i],
                c.target[i].wire(), c.node[i], c.site[i], c.stream[i], c.attributes[i],
                c.start_ns[i], c.end_ns[i]);
  }
  for (size_t i = 0; i < c.untimed_node.size(); ++i) {
    std::printf("%s.untimed %lu %u %u %u 0 %u 0 0\n", path.c_str(), c.untimed_correlation_id[i],
                c.untimed_target[i].wire(), c.untimed_node[i], c.untimed_site[i],
                c.untimed_attributes[i]);
  }
  return true;
}

int Dump(const char* path) {
  auto reader = TraceReader::Open(path);
  if (!reader.ok()) {
    std::fprintf(stderr, "%s\n", reader.status().ToString().c_str());
    return 1;
  }
  PrintTables(**reader);
  ChunkColumns columns;
  ChunkOperations operations;
  for (size_t i = 0; i < (*reader)->chunk_count(); ++i) {
    if (!PrintChunk(**reader, i, columns)) return 1;
    if (!PrintOperations(**reader, i, operations)) return 1;
  }
  return 0;
}

}  // namespace
}  // namespace hotproof::trace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--small") == 0) {
    hotproof::trace::WriteSmallTrace(argv[2]);
    return 0;
  }
  if (argc == 2) return hotproof::trace::Dump(argv[1]);
  std::fprintf(stderr, "usage: dump_trace [--small] TRACE\n");
  return 2;
}
