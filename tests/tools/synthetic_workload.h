// A deterministic stand-in for a decode server: the same launches on every machine and run. One
// GPU, one stream; 95% of the steps replay one of four CUDA graphs of 700 kernels, 5% launch the
// same kernels eagerly. Times come in GPU clock ticks of 32 ns with the jitter of recorded H200
// decode steps (docs/measurements/trace_format.md compares). For make_trace, benchmarks and tests.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "trace/counters.h"
#include "trace/writer.h"

namespace hotproof::tools {

// splitmix64: the same sequence everywhere, unlike the distributions of <random>.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
  }
  uint64_t Below(uint64_t limit) { return Next() % limit; }
  // Bell-shaped, mean 0, standard deviation 1: a sum of twelve uniforms.
  double Normal();

 private:
  uint64_t state_;
};

class SyntheticWorkload {
 public:
  static constexpr uint32_t kGraphs = 4, kNodes = 700, kSites = 154, kKernels = 57;

  static constexpr uint32_t kPid = 4242;  // of its header
  static constexpr uint64_t kStartTicks = 77;

  explicit SyntheticWorkload(uint64_t seed = 1, uint32_t eager_percent = 5);

  // Header and tables, as the tracer writes them before the first launch.
  void WriteTables(trace::Writer& writer, const std::string& counters_file) const;

  // One step of the server: its launches and records. With less than a graph's kernels left it is
  // an eager one of exactly `most_records`. Returns the number of kernel launches.
  uint32_t Step(uint64_t most_records);

  const std::vector<trace::LaunchEntry>& launches() const { return launches_; }
  const std::vector<trace::RecordEntry>& records() const { return records_; }
  bool eager() const { return eager_; }

  // Site ids: kernels captured into graphs first, then the same launched eagerly.
  static constexpr uint32_t CapturedSite(uint32_t index) { return 1 + index; }
  static constexpr uint32_t EagerSite(uint32_t index) { return 1 + kSites + index; }

 private:
  struct Site {
    uint32_t kernel, grid[3], block[3], shared_bytes, registers;
    double duration_ns;
  };
  struct Node {
    uint32_t site;
    double gap_ns;
  };

  void MakeSites(Random& random);
  void MakeGraphs(Random& random);
  uint64_t Ticks(double ns);

  std::vector<std::string> names_;
  std::vector<Site> sites_;
  std::array<std::vector<Node>, kGraphs> graphs_;
  Random random_;
  uint64_t now_ns_ = 1'764'000'000'000'000'000;
  uint64_t correlation_id_ = 1000;
  uint32_t eager_percent_;
  bool eager_ = false;
  std::vector<trace::LaunchEntry> launches_;
  std::vector<trace::RecordEntry> records_;
};

// Writes a whole trace of exactly `launches` kernel launches to `trace_path`, and its counter file
// beside it (.hpc). Returns an error message, empty: none.
struct SyntheticTraceOptions {
  uint64_t launches = 1'000'000;
  std::string trace_path;
  int zstd_level = 1;
  size_t chunk_entries = trace::kChunkEntries;
  uint64_t seed = 1;
  uint32_t eager_percent = 5;  // of the steps
  uint64_t file_chunks = 0;    // begin a new file after so many; 0: one file
};
std::string WriteSyntheticTrace(const SyntheticTraceOptions& options);

}  // namespace hotproof::tools
