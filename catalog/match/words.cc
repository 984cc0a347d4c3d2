#include "catalog/match/words.h"

#include <algorithm>
#include <functional>

#include "catalog/name/text.h"

namespace hotproof::catalog {

std::vector<std::string> SplitWords(std::string_view identifier) {
  std::vector<std::string> words;
  if (identifier.starts_with('_')) words.emplace_back("_");
  bool in_word = false;
  for (size_t i = 0; i < identifier.size(); ++i) {
    const char c = identifier[i];
    if (!IsAlpha(c) && !IsDigit(c)) {
      in_word = false;
      continue;
    }
    if (in_word && IsUpper(c)) {
      const char before = identifier[i - 1];
      const char after = i + 1 < identifier.size() ? identifier[i + 1] : '\0';
      // aB, ABc and 8Bc begin a word at B; AB8 and 8B8 do not.
      if (IsLower(before) || IsLower(after)) in_word = false;
    }
    if (!in_word) words.emplace_back();
    words.back() += ToLower(c);
    in_word = true;
  }
  return words;
}

namespace {

uint64_t WordBit(std::string_view word) {
  return uint64_t{1} << (std::hash<std::string_view>()(word) >> 58);
}

// '%' in `glob` stands for any characters. Two fingers, one retry point: no blow-up.
bool GlobMatches(std::string_view glob, std::string_view text) {
  size_t g = 0, t = 0;
  size_t star = std::string_view::npos, retry = 0;
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '%') {
      star = g++;
      retry = t;
    } else if (g < glob.size() && glob[g] == text[t]) {
      ++g;
      ++t;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      t = ++retry;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '%') ++g;
  return g == glob.size();
}

}  // namespace

uint64_t WordBits(const std::vector<std::string>& words) {
  uint64_t bits = 0;
  for (const std::string& word : words) bits |= WordBit(word);
  return bits;
}

WordPattern::WordPattern(std::string_view pattern) {
  size_t at = 0;
  while (at < pattern.size()) {
    if (pattern[at] == ' ') {
      ++at;
      continue;
    }
    const size_t end = std::min(pattern.find(' ', at), pattern.size());
    std::string_view token = pattern.substr(at, end - at);
    at = end;
    Step step;
    step.any_words = token == "*";
    while (!step.any_words && !token.empty()) {
      const size_t bar = std::min(token.find('|'), token.size());
      step.alternatives.emplace_back(token.substr(0, bar));
      token.remove_prefix(std::min(bar + 1, token.size()));
    }
    const auto has_glob = [](const std::string& word) {
      return word.find('%') != std::string::npos;
    };
    if (!step.any_words &&
        std::none_of(step.alternatives.begin(), step.alternatives.end(), has_glob)) {
      step.bits = WordBits(step.alternatives);
    }
    steps_.push_back(std::move(step));
  }
}

bool WordPattern::MayMatch(uint64_t word_bits) const {
  for (const Step& step : steps_) {
    if (!step.any_words && (step.bits & word_bits) == 0) return false;
  }
  return true;
}

bool WordPattern::StepMatches(const Step& step, std::string_view word) const {
  for (const std::string& alternative : step.alternatives) {
    if (GlobMatches(alternative, word)) return true;
  }
  return false;
}

bool WordPattern::Matches(const std::vector<std::string>& words) const {
  size_t s = 0, w = 0;
  size_t star = std::string_view::npos, retry = 0;
  while (w < words.size()) {
    if (s < steps_.size() && steps_[s].any_words) {
      star = s++;
      retry = w;
    } else if (s < steps_.size() && StepMatches(steps_[s], words[w])) {
      ++s;
      ++w;
    } else if (star != std::string_view::npos) {
      s = star + 1;
      w = ++retry;
    } else {
      return false;
    }
  }
  while (s < steps_.size() && steps_[s].any_words) ++s;
  return s == steps_.size();
}

}  // namespace hotproof::catalog
