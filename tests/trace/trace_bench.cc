// How fast traces are written and read. Launches are those of tests/tools/synthetic_workload; times
// are this thread's CPU time. Run: trace_bench --benchmark_repetitions=5
// --benchmark_report_aggregates_only=true (docs/measurements/trace_format.md).
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "tests/tools/synthetic_workload.h"
#include "trace/reader.h"
#include "trace/writer.h"

namespace hotproof::trace {
namespace {

constexpr uint64_t kLaunches = 1'000'000;

void SetRate(benchmark::State& state, uint64_t launches) {
  state.SetItemsProcessed(static_cast<int64_t>(launches));
  state.counters["per_launch"] = benchmark::Counter(
      static_cast<double>(launches), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// A trace of kLaunches, made once a program.
const std::string& TracePath() {
  static const std::string path = [] {
    std::string name = "/tmp/hotproof_trace_bench." + std::to_string(getpid()) + ".hpt";
    const std::string error =
        tools::WriteSyntheticTrace({.launches = kLaunches, .trace_path = name});
    if (!error.empty()) std::abort();
    return name;
  }();
  return path;
}

std::unique_ptr<TraceReader> Open(const std::string& path) {
  auto reader = TraceReader::Open(path);
  if (!reader.ok() || !(*reader)->issues().empty()) std::abort();
  return std::move(*reader);
}

// AddLaunch, AddRecord and Flush to /dev/null of the same steps. Arguments: zstd level, chunk size.
void BM_Write(benchmark::State& state) {
  tools::SyntheticWorkload workload;
  std::vector<LaunchEntry> launches;
  std::vector<RecordEntry> records;
  const auto chunk = static_cast<size_t>(state.range(1));
  while (records.size() < 8 * chunk) {
    workload.Step(~uint64_t{0});
    launches.insert(launches.end(), workload.launches().begin(), workload.launches().end());
    records.insert(records.end(), workload.records().begin(), workload.records().end());
  }
  const std::vector<uint64_t> none = {0};
  Writer writer(open("/tmp", O_TMPFILE | O_WRONLY, 0600), static_cast<int>(state.range(0)));
  size_t at = 0, launch = 0;
  uint64_t written = 0;
  for (auto _ : state) {
    for (size_t i = 0; i < chunk; ++i) {
      writer.AddRecord(records[at]);
      at = at + 1 == records.size() ? 0 : at + 1;
    }
    const size_t calls = launches.size() * chunk / records.size();
    for (size_t i = 0; i < calls; ++i) {
      writer.AddLaunch(launches[launch]);
      launch = launch + 1 == launches.size() ? 0 : launch + 1;
    }
    if (writer.Flush({none, none}) != WriteResult::kOk) state.SkipWithError("not written");
    written += chunk;
  }
  SetRate(state, written);
  state.counters["bytes_per_launch"] =
      static_cast<double>(writer.bytes_written()) / static_cast<double>(written);
}
BENCHMARK(BM_Write)
    ->ArgNames({"level", "chunk"})
    ->Args({1, 65536})
    ->Args({3, 65536})
    ->Args({6, 65536})
    ->Args({1, 8192})
    ->Args({1, 16384})
    ->Args({1, 32768})
    ->Args({1, 131072})
    ->Args({1, 262144});

// One new kernel and site, as in front of a first launch.
void BM_FlushTables(benchmark::State& state) {
  Writer writer(open("/tmp", O_TMPFILE | O_WRONLY, 0600));
  const std::string name(224, 'k');
  std::vector<uint64_t> counts(65536);
  uint32_t id = 0;
  for (auto _ : state) {
    ++id;
    writer.AddKernel({.id = id, .name = name});
    writer.AddSite({.id = id, .kernel_id = id, .grid = {id, 1, 1}, .block = {128, 1, 1}});
    if (writer.FlushTables({counts, counts}) != WriteResult::kOk)
      state.SkipWithError("not written");
  }
}
BENCHMARK(BM_FlushTables)->Iterations(20000);

// Every byte checked, all tables.
void BM_Open(benchmark::State& state) {
  uint64_t launches = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(Open(TracePath()));
    launches += kLaunches;
  }
  SetRate(state, launches);
}
BENCHMARK(BM_Open);

// All columns decoded.
void BM_ReadChunks(benchmark::State& state) {
  const auto reader = Open(TracePath());
  ChunkColumns columns;
  uint64_t launches = 0;
  for (auto _ : state) {
    for (size_t i = 0; i < reader->chunk_count(); ++i) {
      if (!reader->ReadChunk(i, columns).ok()) state.SkipWithError("not read");
      launches += columns.start_ns.size();
    }
  }
  SetRate(state, launches);
}
BENCHMARK(BM_ReadChunks);

// Open, decode, sum durations by site: the least that a report does.
void BM_SumBySite(benchmark::State& state) {
  ChunkColumns columns;
  uint64_t launches = 0;
  for (auto _ : state) {
    const auto reader = Open(TracePath());
    std::vector<uint64_t> sums(reader->tables().sites.size());
    for (size_t chunk = 0; chunk < reader->chunk_count(); ++chunk) {
      if (!reader->ReadChunk(chunk, columns).ok()) state.SkipWithError("not read");
      for (size_t i = 0; i < columns.start_ns.size(); ++i) {
        sums[columns.site[i]] += columns.end_ns[i] - columns.start_ns[i];
      }
      launches += columns.start_ns.size();
    }
    benchmark::DoNotOptimize(sums.data());
  }
  SetRate(state, launches);
}
BENCHMARK(BM_SumBySite);

// The same sums from the chunks' statistics, without columns.
void BM_SumBySiteFromStatistics(benchmark::State& state) {
  uint64_t launches = 0;
  for (auto _ : state) {
    const auto reader = Open(TracePath());
    std::vector<uint64_t> sums(reader->tables().sites.size());
    for (const ChunkStatistics& statistics : reader->tables().chunk_statistics) {
      uint32_t site = 0;
      for (int i = 0; i < statistics.site_ids_size(); ++i) {
        site += static_cast<uint32_t>(statistics.site_ids(i));
        sums[site] += statistics.site_duration_ns(i);
      }
    }
    benchmark::DoNotOptimize(sums.data());
    launches += kLaunches;
  }
  SetRate(state, launches);
}
BENCHMARK(BM_SumBySiteFromStatistics);

}  // namespace
}  // namespace hotproof::trace

BENCHMARK_MAIN();
