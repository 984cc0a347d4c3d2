// How long kernels took, as histograms from which quantiles are read. Each power of two is cut into
// 64 equal buckets, and a quantile is the middle of its bucket: within 1/128 (0.8%) of the duration
// that stands at that rank, exact below 128 ns (but 0 counts as 1 ns). The scheme of HdrHistogram,
// Gil Tene 2012; GPU timers tick every 32 ns, so up to 4 us a bucket is no coarser than the clock.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace hotproof::analyzers {

struct DurationBucket {
  static constexpr uint32_t kPerBlock = 64;
  static constexpr uint32_t kBlocks = 64;

  uint32_t block, in_block;  // the power of two, and which of its buckets

  // By the exponent and the first six bits of the mantissa of an IEEE double: faster than looking
  // for the highest bit. Exact up to 2^53.
  static DurationBucket Of(uint64_t duration_ns) {
    const auto within = static_cast<int64_t>(std::clamp<uint64_t>(duration_ns, 1, kMostNs));
    const uint64_t bits = std::bit_cast<uint64_t>(static_cast<double>(within));
    const auto index = static_cast<uint32_t>(bits >> 46) - 1023 * kPerBlock;
    return {index / kPerBlock, index % kPerBlock};
  }
  uint64_t middle_ns() const {
    const uint64_t in_64ths = kPerBlock + in_block;
    if (block < 6) return in_64ths >> (6 - block);
    const uint64_t width = uint64_t{1} << (block - 6);
    return in_64ths * width + (width - 1) / 2;
  }
  static constexpr uint64_t kMostNs = ~uint64_t{0} >> 2;  // 146 years
};

// One histogram. Memory: 512 bytes for each power of two that was seen.
class Durations {
 public:
  void Add(uint32_t block, const uint64_t* counts);
  uint64_t count() const { return count_; }
  // The duration at rank ceil(q * count()), 0 < q <= 1; 0 if there is none.
  uint64_t QuantileNs(double q) const;

 private:
  uint64_t count_ = 0;
  std::map<uint32_t, std::array<uint64_t, DurationBucket::kPerBlock>> blocks_;
};

// One histogram for each of many sites, filled record by record on one thread. Memory: 16 bytes a
// site, and 512 for each power of two from the shortest to the longest duration that a site was
// seen with; a trace that is made to need more than 256 MiB has none: its sums are exact all the same.
class SiteDurations {
 public:
  static constexpr size_t kMaxBlocks = size_t{1} << 19;
  explicit SiteDurations(size_t sites = 0) : histograms_(sites) {}

  void Add(uint32_t site, uint64_t duration_ns) {
    const DurationBucket bucket = DurationBucket::Of(duration_ns);
    ++At(site, bucket.block * DurationBucket::kPerBlock + bucket.in_block);
  }
  // The duration of each of `count` (at most kMostAtOnce) records by its site, faster.
  static constexpr uint32_t kMostAtOnce = 128;
  void Add(const uint32_t* sites, const uint64_t* durations_ns, uint32_t count);
  // What this has nothing of is taken from `other`.
  void Merge(SiteDurations& other);
  void AddTo(uint32_t site, Durations& durations) const;
  // There are none. It does not depend on the order of what was added and merged.
  bool too_many() const { return too_many_; }

 private:
  struct Histogram {
    std::unique_ptr<uint64_t[]> counts;  // of the buckets [first, first + size), whole blocks
    uint32_t first = 0, size = 0;
  };
  uint64_t& At(uint32_t site, uint32_t bucket) {
    Histogram& histogram = histograms_[site];
    if (bucket - histogram.first >= histogram.size) [[unlikely]] return Cover(histogram, bucket);
    return histogram.counts[bucket - histogram.first];
  }
  uint64_t& Cover(Histogram& histogram, uint32_t bucket);
  void GiveUp();

  std::vector<Histogram> histograms_;  // by site
  size_t blocks_ = 0;
  bool too_many_ = false;
  uint64_t nowhere_ = 0;  // what is counted then
};

}  // namespace hotproof::analyzers
