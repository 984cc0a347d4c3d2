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

uint32_t SiteDurations::NewBlock() {
  const auto begin = static_cast<uint32_t>(counts_.size());
  counts_.resize(counts_.size() + DurationBucket::kPerBlock);
  return begin;
}

void SiteDurations::Merge(const SiteDurations& other) {
  for (size_t i = 0; i < blocks_.size(); ++i) {
    if (other.blocks_[i] == 0) continue;
    if (blocks_[i] == 0) blocks_[i] = NewBlock();
    for (uint32_t k = 0; k < DurationBucket::kPerBlock; ++k) {
      counts_[blocks_[i] + k] += other.counts_[other.blocks_[i] + k];
    }
  }
}

void SiteDurations::AddTo(uint32_t site, Durations& durations) const {
  for (uint32_t block = 0; block < DurationBucket::kBlocks; ++block) {
    const size_t index = size_t{site} * DurationBucket::kBlocks + block;
    if (index < blocks_.size() && blocks_[index] != 0) {
      durations.Add(block, &counts_[blocks_[index]]);
    }
  }
}

}  // namespace hotproof::analyzers
