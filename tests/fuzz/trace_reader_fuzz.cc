// Any bytes as a trace. The first byte chooses: even, the rest is a file; odd, the rest is a head's
// and a columns' message, which are framed here, past the checksums that random bytes never have.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "proto/trace.pb.h"
#include "tests/trace/trace_files.h"
#include "trace/reader.h"

namespace hotproof::trace {
namespace {

// What the reader promises of every id, whatever the file holds.
void CheckIds(const Tables& tables, const ChunkColumns& c) {
  const auto require = [](bool good) {
    if (!good) std::abort();
  };
  const auto node_ok = [&](Target target, uint32_t node) {
    if (target.is_graph()) {
      return target.id() < tables.graphs.size() &&
             node < tables.graphs[target.id()].node_sites.size();
    }
    return target.id() < tables.sites.size();
  };
  uint64_t previous_ns = 0;
  for (size_t i = 0; i < c.start_ns.size(); ++i) {
    require(c.site[i] < tables.sites.size() && c.stream[i] < tables.streams.size());
    require(c.attributes[i] < tables.attributes.size());
    require(node_ok(c.target[i], c.node[i]));
    require(c.start_ns[i] >= previous_ns && c.end_ns[i] >= c.start_ns[i]);
    previous_ns = c.start_ns[i];
  }
  for (size_t i = 0; i < c.untimed_node.size(); ++i) {
    require(c.untimed_site[i] < tables.sites.size() &&
            node_ok(c.untimed_target[i], c.untimed_node[i]));
    require(c.untimed_attributes[i] < tables.attributes.size());
  }
  for (size_t i = 0; i < c.launch_target.size(); ++i) {
    require(c.launch_stream[i] < tables.streams.size());
    require(c.launch_target[i].id() <
            (c.launch_target[i].is_graph() ? tables.graphs.size() : tables.sites.size()));
  }
  require(c.late_count <= c.start_ns.size());
}

void CheckTables(const Tables& tables) {
  const auto require = [](bool good) {
    if (!good) std::abort();
  };
  for (const GraphTable& graph : tables.graphs) {
    require(graph.node_sites.size() == graph.node_ids.size());
    for (const uint32_t site : graph.node_sites) require(site < tables.sites.size());
  }
  for (const Site& site : tables.sites) require(site.kernel_id() < tables.kernels.size());
  require(tables.asked.sites.size() == tables.sites.size());
  require(tables.asked.graphs.size() == tables.graphs.size());
  for (const SnapshotTable& snapshot : tables.snapshots) {
    require(snapshot.asked.sites.size() == tables.sites.size());
  }
  require(tables.LaunchesBySite(tables.asked).size() == tables.sites.size());
}

std::string Framed(const std::string& input) {
  const size_t head_bytes =
      input.size() < 2 ? 0 : static_cast<uint8_t>(input[0]) + 256 * static_cast<uint8_t>(input[1]);
  const std::string rest = input.size() < 2 ? "" : input.substr(2);
  Chunk head;
  if (!head.ParseFromString(rest.substr(0, head_bytes))) return "";
  const std::string columns =
      CompressFrame(rest.size() > head_bytes ? rest.substr(head_bytes) : std::string());
  head.mutable_columns_frame()->set_size_bytes(columns.size());
  head.mutable_columns_frame()->set_hash(HashFrame(columns));
  return CompressFrame(head.SerializeAsString()) + columns;
}

}  // namespace
}  // namespace hotproof::trace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hotproof::trace;
  if (size == 0) return 0;
  std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 1) bytes = Framed(bytes);
  const int fd = memfd_create("trace", MFD_CLOEXEC);
  if (write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) std::abort();
  auto reader = TraceReader::Open("/proc/self/fd/" + std::to_string(fd));
  if (reader.ok()) {
    CheckTables((*reader)->tables());
    static ChunkColumns columns;
    for (size_t i = 0; i < (*reader)->chunk_count(); ++i) {
      if ((*reader)->ReadChunk(i, columns).ok()) CheckIds((*reader)->tables(), columns);
    }
  }
  close(fd);
  return 0;
}
