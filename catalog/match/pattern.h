// Patterns over parsed names, written like the names they match (docs/catalog.md):
//
//   deep_gemm::fp8_gemm_kernel_swapAB<$n, $k, $bm, $bn, $bk, ...>
//   cutlass::device_kernel<**::{cutlass 3x gemm *}<$a, _, _, $tile, ...>::GemmKernel>
//   **::{* rms norm *}<$type, ...>
//
// Match is const and safe on any thread.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "catalog/match/words.h"
#include "catalog/name/node.h"

namespace hotproof::catalog {

// Capture name -> the node it stands for.
using Captures = absl::InlinedVector<std::pair<std::string_view, const Node*>, 16>;

// The words of the components that patterns asked for; one per classified name.
class WordCache {
 public:
  WordCache() {}  // without clearing the room for words
  // Valid until words are asked for again.
  std::span<const Word> Words(const Node& node);

 private:
  // Beyond these, words are split again for each question: the search stays short.
  static constexpr size_t kMaxEntries = 8;
  std::array<const Node*, kMaxEntries> nodes_;
  std::array<WordList, kMaxEntries> words_;
  size_t count_ = 0;
  WordList uncached_;
};

class Pattern {
 public:
  struct Term;  // match/pattern_terms.h

  // Null and a message in `error` if the text is no pattern.
  static std::unique_ptr<const Pattern> Compile(std::string_view text, std::string* error);
  // Of text that is known to be a pattern and outlives this: compiled when it is first held against
  // a name, for few names need more than a few of all patterns.
  static std::unique_ptr<const Pattern> Later(std::string_view text);
  ~Pattern();

  // `captures` is meaningful only if it matches.
  bool Match(const Node& node, WordCache& words, Captures* captures) const;
  // The names that it captures.
  const std::vector<std::string>& capture_names() const { return compiled().capture_names; }
  // A cheap first test: false only if no function of this identifier can match. `word_bits` is
  // WordBits of the identifier's words.
  bool MayMatch(std::string_view identifier, uint64_t word_bits) const;

  // What a function must have for this pattern to match it: for PatternIndex.
  struct Requirement {
    enum class Kind { kNothing, kIdentifier, kWord, kOutermostScope };
    Kind kind = Kind::kNothing;
    std::vector<uint64_t> hashes;  // HashOf the text; one of them
  };
  // Of the pattern that `text` is, without compiling it.
  static Requirement RequirementOf(std::string_view text);
  const Requirement& requirement() const { return requirement_; }

 private:
  friend class PatternParser;
  struct Compiled {
    std::unique_ptr<const Term> root;
    std::vector<std::string> capture_names;
  };
  explicit Pattern(std::string_view text);
  static Compiled CompileText(std::string_view text, std::string* error);
  const Compiled& compiled() const;

  std::string_view text_;  // of Later()
  Requirement requirement_;
  mutable std::once_flag once_;
  mutable Compiled compiled_;
};

}  // namespace hotproof::catalog
