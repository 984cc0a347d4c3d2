#include "tests/trace/trace_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "xxhash.h"
#include "zstd.h"

namespace hotproof::trace {

ScratchFolder::ScratchFolder() {
  std::string pattern = ::testing::TempDir() + "hotproof.XXXXXX";
  path_ = mkdtemp(pattern.data());
}
ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string ReadWhole(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

void WriteWhole(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<long>(bytes.size()));
}

int CreateFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  EXPECT_GE(fd, 0) << path;
  return fd;
}

uint64_t HashFrame(const std::string& frame) { return XXH3_64bits(frame.data(), frame.size()); }

std::string CompressFrame(const std::string& message) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  std::string frame(ZSTD_compressBound(message.size()), '\0');
  frame.resize(ZSTD_compress2(context, frame.data(), frame.size(), message.data(), message.size()));
  ZSTD_freeCCtx(context);
  return frame;
}

std::vector<std::string> DecompressFrames(const std::string& file) {
  std::vector<std::string> messages;
  for (size_t at = 0; at < file.size();) {
    const size_t size = ZSTD_findFrameCompressedSize(file.data() + at, file.size() - at);
    if (ZSTD_isError(size)) break;
    std::string message(ZSTD_getFrameContentSize(file.data() + at, size), '\0');
    EXPECT_EQ(ZSTD_decompress(message.data(), message.size(), file.data() + at, size),
              message.size());
    messages.push_back(message);
    at += size;
  }
  return messages;
}

SmallTrace WriteSmallTrace(const std::string& path, const std::string& counters_file) {
  SmallTrace trace;
  Writer writer(CreateFile(path), 3);
  const CounterView counters{trace.sites, trace.graphs};
  HeaderEntry header;
  header.hotproof_version = "1.2.3";
  header.mode = MODE_FULL;
  header.pid = SmallTrace::kPid;
  header.process_start_ticks = SmallTrace::kStartTicks;
  header.counters_file = counters_file;
  writer.AddHeader(header);
  writer.AddStream({.id = 1, .device_id = 0, .context_id = 1, .stream_id = 7});
  writer.AddKernel({.id = 1, .name = "gemm"});
  writer.AddKernel({.id = 2, .name = "norm"});
  writer.AddAttributes(1, {.registers_per_thread = 32});
  writer.AddAttributes(2, {.registers_per_thread = 64});
  writer.AddRangePath({.id = 1, .name = "step", .domain = "engine", .source = RANGE_START_END});
  writer.AddRangePath({.id = 2,
                       .name = "layer 7",
                       .source = RANGE_PUSH_POP,
                       .payload_kind = PAYLOAD_SIGNED,
                       .payload = ~uint64_t{4}});
  writer.AddRangePath({.id = 3, .parent = 2, .many = true});
  writer.AddSite({.id = 1,
                  .kernel_id = 1,
                  .grid = {8, 1, 1},
                  .block = {128, 1, 1},
                  .range_path = 3,
                  .process_ranges = 1});
  writer.AddSite(
      {.id = 2, .kernel_id = 1, .grid = {9, 1, 1}, .block = {128, 1, 1}, .captured = true});
  writer.AddSite(
      {.id = 3, .kernel_id = 2, .grid = {4, 2, 1}, .block = {64, 1, 1}, .captured = true});
  const uint64_t nodes[] = {(2ull << 32) + 1, (2ull << 32) + 4, (2ull << 32) + 9};
  const uint32_t node_sites[] = {2, 3, 2};
  const uint64_t other_nodes[] = {(2ull << 32) + 5, 0};
  const uint32_t other_types[] = {2, 5};  // memset, empty
  const uint32_t range_paths[] = {3, 2, 0};
  const uint32_t from[] = {0, 3, 1, 4}, to[] = {3, 1, 4, 2}, data[] = {0, 0, 0x10001, 0};
  writer.AddGraph({.id = 1,
                   .exec_graph_id = 2,
                   .node_ids = nodes,
                   .node_sites = node_sites,
                   .other_nodes = 1,
                   .other_node_ids = other_nodes,
                   .other_node_types = other_types,
                   .edges_known = true,
                   .edge_from = from,
                   .edge_to = to,
                   .edge_data = data,
                   .node_range_paths = range_paths});
  writer.AddSnapshot({.reason = SNAPSHOT_REASON_FIRST_REPLAY, .graph_id = 1}, counters);
  EXPECT_EQ(writer.FlushTables(counters), WriteResult::kOk);

  const auto launch = [&](uint64_t id, Target target, uint32_t stream) {
    // Two calls of known time, then one of another thread that was entered before them.
    const uint64_t enter_ns = id == 12 ? 700 : 100 * id;
    trace.launches.back().push_back({id, target, stream, enter_ns, static_cast<uint32_t>(3 * id)});
    writer.AddLaunch(trace.launches.back().back());
    ++(target.is_graph() ? trace.graphs : trace.sites)[target.id()];
  };
  const auto record = [&](const RecordEntry& entry) {
    (entry.start_ns == 0 ? trace.untimed : trace.timed).back().push_back(entry);
    writer.AddRecord(entry);
  };
  const auto new_chunk = [&] {
    trace.launches.emplace_back();
    trace.timed.emplace_back();
    trace.untimed.emplace_back();
  };
  new_chunk();
  new_chunk();
  launch(10, Target::Site(1), 1);
  launch(11, Target::Graph(1), 1);
  record({10, 5000, 6000, Target::Site(1), 0, 1, 0, 1, 1});
  record({11, 6100, 6400, Target::Graph(1), 0, 1, 0, 2, 2});
  record({11, 6300, 6900, Target::Graph(1), 1, 1, 0, 3, 1});
  record({11, 7000, 7300, Target::Graph(1), 2, 1, 0, 2, 1});  // other attributes than its site
  EXPECT_EQ(writer.Flush(counters), WriteResult::kOk);

  new_chunk();
  writer.AddStream({.id = 2, .device_id = 0, .context_id = 1, .stream_id = 13});
  writer.AddSite({.id = 4, .kernel_id = 2, .unattributed = true});
  launch(12, Target::Graph(1), 2);
  record({11, 6950, 7290, Target(), 0, 2, 4, 0, 2});  // late, unattributed, in another stream
  record({12, 8000, 8100, Target::Graph(1), 0, 2, 0, 2, 2});
  record({12, 8200, 8201, Target::Graph(1), 1, 2, 4, 3, 2});  // not the node's site
  record({12, 0, 0, Target::Graph(1), 2, 2, 0, 2, 2});        // not timed
  writer.AddOperationClass({.id = 1,
                            .kind = OPERATION_MEMCPY,
                            .copy_kind = 1,
                            .source_memory = 2,
                            .destination_memory = 3,
                            .flags = 1});
  writer.AddOperationClass({.id = 2, .kind = OPERATION_EVENT_RECORD});
  writer.AddOperationClass(
      {.id = 3, .kind = OPERATION_SYNCHRONIZATION, .synchronization_type = 2});
  trace.operations = {{13, 9000, 9400, 1, 2, 0, 4096, 1},
                      {15, 9100, 9150, 3, 1, 0, 5, 77},
                      {16, 9450, 9840, 1, 2, (2ull << 32) + 1, 4096, 1},
                      {14, 0, 0, 2, 2, 0, 5, 77}};  // an event record has no time
  for (const size_t i : {0, 3, 1, 2}) writer.AddOperation(trace.operations[i]);
  writer.AddProblem({.kind = PROBLEM_CUPTI_DROPPED_RECORDS, .count = 3, .detail = "d"});
  writer.AddFooter(
      {.realtime_ns = 99, .reason = "exit", .launches = 7, .records = 8, .flushed = true});
  EXPECT_EQ(writer.Flush(counters), WriteResult::kOk);
  EXPECT_EQ(writer.records_written(), 8u);
  return trace;
}

}  // namespace hotproof::trace
