// An identifier as a list of words: "fusedQKNormRope_kernel" is fused qk norm rope kernel. Words
// are what rules match instead of substrings: "gemm" is no part of "gemma".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hotproof::catalog {

// Split at '_' and where the case says that a word begins; lower case. Digits stay with the letters
// before them ("fp8", "1x128"). An underscore at the beginning is a word of its own: Python's
// private names.
std::vector<std::string> SplitWords(std::string_view identifier);

// One bit per word, by hash: what a pattern needs and these bits lack cannot match.
uint64_t WordBits(const std::vector<std::string>& words);

// A pattern over words: "* silu|gelu * quant *". '*' stands for any number of words, '|' separates
// alternatives, '%' inside a word stands for any characters of that word.
class WordPattern {
 public:
  explicit WordPattern(std::string_view pattern);
  bool Matches(const std::vector<std::string>& words) const;
  bool MayMatch(uint64_t word_bits) const;

 private:
  struct Step {
    bool any_words = false;
    std::vector<std::string> alternatives;
    uint64_t bits = ~uint64_t{0};  // of the alternatives; all if one has a '%'
  };
  bool StepMatches(const Step& step, std::string_view word) const;
  std::vector<Step> steps_;
};

}  // namespace hotproof::catalog
