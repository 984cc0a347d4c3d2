#include "tests/tools/synthetic_workload.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <set>
#include <system_error>

#include "tests/tools/launch_quantiles.h"

namespace hotproof::tools {
namespace {

constexpr double kTickNs = 32;
// trace.proto's SnapshotReason
constexpr uint32_t kEndCapture = 2, kFirstReplay = 3, kReplayAfterCapture = 4;
constexpr uint32_t kTries = 130;  // launches for one variant
constexpr uint64_t kOneIn18 = (uint64_t{1} << 32) / 18;
constexpr uint64_t kClocksApartNs = 1'763'000'000'000'000'000;  // the GPU's and the host's

// A distribution by its quantiles: in between evenly, or evenly in its logarithm where that can be.
class Distribution {
 public:
  explicit Distribution(const double (&quantiles)[kQuantiles]) {
    constexpr int kParts = kSteps / (kQuantiles - 1);
    for (int step = 0; step <= kSteps; ++step) {
      const int at = std::min(step / kParts, kQuantiles - 2);
      const double low = quantiles[at], high = quantiles[at + 1];
      const double share = static_cast<double>(step - at * kParts) / kParts;
      values_[step] = low > 0 ? low * std::pow(high / low, share) : low + (high - low) * share;
    }
  }
  double Draw(Random& random) const {
    const uint64_t bits = random.Next() >> 32;
    const uint64_t step = bits >> (32 - kStepBits);
    const double share = static_cast<double>(bits << kStepBits & 0xffffffff) * 0x1p-32;
    return values_[step] + (values_[step + 1] - values_[step]) * share;
  }

 private:
  static constexpr int kStepBits = 10, kSteps = 1 << kStepBits;
  double values_[kSteps + 1];
};
const Distribution kEnterGaps(kEnterGapNs), kEnterGapRatios(kEnterGapRatio), kCalls(kCallNs),
    kCallRatios(kCallRatio), kDurations(kDurationNs), kDurationRatios(kDurationRatio),
    kStartDelays(kStartDelayNs), kQueuedGaps(kQueuedGapNs);

// Rows of the products: of what is captured, then of the variants that are launched eagerly.
constexpr uint32_t kTokens[1 + SyntheticWorkload::kVariants] = {8,  8,  1,   2,   4,  16,
                                                                32, 64, 128, 225, 512};

}  // namespace

double Random::Normal() {
  const uint64_t bits = Next();
  double sum = 0;
  for (int shift = 0; shift < 64; shift += 16) sum += static_cast<double>(bits >> shift & 0xffff);
  return (sum * 0x1p-16 - 2) * 1.7320508;
}

SyntheticWorkload::SyntheticWorkload(uint64_t seed, uint32_t eager_percent)
    : random_(seed),
      host_ns_(gpu_ns_ - kClocksApartNs),
      eager_percent_(std::min(eager_percent, 100u)) {
  Random random(20251129);  // the program; `seed` changes only its timing
  for (uint32_t i = 0; i < kKernels; ++i) kernels_.emplace_back(i);
  MakeSites(random);
  MakeGraphs(random);
}

void SyntheticWorkload::MakeSites(Random& random) {
  // Deciles of kernel durations in the recorded decode steps, in ns.
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
    // Recorded: 84% take one id, 13% two (an event or a memory operation goes before), 3% five or
    // more.
    const uint64_t die = random.Below(100);
    site.id_step = die < 84 ? 1 : die < 97 ? 2 : 5;
    sites_.push_back(site);
  }
  // The ratios are those of all sites together. One site's differ by less from its own median.
  const auto time = [&](const Distribution& medians, double least_spread) {
    const double spread = static_cast<double>(random.Below(1000)) / 1000;
    return EagerTime{medians.Draw(random), least_spread + (1 - least_spread) * spread};
  };
  for (uint32_t i = 0; i < kVariants * kSites; ++i) {
    eager_.push_back({time(kEnterGaps, 0), time(kCalls, 0.3), time(kDurations, 0)});
  }
}

void SyntheticWorkload::MakeGraphs(Random& random) {
  for (std::vector<Node>& graph : graphs_) {
    // Layers of 18 kernels that repeat, as a transformer's do, with a few of their own.
    constexpr uint32_t kLayer = 18;
    std::vector<uint32_t> layer;
    for (uint32_t i = 0; i < kLayer; ++i)
      layer.push_back(static_cast<uint32_t>(random.Below(kSites)));
    for (uint32_t n = 0; n < kNodes; ++n) {
      const bool own = random.Below(20) == 0;
      // Recorded: 1.4% start before the kernel in front of them has ended (programmatic dependent
      // launch).
      const bool early = random.Below(70) == 0;
      const double gap_ns = 32 * static_cast<double>(random.Below(10));
      graph.push_back({own ? static_cast<uint32_t>(random.Below(kSites)) : layer[n % kLayer],
                       early ? -160 - gap_ns : 256 + gap_ns});
    }
  }
}

// The GPU's clock counts in ticks; CUPTI's conversion to ns rounds one in six up or down.
uint64_t SyntheticWorkload::Ticks(double ns) {
  const double ticks = std::max(1.0, ns / kTickNs);
  const uint64_t rounded = static_cast<uint64_t>(ticks + 0.5) * static_cast<uint64_t>(kTickNs);
  const uint64_t die = random_.Next() >> 32;
  return die < kOneIn18 ? rounded + 1 : die < 3 * kOneIn18 ? rounded - 1 : rounded;
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
  writer.AddClockPair(
      {.cupti_ns = gpu_ns_, .realtime_ns = gpu_ns_, .monotonic_ns = gpu_ns_ - kClocksApartNs});
  for (uint32_t i = 0; i < kKernels; ++i) kernels_[i].Write(writer, i + 1);
  writer.AddStream({.id = 1, .device_id = 0, .context_id = 1, .stream_id = 7});
  writer.AddStream({.id = 2, .device_id = 0, .context_id = 1, .stream_id = 17});
  SyntheticSites sites(writer);
  for (uint32_t id = 1; id <= kSiteCount; ++id) {
    const uint32_t variant = (id - 1) / kSites;  // 0: captured
    const Site& site = sites_[(id - 1) % kSites];
    trace::SiteEntry entry;
    entry.id = id;
    entry.kernel_id = 1 + (site.kernel - 1 + 15 * variant) % kKernels;
    std::copy_n(site.grid, 3, entry.grid);
    entry.grid[0] += variant;
    std::copy_n(site.block, 3, entry.block);
    entry.dynamic_shared_bytes = site.shared_bytes;
    entry.captured = variant == 0;
    entry.api_cbid = 307;
    sites.Add(entry, kernels_[entry.kernel_id - 1], kTokens[variant]);
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
  const uint64_t each = 100 - eager_percent_;
  const bool sample = replayed_ && owed_ >= kSampling * each && most_records > 0 && each > 0;
  const bool forward = owed_ >= kNodes * each || most_records < kNodes;  // a replay is never cut
  replayed_ = !sample && !forward;
  if (replayed_) {
    AwaitGpu();
    Replay();
    owed_ += uint64_t{kNodes} * eager_percent_;
  } else if (sample) {
    for (uint32_t i = 0; i < std::min<uint64_t>(kSampling, most_records); ++i) {
      LaunchEagerly(0, kSites - kSampling + i, 1);
    }
  } else {
    AwaitGpu();
    PassEagerly(std::min<uint64_t>(kNodes, most_records));
  }
  if (!replayed_) owed_ -= std::min(owed_, records_.size() * each);
  return static_cast<uint32_t>(records_.size());
}

// A forward pass; where nothing is replayed, as while a server warms up, mostly the search for the
// fastest variant of a kernel: the same two kernels (one empties the cache) again and again.
void SyntheticWorkload::PassEagerly(uint64_t launches) {
  const auto variant = static_cast<uint32_t>(random_.Below(kVariants));
  const auto any_site = [this] { return static_cast<uint32_t>(random_.Below(kSites)); };
  const uint32_t stream = random_.Below(20) == 0 ? 2 : 1;
  const bool tries = eager_percent_ == 100 && random_.Below(10) < 7;
  const std::vector<Node>& graph = graphs_[random_.Below(kGraphs)];
  uint32_t pair[2] = {};
  for (uint32_t i = 0; i < launches; ++i) {
    if (tries && i % kTries == 0) pair[0] = any_site(), pair[1] = any_site();
    const bool other = random_.Below(250) == 0;
    LaunchEagerly(variant, other ? any_site() : tries ? pair[i % 2] : graph[i].site, stream);
  }
}

// The host waits for what it launched, as for a step's tokens.
void SyntheticWorkload::AwaitGpu() {
  host_ns_ = std::max(host_ns_, gpu_ns_ - kClocksApartNs + 15'000);
}

// A call that launches; where it returned, on the GPU's clock.
uint64_t SyntheticWorkload::Call(double gap_ns, double call_ns, trace::Target target,
                                 uint32_t stream) {
  const uint64_t enter_ns = host_ns_ + static_cast<uint64_t>(gap_ns);
  launches_.push_back({correlation_id_, target, stream, enter_ns, static_cast<uint32_t>(call_ns)});
  host_ns_ = enter_ns + static_cast<uint32_t>(call_ns);
  return host_ns_ + kClocksApartNs;
}

void SyntheticWorkload::Replay() {
  if (random_.Below(16) == 0)
    graph_ = static_cast<uint32_t>(random_.Below(kGraphs));  // another batch size
  const uint32_t g = graph_;
  const trace::Target target = trace::Target::Graph(g + 1);
  ++correlation_id_;
  const double call_ns = 1'800'000 + 300'000 * random_.Normal();  // recorded; 1.2 to 3.2 ms
  const uint64_t called_ns = Call(180'000 + 10'000 * random_.Normal(), call_ns, target, 1);
  gpu_ns_ = std::max(gpu_ns_, called_ns + Ticks(20'000 + 2'000 * random_.Normal()));
  uint64_t previous_start_ns = 0;
  for (uint32_t n = 0; n < kNodes; ++n) {
    const Node& node = graphs_[g][n];
    const Site& site = sites_[node.site];
    // Nodes follow each other closely, one in five less so.
    const double gap_ns = node.gap_ns + (random_.Below(5) == 0 ? 200 : 30) * random_.Normal();
    trace::RecordEntry record;
    record.correlation_id = correlation_id_;
    record.target = target;
    record.node = n;
    record.default_site = CapturedSite(node.site);
    record.start_ns = node.gap_ns < 0 ? std::max(gpu_ns_ - Ticks(-gap_ns), previous_start_ns + 32)
                                      : gpu_ns_ + Ticks(gap_ns);
    record.end_ns = record.start_ns +
                    Ticks(site.duration_ns + (30 + 0.02 * site.duration_ns) * random_.Normal());
    record.stream = 1;
    record.attributes = node.site + 1;
    previous_start_ns = record.start_ns;
    gpu_ns_ = record.end_ns;
    records_.push_back(record);
  }
}

// Its kernel starts soon after the call, or when those before it are done.
void SyntheticWorkload::LaunchEagerly(uint32_t variant, uint32_t index, uint32_t stream) {
  const Eager& eager = eager_[variant * kSites + index];
  const uint32_t site = EagerSite(variant, index);
  trace::RecordEntry record;
  record.correlation_id = correlation_id_ += sites_[index].id_step;
  record.target = trace::Target::Site(site);
  record.default_site = site;
  const auto draw = [this](const EagerTime& time, const Distribution& ratios) {
    return time.median_ns * (1 + time.spread * (ratios.Draw(random_) - 1));
  };
  const double gap_ns = draw(eager.enter_gap, kEnterGapRatios),
               call_ns = draw(eager.call, kCallRatios);
  const uint64_t called_ns = Call(gap_ns, call_ns, record.target, stream);
  const double delay_ns = 2'000 + std::max(0.0, kStartDelays.Draw(random_));
  record.start_ns =
      std::max(gpu_ns_ + Ticks(kQueuedGaps.Draw(random_)), (called_ns / 32 * 32) + Ticks(delay_ns));
  record.end_ns = record.start_ns + Ticks(draw(eager.duration, kDurationRatios));
  record.stream = stream;
  record.attributes = index + 1;
  gpu_ns_ = record.end_ns;
  records_.push_back(record);
}

namespace {

// Closes the file at `path` as number `segment` and goes on in a new one. False: it failed.
bool BeginNextFile(trace::Writer& writer, const std::string& path, uint32_t segment) {
  namespace fs = std::filesystem;
  char number[32];
  std::snprintf(number, sizeof number, ".%06u.hps", segment);
  const std::string closed = fs::path(path).replace_extension("").string() + number,
                    next = path + ".new";
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
  trace::CounterTable counters(AT_FDCWD, counters_path.c_str(), 1 + SyntheticWorkload::kSiteCount,
                               1 + SyntheticWorkload::kGraphs, SyntheticWorkload::kPid,
                               SyntheticWorkload::kStartTicks);
  if (options.file_chunks != 0) writer.KeepForNextFile();
  uint32_t segment = 1;
  uint64_t chunks = 0;
  if (!counters.on_disk()) return counters_path + ": " + strerror(counters.error());
  const trace::CounterView view{counters.sites(), counters.graphs()};
  SyntheticWorkload workload(options.seed, options.eager_percent);
  workload.WriteTables(writer, fs::path(counters_path).filename().string());
  for (uint32_t g = 0; g < SyntheticWorkload::kGraphs && options.eager_percent < 100; ++g) {
    writer.AddSnapshot(
        {.reason = kEndCapture, .realtime_ns = SyntheticWorkload::kStartNs, .correlation_id = 1},
        view);
  }
  std::set<uint32_t> replayed;
  if (writer.FlushTables(view) != trace::WriteResult::kOk) return "the tables were not written";
  for (uint64_t done = 0; done < options.launches;) {
    done += workload.Step(options.launches - done);
    for (const trace::LaunchEntry& launch : workload.launches()) {
      if (launch.target.is_graph() && replayed.insert(launch.target.id()).second) {
        writer.AddSnapshot({.reason = replayed.size() == 1 ? kReplayAfterCapture : kFirstReplay,
                            .realtime_ns = launch.enter_ns + kClocksApartNs,
                            .correlation_id = launch.correlation_id,
                            .graph_id = launch.target.id()},
                           view);
      }
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
      if (!BeginNextFile(writer, options.trace_path, segment++))
        return "no next file could be begun";
    }
  }
  writer.AddFooter({.reason = "exit",
                    .launches = options.launches,
                    .records = options.launches,
                    .flushed = true});
  if (writer.Flush(view) != trace::WriteResult::kOk) return "the last chunk was not written";
  counters.SetRecordsWritten(writer.records_written());
  return "";
}

}  // namespace hotproof::tools
