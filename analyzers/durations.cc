#include "analyzers/durations.h"

#include <algorithm>
#include <cmath>

namespace hotproof::analyzers {

void Durations::Add(uint32_t block, const uint64_t* counts) {
  std::vector<uint64_t>& mine = blocks_[block];
  mine.resize(DurationBucket::kPerBlock);
  for (uint32_t i = 0; i < DurationBucket::kPerBlock; ++i) {
    mine[i] += counts[i];
    count_ += counts[i];
  }
}

uint64_t Durations::QuantileNs(double q) const {
  if (count_ == 0) return 0;
  const auto exact = std::ceil(q * static_cast<double>(count_));
  uint64_t left = std::clamp<uint64_t>(static_cast<uint64_t>(exact), 1, count_);
  for (uint32_t block = 0; block < blocks_.size(); ++block) {
    for (uint32_t i = 0; i < blocks_[block].size(); ++i) {
      if (left <= blocks_[block][i]) return DurationBucket{block, i}.middle_ns();
      left -= blocks_[block][i];
    }
  }
  return 0;
}

void SiteDurations::Histogram::Cover(uint32_t block) {
  const uint32_t first = blocks == 0 ? block : std::min(first_block, block);
  const uint32_t end = blocks == 0 ? block + 1 : std::max(first_block + blocks, block + 1);
  constexpr size_t kPerBlock = DurationBucket::kPerBlock;
  auto wider = std::make_unique<uint64_t[]>((end - first) * kPerBlock);
  if (blocks != 0) {
    std::copy_n(counts.get(), blocks * kPerBlock, &wider[(first_block - first) * kPerBlock]);
  }
  counts = std::move(wider);
  first_block = first;
  blocks = end - first;
}

void SiteDurations::Merge(const SiteDurations& other) {
  for (size_t site = 0; site < histograms_.size(); ++site) {
    const Histogram& theirs = other.histograms_[site];
    if (theirs.blocks == 0) continue;
    Histogram& mine = histograms_[site];
    for (const uint32_t block : {theirs.first_block, theirs.first_block + theirs.blocks - 1}) {
      if (block - mine.first_block >= mine.blocks) mine.Cover(block);
    }
    constexpr size_t kPerBlock = DurationBucket::kPerBlock;
    uint64_t* const to = &mine.counts[(theirs.first_block - mine.first_block) * kPerBlock];
    for (size_t i = 0; i < theirs.blocks * kPerBlock; ++i) to[i] += theirs.counts[i];
  }
}

void SiteDurations::AddTo(uint32_t site, Durations& durations) const {
  if (site >= histograms_.size()) return;
  const Histogram& histogram = histograms_[site];
  for (uint32_t i = 0; i < histogram.blocks; ++i) {
    durations.Add(histogram.first_block + i,
                  &histogram.counts[i * size_t{DurationBucket::kPerBlock}]);
  }
}

}  // namespace hotproof::analyzers
