// An identifier as a list of words: "fusedQKNormRope_kernel" is fused qk norm rope kernel. Words
// are what rules match instead of substrings: "gemm" is no part of "gemma".
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"

namespace hotproof::catalog {

struct Word {
  std::string_view text;  // lower case
  uint64_t hash = 0;      // HashOf(text)
};

uint64_t HashOf(std::string_view text);

// The words of one identifier and the memory they lie in; used by one thread.
class WordList {
 public:
  WordList() = default;
  explicit WordList(std::string_view identifier) { Split(identifier); }
  WordList(const WordList&) = delete;
  WordList& operator=(const WordList&) = delete;

  // Splits at '_' and where the case says that a word begins; lower case. Digits stay with the
  // letters before them ("fp8", "1x128"). An underscore at the beginning is a word of its own:
  // Python's private names. Replaces what was there before.
  void Split(std::string_view identifier);
  std::span<const Word> words() const { return words_; }

 private:
  // Room for the usual kernel's name; longer ones go to the heap.
  absl::InlinedVector<char, 96> letters_;
  absl::InlinedVector<Word, 16> words_;
};

// One bit per word, by hash: what a pattern needs and these bits lack cannot match.
uint64_t WordBits(std::span<const Word> words);

// A pattern over words: "* silu|gelu * quant *". '*' stands for any number of words, '|' separates
// alternatives, '%' inside a word stands for any characters of that word.
class WordPattern {
 public:
  explicit WordPattern(std::string_view pattern);
  bool Matches(std::span<const Word> words) const;
  bool MayMatch(uint64_t word_bits) const;
  // The hashes of words of which every identifier that matches `pattern` has at least one; empty if
  // there are no such words.
  static std::vector<uint64_t> RequiredWords(std::string_view pattern);

 private:
  struct Alternative {
    std::string text;
    uint64_t hash;
    bool is_glob;  // has a '%'
  };
  struct Step {
    bool any_words = false;
    std::vector<Alternative> alternatives;
    uint64_t bits = ~uint64_t{0};  // of the alternatives; all if one has a '%'
  };
  static bool StepMatches(const Step& step, const Word& word);
  std::vector<Step> steps_;
};

}  // namespace hotproof::catalog
