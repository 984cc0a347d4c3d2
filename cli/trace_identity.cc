#include "cli/trace_identity.h"

#define ZSTD_STATIC_LINKING_ONLY  // for ZSTD_decompressBound; zstd is linked statically
#include <zstd.h>

#include <algorithm>
#include <fstream>

#include "proto/trace.pb.h"

namespace hotproof::cli {
namespace {

// The first frame holds the header and the first tables; it is written once a process has started
// CUDA. Where the trace was rotated it holds all tables, which seldom need the second size.
constexpr size_t kFrameBytes[] = {4 << 20, 64 << 20};
constexpr unsigned long long kMaxMessageBytes = 64 << 20;

}  // namespace

std::optional<TraceIdentity> ReadTraceIdentity(const std::string& path) {
  std::string bytes;
  size_t frame_bytes = 0;
  for (const size_t most : kFrameBytes) {
    std::ifstream file(path, std::ios::binary);
    bytes.resize(most);
    file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    bytes.resize(static_cast<size_t>(file.gcount()));
    frame_bytes = ZSTD_findFrameCompressedSize(bytes.data(), bytes.size());
    if (!ZSTD_isError(frame_bytes) || bytes.size() < most) break;
  }
  if (ZSTD_isError(frame_bytes)) return std::nullopt;
  const unsigned long long bound = ZSTD_decompressBound(bytes.data(), frame_bytes);
  if (bound == ZSTD_CONTENTSIZE_ERROR || bound > kMaxMessageBytes) return std::nullopt;
  std::string message(static_cast<size_t>(bound), '\0');
  const size_t message_bytes =
      ZSTD_decompress(message.data(), message.size(), bytes.data(), frame_bytes);
  if (ZSTD_isError(message_bytes)) return std::nullopt;
  message.resize(message_bytes);

  trace::Chunk chunk;
  if (!chunk.ParseFromString(message) || !chunk.has_header()) return std::nullopt;
  const trace::Header& header = chunk.header();
  TraceIdentity identity;
  identity.path = path;
  identity.pid = header.pid();
  identity.parent_pid = header.parent_pid();
  identity.start_ticks = header.process_start_ticks();
  identity.preloaded = header.interposers();
  identity.executable = header.executable();
  identity.arguments.assign(header.arguments().begin(), header.arguments().end());
  return identity;
}

}  // namespace hotproof::cli
