// Matches a name against the patterns of a hundred rules at once, trying only the few that can
// match: those which ask for its identifier, for a word of that, or for its outermost scope. Built
// with the rules, then immutable: FirstMatch is const and safe on any thread.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "catalog/match/pattern.h"

namespace hotproof::catalog {

class PatternIndex {
 public:
  // `entry`: what the pattern belongs to. Entries are added in increasing order; the pattern must
  // outlive the index.
  void Add(const Pattern& pattern, size_t entry);

  // Calls `accept(entry, captures)` for each entry with a pattern that matches `function`, in
  // increasing order and with what its first such pattern captured, until `accept` returns true;
  // returns whether it did.
  template <typename Accept>
  bool FirstMatch(const Node& function, WordCache& words, const Accept& accept) const;

 private:
  // Positions in patterns_.
  class Positions {
   public:
    void Insert(size_t position);
    void Insert(const Positions& others);
    // Calls `accept` with each in increasing order until it returns true; whether it did.
    template <typename Accept>
    bool AnyOf(const Accept& accept) const;

   private:
    absl::InlinedVector<uint64_t, 8> blocks_;
  };
  using Map = absl::flat_hash_map<uint64_t, Positions>;
  struct IndexedPattern {
    const Pattern* pattern;
    size_t entry;
  };

  Positions Candidates(const Node& function, WordCache& words) const;

  std::vector<IndexedPattern> patterns_;
  Positions always_;
  Map by_identifier_, by_word_, by_outermost_scope_;
};

template <typename Accept>
bool PatternIndex::Positions::AnyOf(const Accept& accept) const {
  for (size_t block = 0; block < blocks_.size(); ++block) {
    for (uint64_t rest = blocks_[block]; rest != 0; rest &= rest - 1) {
      if (accept(block * 64 + static_cast<size_t>(std::countr_zero(rest)))) return true;
    }
  }
  return false;
}

template <typename Accept>
bool PatternIndex::FirstMatch(const Node& function, WordCache& words, const Accept& accept) const {
  const uint64_t word_bits = WordBits(words.Words(function));
  size_t refused = static_cast<size_t>(-1);
  Captures captures;
  return Candidates(function, words).AnyOf([&](size_t position) {
    const auto [pattern, entry] = patterns_[position];
    if (entry == refused || !pattern->MayMatch(function.text, word_bits)) return false;
    if (!pattern->Match(function, words, &captures)) return false;
    if (accept(entry, captures)) return true;
    refused = entry;
    return false;
  });
}

}  // namespace hotproof::catalog
