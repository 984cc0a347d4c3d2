#include "tests/tools/synthetic_workload.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>

namespace hotproof::tools {
namespace {

constexpr double kTickNs = 32;

// The families of names that a decode step launches, with the kind of template arguments that make
// them long.
constexpr const char* kFamilies[] = {
    "_ZN9deep_gemm21sm90_fp8_gemm_1d2d_implILj%uELj5120ELj1ELj%"
    "uELj128ELj128ELj1ELj128ELj128ELj5ELj0ELj128ELj256ELj1ELb0ELj132ELNS_"
    "8GemmTypeE0EN7cutlass10bfloat16_tEEEvPfPijjj14CUtensorMap_stS7_S7_S7_",
    "_ZN10flashinfer29BatchDecodeWithPagedKVCacheKernelILNS_15PosEncodingModeE0ELj2ELj4ELj8ELj%"
    "uELj8ELj%uENS_16DefaultAttentionILb0ELb0ELb0ELb0EEE13nv_bfloat16S4_S4_iEEvNS_"
    "19BatchDecodeParamsE",
    "_ZN4vllm31rms_norm_static_fp8_quant_kernelIN3c108BFloat16ENS1_13Float8_e4m3fnELi%uELi%"
    "uEEEvPT0_PKT_iS6_PKffii",
    "_ZN2at6native29vectorized_elementwise_kernelILi%uEZZZNS0_15sigmoid_kernel_cudaERNS_"
    "18TensorIteratorBaseEENKUlvE0_clEvENKUlvE4_clEvEUlN3c108BFloat16EE_St5arrayIPcLm%uEEEEviT0_"
    "T1_",
    "nvjet_sm90_tst_%ux%u_64x6_2x1_v_bz_coopB_TNT",
    "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_silu_view_%u_%u",
};
constexpr size_t kMeanNameBytes = 224;

std::string MakeName(uint32_t index) {
  char text[512];
  snprintf(text, sizeof text, kFamilies[index % std::size(kFamilies)], 64 + 8 * index, 2 + index);
  std::string name = text;
  // Policies and epilogues make up the rest of real names.
  while (name.size() < kMeanNameBytes - 30) {
    name += "_N7cutlass4gemm6kernel" + std::to_string(7 * index + name.size()) + "E";
  }
  return name;
}

}  // namespace

double Random::Normal() {
  double sum = 0;
  for (int i = 0; i < 12; ++i) sum += static_cast<double>(Next() >> 11) * 0x1p-53;
  return sum - 6;
}

SyntheticWorkload::SyntheticWorkload(uint64_t seed, uint32_t eager_percent)
    : random_(seed), eager_percent_(eager_percent) {
  Random random(20251129);  // the program; `seed` changes only its timing
  for (uint32_t i = 0; i < kKernels; ++i) names_.push_back(MakeName(i));
  MakeSites(random);
  MakeGraphs(random);
}

void SyntheticWorkload::MakeSites(Random& random) {
  // Deciles of kernel durations in the recorded steps, in ns.
  constexpr double kDeciles[] = {900,  1120, 1600,  1664,  1728, 1968,
                                 2560, 4768, 15744, 27000, 40000};
  for (uint32_t i = 0; i < kSites; ++i) {
    Site site{};
    site.kernel = 1 + i % kKernels;
    site.grid[0] = 1 + static_cast<uint32_t>(random.Below(132));
    site.grid[1] = 1 + static_cast<uint32_t>(random.Below(8));
    site.grid[2] = 1;
    site.block[0] = 32u << random.Below(5);
    site.block[1] = site.block[2] = 1;
    site.shared_bytes = static_cast<uint32_t>(random.Below(8)) * 24576;
    site.registers = 16 + 8 * static_cast<uint32_t>(random.Below(20));
    const uint64_t decile = random.Below(10);
    const double at = static_cast<double>(random.Below(1000)) / 1000;
    site.duration_ns = kDeciles[decile] + at * (kDeciles[decile + 1] - kDeciles[decile]);
    sites_.push_back(site);
  }
}

void SyntheticWorkload::MakeGraphs(Random& random) {
  for (std::vector<Node>& graph : graphs_) {
    // Layers of 11 kernels that repeat, as a transformer's do, with a few of their own.
    std::vector<uint32_t> layer;
    for (int i = 0; i < 11; ++i) layer.push_back(static_cast<uint32_t>(random.Below(kSites)));
    for (uint32_t n = 0; n < kNodes; ++n) {
      const bool own = random.Below(20) == 0;
      graph.push_back({own ? static_cast<uint32_t>(random.Below(kSites)) : layer[n % 11],
                       256 + 32 * static_cast<double>(random.Below(10))});
    }
  }
}

// The GPU's clock counts in ticks; CUPTI's conversion to ns rounds one in six up or down.
uint64_t SyntheticWorkload::Ticks(double ns) {
  const double ticks = std::max(1.0, ns / kTickNs);
  const uint64_t rounded = static_cast<uint64_t>(ticks + 0.5) * static_cast<uint64_t>(kTickNs);
  const uint64_t die = random_.Below(18);
  return die == 0 ? rounded + 1 : die <= 2 ? rounded - 1 : rounded;
}

void SyntheticWorkload::WriteTables(trace::Writer& writer, const std::string& counters_file) const {
  trace::HeaderEntry header;
  header.hotproof_version = "make_trace";
  header.mode = 1;
  header.pid = kPid;
  header.process_start_ticks = kStartTicks;
  header.counters_file = counters_file;
  header.executable = "/usr/bin/make_trace";
  header.devices = {{.id = 0,
                     .name = "NVIDIA H200",
                     .uuid = "GPU-synthetic",
                     .compute_capability_major = 9,
                     .multiprocessors = 132}};
  header.interposers = true;
  writer.AddHeader(header);
  for (uint32_t i = 0; i < kKernels; ++i) writer.AddKernel({.id = i + 1, .name = names_[i]});
  writer.AddStream({.id = 1, .device_id = 0, .context_id = 1, .stream_id = 7});
  for (const bool captured : {true, false}) {
    for (uint32_t i = 0; i < kSites; ++i) {
      const Site& site = sites_[i];
      trace::SiteEntry entry;
      entry.id = captured ? CapturedSite(i) : EagerSite(i);
      entry.kernel_id = site.kernel;
      std::copy_n(site.grid, 3, entry.grid);
      std::copy_n(site.block, 3, entry.block);
      entry.dynamic_shared_bytes = site.shared_bytes;
      entry.captured = captured;
      entry.api_cbid = 307;
      writer.AddSite(entry);
    }
  }
  for (uint32_t i = 0; i < kSites; ++i) {
    writer.AddAttributes(i + 1, {.registers_per_thread = sites_[i].registers, .launch_type = 0});
  }
  for (uint32_t g = 0; g < kGraphs; ++g) {
    std::vector<uint64_t> node_ids;
    std::vector<uint32_t> node_sites;
    for (uint32_t n = 0; n < kNodes; ++n) {
      node_ids.push_back((uint64_t{g + 2} << 32) + n);
      node_sites.push_back(CapturedSite(graphs_[g][n].site));
    }
    writer.AddGraph({.id = g + 1,
                     .exec_graph_id = g + 2,
                     .source_graph_id = g + 100,
                     .node_ids = node_ids,
                     .node_sites = node_sites});
  }
}

uint32_t SyntheticWorkload::Step(uint64_t most_records) {
  launches_.clear();
  records_.clear();
  eager_ = random_.Below(100) < eager_percent_ || most_records < kNodes;  // a replay is never cut
  const auto g = static_cast<uint32_t>(random_.Below(kGraphs));
  now_ns_ += Ticks(120'000 + 20'000 * random_.Normal());  // the host between steps
  if (!eager_) {
    correlation_id_ += 60 + random_.Below(5);
    launches_.push_back({correlation_id_, trace::Target::Graph(g + 1), 1});
  }
  uint32_t node = 0;
  for (const Node& at : graphs_[g]) {
    if (records_.size() == most_records) break;
    const Site& site = sites_[at.site];
    trace::RecordEntry record;
    if (eager_) {
      correlation_id_ += 1 + random_.Below(3);
      record.target = trace::Target::Site(EagerSite(at.site));
      record.default_site = EagerSite(at.site);
      launches_.push_back({correlation_id_, record.target, 1});
    } else {
      record.target = trace::Target::Graph(g + 1);
      record.node = node++;
      record.default_site = CapturedSite(at.site);
    }
    // Eager launches wait for the host; graph nodes follow each other closely, one in five less so.
    const double jitter_ns = random_.Below(5) == 0 ? 200 : 30;
    const double gap_ns =
        eager_ ? 2500 + 900 * random_.Normal() : at.gap_ns + jitter_ns * random_.Normal();
    record.correlation_id = correlation_id_;
    record.start_ns = now_ns_ + Ticks(gap_ns);
    record.end_ns = record.start_ns +
                    Ticks(site.duration_ns + (30 + 0.02 * site.duration_ns) * random_.Normal());
    record.stream = 1;
    record.attributes = at.site + 1;
    now_ns_ = record.end_ns;
    records_.push_back(record);
  }
  return static_cast<uint32_t>(records_.size());
}

namespace {

// Closes the file at `path` as number `segment` and goes on in a new one. False: it failed.
bool BeginNextFile(trace::Writer& writer, const std::string& path, uint32_t segment) {
  namespace fs = std::filesystem;
  char number[32];
  std::snprintf(number, sizeof number, ".%06u.hps", segment);
  const std::string closed = fs::path(path).replace_extension("").string() + number, next = path + ".new";
  const int fd = open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  return fd >= 0 && writer.StartFile(fd, [&] {
    return rename(path.c_str(), closed.c_str()) == 0 && rename(next.c_str(), path.c_str()) == 0;
  }) == trace::WriteResult::kOk;
}

}  // namespace

std::string WriteSyntheticTrace(const SyntheticTraceOptions& options) {
  namespace fs = std::filesystem;
  const fs::path path = options.trace_path;
  const std::string counters_path = fs::path(path).replace_extension(".hpc").string();
  std::error_code ignored;
  fs::remove(counters_path, ignored);
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return options.trace_path + ": " + strerror(errno);
  trace::Writer writer(fd, options.zstd_level);
  trace::CounterTable counters(AT_FDCWD, counters_path.c_str(), 1 + 2 * SyntheticWorkload::kSites,
                               1 + SyntheticWorkload::kGraphs, SyntheticWorkload::kPid,
                               SyntheticWorkload::kStartTicks);
  if (options.file_chunks != 0) writer.KeepForNextFile();
  uint32_t segment = 1;
  uint64_t chunks = 0;
  if (!counters.on_disk()) return counters_path + ": " + strerror(counters.error());
  const trace::CounterView view{counters.sites(), counters.graphs()};
  SyntheticWorkload workload(options.seed, options.eager_percent);
  workload.WriteTables(writer, fs::path(counters_path).filename().string());
  if (writer.FlushTables(view) != trace::WriteResult::kOk) return "the tables were not written";
  for (uint64_t done = 0; done < options.launches;) {
    done += workload.Step(options.launches - done);
    for (const trace::LaunchEntry& launch : workload.launches()) {
      writer.AddLaunch(launch);
      if (launch.target.is_graph()) {
        counters.CountGraph(launch.target.id());
      } else {
        counters.CountSite(launch.target.id());
      }
    }
    for (const trace::RecordEntry& record : workload.records()) writer.AddRecord(record);
    const size_t pending = std::max(writer.pending_records(), writer.pending_launches());
    if (pending < options.chunk_entries) continue;
    if (writer.Flush(view) != trace::WriteResult::kOk) {
      return options.trace_path + ": a chunk was not written";
    }
    if (++chunks == options.file_chunks) {
      chunks = 0;
      if (!BeginNextFile(writer, options.trace_path, segment++)) return "no next file could be begun";
    }
  }
  writer.AddFooter({.reason = "exit",
                    .launches = options.launches,
                    .records = options.launches,
                    .flushed = true});
  if (writer.Flush(view) != trace::WriteResult::kOk) return "the last chunk was not written";
  counters.header()->records_written = writer.records_written();
  return "";
}

}  // namespace hotproof::tools
