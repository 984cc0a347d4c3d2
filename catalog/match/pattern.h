// Patterns over parsed names, written like the names they match (docs/catalog.md):
//
//   deep_gemm::fp8_gemm_kernel_swapAB<$n, $k, $bm, $bn, $bk, ...>
//   cutlass::device_kernel<**::{cutlass 3x gemm *}<$a, _, _, $tile, ...>::GemmKernel>
//   **::{* rms norm *}<$type, ...>
//
// Compiled once, then immutable: Match is const and safe on any thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/match/words.h"
#include "catalog/name/node.h"

namespace hotproof::catalog {

// Capture name -> the node it stands for.
using Captures = std::vector<std::pair<std::string_view, const Node*>>;

// The words of the components that patterns asked for; one per classified name.
class WordCache {
 public:
  const std::vector<std::string>& Words(const Node& node);

 private:
  // Beyond these, words are split again for each question: the search stays short.
  static constexpr size_t kMaxEntries = 16;
  std::vector<std::pair<const Node*, std::unique_ptr<std::vector<std::string>>>> entries_;
  std::vector<std::string> uncached_;
};

class Pattern {
 public:
  struct Term;  // match/pattern_terms.h

  // Null and a message in `error` if the text is no pattern.
  static std::unique_ptr<const Pattern> Compile(std::string_view text, std::string* error);
  ~Pattern();

  // `captures` is meaningful only if it matches.
  bool Match(const Node& node, WordCache& words, Captures* captures) const;
  // The names that it captures.
  const std::vector<std::string>& capture_names() const { return capture_names_; }
  // A cheap first test: false only if no function of this identifier can match. `word_bits` is
  // WordBits of the identifier's words.
  bool MayMatch(std::string_view identifier, uint64_t word_bits) const;

 private:
  friend class PatternParser;
  Pattern();
  std::unique_ptr<const Term> root_;
  std::vector<std::string> capture_names_;
};

}  // namespace hotproof::catalog
