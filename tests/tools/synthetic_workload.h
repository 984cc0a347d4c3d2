// A deterministic stand-in for a decode server: the same launches on every machine and run, as vLLM
// 0.25.1 makes them in the recordings in examples/ (docs/measurements/trace_format.md compares
// bytes by column). One GPU. A decode step is the replay of one of four CUDA graphs and then 26
// eager launches that sample tokens; now and then comes a forward pass of eager launches, as a
// prefill or a warm-up makes it. Host and GPU times have the recorded distributions. For
// make_trace, benchmarks and tests.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/tools/synthetic_program.h"
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
  // Bell-shaped, mean 0, standard deviation 1: a sum of four uniforms.
  double Normal();

 private:
  uint64_t state_;
};

class SyntheticWorkload {
 public:
  // Each of kSites kernel launches of a forward pass is captured once, and launched eagerly for
  // each of kVariants batch sizes.
  static constexpr uint32_t kGraphs = 4, kNodes = 1170, kSites = 154, kVariants = 10,
                            kKernels = 152;
  static constexpr uint32_t kSiteCount = kSites * (1 + kVariants);
  static constexpr uint32_t kSampling = 26;     // eager launches behind a replay
  static constexpr uint32_t kEagerPercent = 8;  // recorded: 7.6 to 8.7

  static constexpr uint32_t kPid = 4242;  // of its header
  static constexpr uint64_t kStartTicks = 77;
  static constexpr uint64_t kStartNs = 1'764'000'000'000'000'000;  // on the GPU's clock and of day

  // `eager_percent`: of all launches, in the long run.
  explicit SyntheticWorkload(uint64_t seed = 1, uint32_t eager_percent = kEagerPercent);

  // Header and tables, as the tracer writes them before the first launch.
  void WriteTables(trace::Writer& writer, const std::string& counters_file) const;

  // The next replay, sampling or forward pass: its launches and records. With less than a graph's
  // kernels left it is an eager one of at most `most_records`. Returns the number of kernel
  // launches.
  uint32_t Step(uint64_t most_records);

  const std::vector<trace::LaunchEntry>& launches() const { return launches_; }
  const std::vector<trace::RecordEntry>& records() const { return records_; }

  // Site ids: kernels captured into graphs first, then the same launched eagerly.
  static constexpr uint32_t CapturedSite(uint32_t index) { return 1 + index; }
  static constexpr uint32_t EagerSite(uint32_t variant, uint32_t index) {
    return 1 + kSites * (1 + variant) + index;
  }

 private:
  struct Site {
    uint32_t kernel, grid[3], block[3], shared_bytes, registers;
    double duration_ns;  // as a node
    uint32_t id_step;    // correlation ids that its call takes
  };
  struct EagerTime {
    double median_ns, spread;  // of the ratios to the median
  };
  struct Eager {
    EagerTime enter_gap, call, duration;
  };
  struct Node {
    uint32_t site;
    double gap_ns;
  };

  void MakeSites(Random& random);
  void MakeGraphs(Random& random);
  uint64_t Ticks(double ns);
  void Replay();
  void PassEagerly(uint64_t launches);
  void LaunchEagerly(uint32_t variant, uint32_t index, uint32_t stream);
  uint64_t Call(double gap_ns, double call_ns, trace::Target target, uint32_t stream);
  void AwaitGpu();

  std::vector<SyntheticKernel> kernels_;
  std::vector<Site> sites_;
  std::vector<Eager> eager_;  // by variant and site
  std::array<std::vector<Node>, kGraphs> graphs_;
  Random random_;
  uint64_t gpu_ns_ = kStartNs;  // where the last kernel ended
  uint64_t host_ns_;            // where the last call returned, on its own clock
  uint64_t correlation_id_ = 1000;
  uint32_t eager_percent_;
  uint64_t owed_ = 0;      // eager launches to come, times 100 - eager_percent_
  uint32_t graph_ = 0;     // replayed last
  bool replayed_ = false;  // in the step before
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
  uint32_t eager_percent = SyntheticWorkload::kEagerPercent;  // of the launches
  uint64_t file_chunks = 0;  // begin a new file after so many; 0: one file
};
std::string WriteSyntheticTrace(const SyntheticTraceOptions& options);

}  // namespace hotproof::tools
