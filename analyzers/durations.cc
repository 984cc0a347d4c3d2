#include "analyzers/durations.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace hotproof::analyzers {
namespace {

// Vectors as g++ and clang++ know them, on any processor.
using Long2 = uint64_t __attribute__((vector_size(16)));
using Int4 = int32_t __attribute__((vector_size(16)));
using Float4 = float __attribute__((vector_size(16)));

Long2 Load(const uint64_t* from) {
  Long2 loaded;
  std::memcpy(&loaded, from, sizeof(loaded));
  return loaded;
}

// The buckets of `count` durations, a multiple of 4, four at a time: below 2^24 ns a float has all
// bits that a bucket is told by. False: one of them is longer.
bool FindBuckets(const uint64_t* durations_ns, uint32_t count, uint32_t* buckets) {
  Long2 any{};
  for (uint32_t i = 0; i < count; i += 4) {
    const Long2 first = Load(durations_ns + i), second = Load(durations_ns + i + 2);
    any |= first | second;
    Int4 within =  // little-endian, as our formats are
        __builtin_shufflevector((Int4)first, (Int4)second, 0, 2, 4, 6);
    within -= within == 0;  // which is -1 where it holds
    const Float4 values = __builtin_convertvector(within, Float4);
    const Int4 four = ((Int4)values >> 17) - static_cast<int32_t>(127 * DurationBucket::kPerBlock);
    std::memcpy(buckets + i, &four, sizeof(four));
  }
  return (any[0] | any[1]) >> 24 == 0;
}

}  // namespace

void Durations::Add(uint32_t block, const uint64_t* counts) {
  auto& mine = blocks_[block];  // zeros where it is new
  for (uint32_t i = 0; i < DurationBucket::kPerBlock; ++i) {
    mine[i] += counts[i];
    count_ += counts[i];
  }
}

uint64_t Durations::QuantileNs(double q) const {
  if (count_ == 0) return 0;
  const auto exact = std::ceil(q * static_cast<double>(count_));
  uint64_t left = std::clamp<uint64_t>(static_cast<uint64_t>(exact), 1, count_);
  for (const auto& [block, counts] : blocks_) {
    for (uint32_t i = 0; i < counts.size(); ++i) {
      if (left <= counts[i]) return DurationBucket{block, i}.middle_ns();
      left -= counts[i];
    }
  }
  return 0;
}

void SiteDurations::Add(const uint32_t* sites, const uint64_t* durations_ns, uint32_t count) {
  uint32_t buckets[kMostAtOnce];
  const uint32_t fours = count / 4 * 4;
  uint32_t done = 0;
  if (FindBuckets(durations_ns, fours, buckets)) {
    Histogram* const histograms = histograms_.data();
    for (; done < fours; ++done) {
      Histogram& histogram = histograms[sites[done]];
      const uint32_t at = buckets[done] - histogram.first;
      ++(at < histogram.size ? histogram.counts[at] : Cover(histogram, buckets[done]));
    }
  }
  for (; done < count; ++done) Add(sites[done], durations_ns[done]);
}

uint64_t& SiteDurations::Cover(Histogram& histogram, uint32_t bucket) {
  if (too_many_) return nowhere_;
  constexpr uint32_t kPerBlock = DurationBucket::kPerBlock;
  const uint32_t first = histogram.first, size = histogram.size;
  const uint32_t begin = bucket / kPerBlock * kPerBlock, end = begin + kPerBlock;
  const uint32_t from = size == 0 ? begin : std::min(first, begin);
  const uint32_t to = size == 0 ? end : std::max(first + size, end);
  blocks_ += (to - from - size) / kPerBlock;
  if (blocks_ > kMaxBlocks) {
    GiveUp();
    return nowhere_;
  }
  auto wider = std::make_unique<uint64_t[]>(to - from);
  if (size != 0) std::copy_n(histogram.counts.get(), size, &wider[first - from]);
  histogram = {std::move(wider), from, to - from};
  return histogram.counts[bucket - from];
}

void SiteDurations::GiveUp() {
  too_many_ = true;
  for (Histogram& histogram : histograms_) histogram = {};
}

void SiteDurations::Merge(SiteDurations& other) {
  if (other.too_many_) GiveUp();
  for (size_t site = 0; site < histograms_.size() && !too_many_; ++site) {
    Histogram& theirs = other.histograms_[site];
    if (theirs.size == 0) continue;
    Histogram& mine = histograms_[site];
    if (mine.size == 0) {
      blocks_ += theirs.size / DurationBucket::kPerBlock;
      std::swap(mine, theirs);
      if (blocks_ > kMaxBlocks) GiveUp();
      continue;
    }
    At(site, theirs.first);
    At(site, theirs.first + theirs.size - 1);
    if (too_many_) break;
    uint64_t* const to = &mine.counts[theirs.first - mine.first];
    for (uint32_t i = 0; i < theirs.size; ++i) to[i] += theirs.counts[i];
  }
}

void SiteDurations::AddTo(uint32_t site, Durations& durations) const {
  if (site >= histograms_.size()) return;
  const Histogram& histogram = histograms_[site];
  for (uint32_t i = 0; i < histogram.size; i += DurationBucket::kPerBlock) {
    durations.Add((histogram.first + i) / DurationBucket::kPerBlock, &histogram.counts[i]);
  }
}

}  // namespace hotproof::analyzers
