// Reads .hpt traces and their counter files. Tables first (they are small), then chunks one by one,
// decoded into columns, so memory stays bounded at any length. A TraceReader's const methods are
// safe on several threads; each thread brings its own ChunkColumns.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trace/chunk_runs.h"
#include "trace/format.h"
#include "trace/tables.h"

namespace hotproof::trace {

// Where and how a file was damaged or not understood. Reading goes on after each.
struct ReadIssue {
  enum class Kind {
    kTornTail,        // the last frame is incomplete: its chunk is lost
    kCorruptFrame,    // a frame in the middle does not decode; skipped to the next one
    kCorruptColumns,  // a chunk's head is whole, its launches and records are not
    kMissingChunk,    // sequence numbers jump
    kMalformedChunk,  // decodes, but its columns contradict each other
    kUnknownField,    // of a newer minor version; named and skipped
    kCounterFile,     // missing, damaged or not this process's: counts come from the chunks
  };
  Kind kind;
  uint64_t offset_bytes = 0;
  uint64_t lost_bytes = 0;
  std::string detail;
};

// One chunk's launches and records, every column spelled out (ChunkRuns is faster). Vectors are
// reused from chunk to chunk. Every id is a valid index into its table of Tables, and `node` into
// the node list of a graph target: what refers to a lost table entry reads as 0, unknown.
struct ChunkColumns {
  uint64_t sequence = 0;

  std::vector<uint64_t> launch_correlation_id;
  std::vector<Target> launch_target;
  std::vector<uint32_t> launch_stream;

  // Timed records sorted by start; `late_count` first ones start before an earlier chunk's last
  // start.
  uint64_t late_count = 0;
  std::vector<uint64_t> correlation_id;
  std::vector<Target> target;  // unknown: no launch explains the record
  std::vector<uint32_t> node;  // position in the graph's node list
  std::vector<uint32_t> site;  // 0: unattributed without a site
  std::vector<uint32_t> stream;
  std::vector<uint32_t> attributes;  // 0: not known yet when the chunk was written
  std::vector<uint64_t> start_ns;
  std::vector<uint64_t> end_ns;

  // Executed but not timed.
  std::vector<uint64_t> untimed_correlation_id;
  std::vector<Target> untimed_target;
  std::vector<uint32_t> untimed_node;
  std::vector<uint32_t> untimed_site;
  std::vector<uint32_t> untimed_attributes;
};

// One chunk's operations (OperationClass tells which), decoded: the timed ones sorted by start, then
// the untimed ones. Ids are valid indices into their tables; 0 where an entry was lost.
struct ChunkOperations {
  uint64_t sequence = 0;
  size_t timed_count = 0;   // these come first
  uint64_t late_count = 0;  // the first ones, that start before an earlier chunk's last start
  std::vector<uint32_t> operation_class;
  std::vector<uint64_t> correlation_id;
  std::vector<uint32_t> stream;
  std::vector<uint64_t> start_ns, end_ns;  // 0 for untimed ones
  std::vector<uint64_t> node_id;           // graphNodeId, 0 outside of graphs
  std::vector<uint64_t> amount, detail;    // what trace.proto's Operations says of the kind
};

struct OpenOptions {
  // Whether every byte of the columns is held against its hash. False: damaged columns are met when
  // they are decoded, if ever; for questions that heads answer, in time proportional to their number.
  bool verify_columns = true;
  int threads = 0;  // for that; 0: as many as the machine has
};

// When the calls of one chunk's launches were made, in the order of the launches. CLOCK_MONOTONIC, to
// which Tables::clocks relates the times of records. All 0: not recorded.
struct ChunkLaunchTimes {
  uint64_t sequence = 0;
  std::vector<uint64_t> enter_ns;
  std::vector<uint32_t> call_ns;  // how long each took; UINT32_MAX: that or longer
};

class TraceReader {
 public:
  // Opens one .hpt and reads its tables and the counter file beside it. Errors: not found, not a
  // trace, a newer major version; each is one line that says what to do. Damage is no error:
  // issues().
  static absl::StatusOr<std::unique_ptr<TraceReader>> Open(const std::string& path,
                                                           const OpenOptions& options = {});
  virtual ~TraceReader() = default;

  virtual const std::string& path() const = 0;
  virtual const Tables& tables() const = 0;
  virtual const std::vector<ReadIssue>& issues() const = 0;
  virtual size_t chunk_count() const = 0;  // readable chunks
  virtual uint64_t file_bytes() const = 0;
  // How many chunks' columns were decompressed so far.
  virtual uint64_t columns_decoded() const { return 0; }
  // A chunk's statistics as its head has them, `asked` and the sums by site included; reads the file.
  virtual absl::StatusOr<ChunkStatistics> ReadStatistics(size_t index) const;
  // A chunk's launches and records as runs: the fast way.
  virtual absl::Status ReadRuns(size_t index, ChunkRuns& runs) const;
  // Decodes chunk `index` (0..chunk_count()-1) into `columns`.
  virtual absl::Status ReadChunk(size_t index, ChunkColumns& columns) const = 0;
  // The same for its operations. Free where the chunk has none, which its statistics tell.
  virtual absl::Status ReadOperations(size_t, ChunkOperations&) const {
    return absl::UnimplementedError("this reader has no operations");
  }
  virtual absl::Status ReadLaunchTimes(size_t, ChunkLaunchTimes&) const {
    return absl::UnimplementedError("this reader has no launch times");
  }
};

// A counter file's header and values, by slot; all counts as such.
struct CounterFile {
  CountersHeader header{};
  CounterValues values;
  bool checked = true;  // damage shows; not so in files of formats 1.0 to 1.4
};
// Errors: not found, not a counter file, shorter than its header says, damaged.
absl::StatusOr<CounterFile> ReadCounters(const std::string& path);

// The traces that `path` names: itself, or every .hpt in a folder (sorted by name), with the
// manifest that `hotproof run` left there.
struct TraceSet {
  std::vector<std::string> trace_paths;
  std::optional<std::string> manifest_path;
};
// Errors: a path that does not exist; two folders with a manifest each. No trace in a folder is
// none.
absl::StatusOr<TraceSet> FindTraces(const std::vector<std::string>& paths);

}  // namespace hotproof::trace
