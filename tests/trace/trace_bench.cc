// How fast traces are written and read. Launches are those of tests/tools/synthetic_workload; times
// are this thread's CPU time. Run: trace_bench --benchmark_repetitions=5
// --benchmark_report_aggregates_only=true (docs/measurements/trace_format.md). Exit code 1: a
// benchmark failed, or its guard (BM_ReportOverDecompress) fired. --most_ratio=X sets the guard's
// limit.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analyzers/process_analysis.h"
#include "catalog/classifier.h"
#include "tests/tools/synthetic_workload.h"
#include "trace/frame_decoder.h"
#include "trace/reader.h"
#include "trace/writer.h"

namespace hotproof::trace {
namespace {

constexpr uint64_t kLaunches = 1'000'000;
bool failed = false;  // any benchmark: the library's own exit code does not tell

void Fail(benchmark::State& state, const std::string& why) {
  failed = true;
  state.SkipWithError(why.c_str());
}

void SetRate(benchmark::State& state, uint64_t launches) {
  state.SetItemsProcessed(static_cast<int64_t>(launches));
  state.counters["per_launch"] = benchmark::Counter(
      static_cast<double>(launches), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// A trace of kLaunches, so many percent of them eager; made once a program, removed at its end.
const std::string& TracePath(int64_t eager_percent) {
  struct Made {
    std::string path;
    ~Made() {
      std::remove(path.c_str());
      std::remove(std::filesystem::path(path).replace_extension(".hpc").c_str());
    }
  };
  static std::map<int64_t, Made> made;
  std::string& path = made[eager_percent].path;
  if (path.empty()) {
    path = "/tmp/hotproof_trace_bench." + std::to_string(getpid()) + "." +
           std::to_string(eager_percent) + ".hpt";
    const std::string error =
        tools::WriteSyntheticTrace({.launches = kLaunches,
                                    .trace_path = path,
                                    .eager_percent = static_cast<uint32_t>(eager_percent)});
    if (!error.empty()) std::abort();
  }
  return path;
}

// Of the argument "eager", percent of launches: a decode server's, replays alone, eager ones alone.
void EachKind(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgName("eager")->Arg(tools::SyntheticWorkload::kEagerPercent)->Arg(0)->Arg(100);
}

std::unique_ptr<TraceReader> Open(const std::string& path) {
  auto reader = TraceReader::Open(path);
  if (!reader.ok() || !(*reader)->issues().empty()) std::abort();
  return std::move(*reader);
}

// AddLaunch, AddRecord and Flush of the same steps. Arguments: zstd level, chunk size, eager
// percent.
void BM_Write(benchmark::State& state) {
  tools::SyntheticWorkload workload(1, static_cast<uint32_t>(state.range(2)));
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
  uint64_t written = 0, round = 0;
  const uint64_t span_ns = records.back().end_ns - records.front().start_ns;
  for (auto _ : state) {
    for (size_t i = 0; i < chunk; ++i) {
      RecordEntry record = records[at];
      record.start_ns += round * span_ns;  // time goes on when the steps come again
      record.end_ns += round * span_ns;
      writer.AddRecord(record);
      if (++at == records.size()) {
        at = 0;
        ++round;
      }
    }
    const size_t calls = launches.size() * chunk / records.size();
    for (size_t i = 0; i < calls; ++i) {
      writer.AddLaunch(launches[launch]);
      launch = launch + 1 == launches.size() ? 0 : launch + 1;
    }
    if (writer.Flush({none, none}) != WriteResult::kOk) Fail(state, "not written");
    written += chunk;
  }
  SetRate(state, written);
  state.counters["bytes_per_launch"] =
      static_cast<double>(writer.bytes_written()) / static_cast<double>(written);
}
BENCHMARK(BM_Write)
    ->ArgNames({"level", "chunk", "eager"})
    ->Args({1, 65536, 8})
    ->Args({1, 65536, 0})
    ->Args({1, 65536, 100})
    ->Args({3, 65536, 8})
    ->Args({6, 65536, 8})
    ->Args({1, 8192, 8})
    ->Args({1, 16384, 8})
    ->Args({1, 32768, 8})
    ->Args({1, 131072, 8})
    ->Args({1, 262144, 8});

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
    if (writer.FlushTables({counts, counts}) != WriteResult::kOk) Fail(state, "not written");
  }
}
BENCHMARK(BM_FlushTables)->Iterations(20000);

// Every byte checked, all tables.
void BM_Open(benchmark::State& state) {
  uint64_t launches = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(Open(TracePath(state.range(0))));
    launches += kLaunches;
  }
  SetRate(state, launches);
}
BENCHMARK(BM_Open)->Apply(EachKind);

// All columns decoded.
void BM_ReadChunks(benchmark::State& state) {
  const auto reader = Open(TracePath(state.range(0)));
  ChunkColumns columns;
  uint64_t launches = 0;
  for (auto _ : state) {
    for (size_t i = 0; i < reader->chunk_count(); ++i) {
      if (!reader->ReadChunk(i, columns).ok()) Fail(state, "not read");
      launches += columns.start_ns.size();
    }
  }
  SetRate(state, launches);
}
BENCHMARK(BM_ReadChunks)->Apply(EachKind);

// The same as runs, as a report reads them.
void BM_ReadRuns(benchmark::State& state) {
  const auto reader = Open(TracePath(state.range(0)));
  ChunkRuns runs;
  uint64_t launches = 0;
  for (auto _ : state) {
    for (size_t i = 0; i < reader->chunk_count(); ++i) {
      if (!reader->ReadRuns(i, runs).ok()) Fail(state, "not read");
      launches += runs.start_ns.size();
    }
  }
  SetRate(state, launches);
}
BENCHMARK(BM_ReadRuns)->Apply(EachKind);

// Open, decode, sum durations by site: the least that a report does.
void BM_SumBySite(benchmark::State& state) {
  ChunkRuns runs;
  uint64_t launches = 0;
  for (auto _ : state) {
    const auto reader = Open(TracePath(state.range(0)));
    std::vector<uint64_t> sums(reader->tables().sites.size());
    for (size_t chunk = 0; chunk < reader->chunk_count(); ++chunk) {
      if (!reader->ReadRuns(chunk, runs).ok()) Fail(state, "not read");
      for (const Run& run : runs.runs) {
        const uint32_t* const sites =
            run.sites_by_node ? &reader->tables().graphs[run.target.id()].node_sites[run.node]
                              : nullptr;
        for (uint32_t i = 0; i < run.count; ++i) {
          const uint32_t record = run.begin + i;
          uint32_t site = run.site;
          if (sites != nullptr) site = sites[i];
          if (run.own_groups) site = runs.groups[run.group + i].target.id();
          sums[site] += runs.end_ns[record] - runs.start_ns[record];
        }
      }
      launches += runs.start_ns.size();
    }
    benchmark::DoNotOptimize(sums.data());
  }
  SetRate(state, launches);
}
BENCHMARK(BM_SumBySite)->Apply(EachKind);

// The same sums from the chunks' statistics, without columns.
void BM_SumBySiteFromStatistics(benchmark::State& state) {
  uint64_t launches = 0;
  for (auto _ : state) {
    const auto reader = Open(TracePath(state.range(0)));
    benchmark::DoNotOptimize(reader->tables().site_duration_ns.data());
    launches += kLaunches;
  }
  SetRate(state, launches);
}
BENCHMARK(BM_SumBySiteFromStatistics)->Apply(EachKind);

// ---- how far from the least possible

std::string WholeFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Nothing but zstd: what no reader of this format can do without.
void DecompressAll(const std::string& file, FrameDecoder& decoder) {
  for (size_t at = 0; at < file.size();) {
    const size_t bytes = ZSTD_findFrameCompressedSize(file.data() + at, file.size() - at);
    if (!decoder.Decode({file.data() + at, bytes}, size_t{1} << 28)) std::abort();
    at += bytes;
  }
}

const catalog::Classifier& GetClassifier() {
  static const catalog::Classifier classifier = *catalog::Classifier::Create();
  return classifier;
}

// All that a report takes from a trace, with one thread.
void Report(const std::string& path) {
  auto reader = TraceReader::Open(path, {.threads = 1});
  if (!reader.ok()) std::abort();
  const auto analysis =
      analyzers::AnalyzeTrace(*std::move(reader), GetClassifier(), {.fold = {.threads = 1}});
  if (analysis.times.records != kLaunches) std::abort();
}

void BM_Decompress(benchmark::State& state) {
  const std::string file = WholeFile(TracePath(state.range(0)));
  FrameDecoder decoder;
  uint64_t launches = 0;
  for (auto _ : state) {
    DecompressAll(file, decoder);
    launches += kLaunches;
  }
  SetRate(state, launches);
}
BENCHMARK(BM_Decompress)->Apply(EachKind);

void BM_Report(benchmark::State& state) {
  uint64_t launches = 0;
  for (auto _ : state) {
    Report(TracePath(state.range(0)));
    launches += kLaunches;
  }
  SetRate(state, launches);
}
BENCHMARK(BM_Report)->Apply(EachKind);

// The guard against getting slower: a report's CPU time over that of decompression alone, in turns,
// so that the machine and its load cancel out.
double most_ratio = 8;  // measured: 5.3 to 6.7 of each kind on a busy machine
void BM_ReportOverDecompress(benchmark::State& state) {
  const std::string& path = TracePath(state.range(0));
  const auto seconds = [](auto&& work) {
    const auto now = [] {
      timespec time{};
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
      return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
    };
    const double begin = now();
    work();
    return now() - begin;
  };
  const std::string file = WholeFile(TracePath(state.range(0)));
  FrameDecoder decoder;
  std::vector<double> ratios;
  for (auto _ : state) {
    const double least = seconds([&] { DecompressAll(file, decoder); });
    ratios.push_back(seconds([&] { Report(path); }) / least);
  }
  std::nth_element(ratios.begin(), ratios.begin() + ratios.size() / 2, ratios.end());
  const double median = ratios[ratios.size() / 2];
  state.counters["ratio"] = median;
  char why[128];
  std::snprintf(why, sizeof why, "a report costs %.2f times decompression alone; the limit is %g",
                median, most_ratio);
  if (median > most_ratio) Fail(state, why);
}
BENCHMARK(BM_ReportOverDecompress)->Apply(EachKind)->Iterations(21);

// benchmark's options, and --most_ratio=X.
int Main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  constexpr std::string_view kMostRatio = "--most_ratio=";
  for (int i = 1; i < argc; ++i) {
    if (!std::string_view(argv[i]).starts_with(kMostRatio)) {
      std::fprintf(stderr, "trace_bench: unknown option %s\n", argv[i]);
      return 2;
    }
    most_ratio = std::strtod(argv[i] + kMostRatio.size(), nullptr);
  }
  benchmark::RunSpecifiedBenchmarks();
  return failed ? 1 : 0;
}

}  // namespace
}  // namespace hotproof::trace

int main(int argc, char** argv) { return hotproof::trace::Main(argc, argv); }
