#include "catalog/match/words.h"

#include <algorithm>

#include "catalog/name/text.h"

namespace hotproof::catalog {
namespace {

// FNV-1a, one character at a time, and a last step that spreads it over the upper bits.
constexpr uint64_t kHashBasis = 0xcbf29ce484222325;
uint64_t HashNext(uint64_t hash, char c) {
  return (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
}
uint64_t HashEnd(uint64_t hash) { return (hash ^ (hash >> 32)) * 0x9e3779b97f4a7c15; }

uint64_t WordBit(uint64_t hash) { return uint64_t{1} << (hash >> 58); }

// A word begins at identifier[i]: aB, ABc and 8Bc begin one at B; AB8 and 8B8 do not.
bool BeginsByCase(std::string_view identifier, size_t i) {
  if (!IsUpper(identifier[i])) return false;
  const char before = identifier[i - 1];
  const char after = i + 1 < identifier.size() ? identifier[i + 1] : '\0';
  return IsLower(before) || IsLower(after);
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

// Takes the next part of `text` that is not empty, up to `separator` or the end; false: there is
// none.
bool NextToken(std::string_view* text, char separator, std::string_view* token) {
  text->remove_prefix(std::min(text->find_first_not_of(separator), text->size()));
  *token = text->substr(0, text->find(separator));
  text->remove_prefix(token->size());
  return !token->empty();
}

}  // namespace

uint64_t HashOf(std::string_view text) {
  uint64_t hash = kHashBasis;
  for (const char c : text) hash = HashNext(hash, c);
  return HashEnd(hash);
}

void WordList::Split(std::string_view identifier) {
  words_.clear();
  letters_.resize(identifier.size());
  char* const letters = letters_.data();
  if (identifier.starts_with('_')) words_.push_back({"_", HashOf("_")});
  const auto is_word = [&](size_t i) { return IsAlphaNumeric(identifier[i]); };
  for (size_t i = 0; i < identifier.size();) {
    if (!is_word(i)) {
      ++i;
      continue;
    }
    const size_t begin = i;
    uint64_t hash = kHashBasis;
    do {
      letters[i] = ToLower(identifier[i]);
      hash = HashNext(hash, letters[i]);
      ++i;
    } while (i < identifier.size() && is_word(i) && !BeginsByCase(identifier, i));
    words_.push_back({std::string_view(letters + begin, i - begin), HashEnd(hash)});
  }
}

uint64_t WordBits(std::span<const Word> words) {
  uint64_t bits = 0;
  for (const Word& word : words) bits |= WordBit(word.hash);
  return bits;
}

WordPattern::WordPattern(std::string_view pattern) {
  for (std::string_view token; NextToken(&pattern, ' ', &token);) {
    Step step;
    step.any_words = token == "*";
    if (!step.any_words) step.bits = 0;
    for (std::string_view word; !step.any_words && NextToken(&token, '|', &word);) {
      const bool is_glob = word.find('%') != std::string_view::npos;
      step.alternatives.push_back({std::string(word), HashOf(word), is_glob});
      step.bits |= is_glob ? ~uint64_t{0} : WordBit(HashOf(word));
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

std::vector<uint64_t> WordPattern::RequiredWords(std::string_view pattern) {
  std::string_view fewest;  // the step with the fewest alternatives
  ptrdiff_t fewest_bars = 0;
  for (std::string_view token; NextToken(&pattern, ' ', &token);) {
    if (token == "*" || token.find('%') != token.npos) continue;
    const ptrdiff_t bars = std::count(token.begin(), token.end(), '|');
    if (!fewest.empty() && bars >= fewest_bars) continue;
    fewest = token;
    fewest_bars = bars;
  }
  std::vector<uint64_t> hashes;
  for (std::string_view word; NextToken(&fewest, '|', &word);) hashes.push_back(HashOf(word));
  return hashes;
}

bool WordPattern::StepMatches(const Step& step, const Word& word) {
  for (const Alternative& alternative : step.alternatives) {
    const bool matches = alternative.is_glob
                             ? GlobMatches(alternative.text, word.text)
                             : alternative.hash == word.hash && alternative.text == word.text;
    if (matches) return true;
  }
  return false;
}

bool WordPattern::Matches(std::span<const Word> words) const {
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
