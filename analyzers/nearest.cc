#include "analyzers/nearest.h"

#include <algorithm>
#include <cctype>
#include <tuple>

#include "catalog/meant_name.h"

namespace hotproof::analyzers {
namespace {

// Letters and digits only: underscores and punctuation part words, and so do capitals after small
// letters ("GatedDelta").
std::vector<std::string> Words(const std::string& text) {
  std::vector<std::string> words(1);
  char previous = 0;
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    const bool starts = std::isupper(u) && std::islower(static_cast<unsigned char>(previous));
    if (!std::isalnum(u) || starts) {
      if (!words.back().empty()) words.emplace_back();
    }
    if (std::isalnum(u)) words.back() += static_cast<char>(std::tolower(u));
    previous = c;
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

}  // namespace

double NameSimilarity(const std::string& pattern, const std::string& name) {
  const std::vector<std::string> wanted = Words(pattern);
  // The part before the arguments and the first words say what a kernel is; very long template
  // arguments would only match by chance.
  const std::vector<std::string> offered = Words(name.substr(0, 400));
  if (wanted.empty() || offered.empty()) return 0;
  double score = 0, letters = 0;
  for (const std::string& word : wanted) {
    double best = 0;
    for (const std::string& other : offered) {
      const size_t longest = std::max(word.size(), other.size());
      if (longest > 4 * std::min(word.size(), other.size())) continue;
      const double close = 1 - static_cast<double>(catalog::EditDistance(word, other)) / longest;
      best = std::max(best, close > 0.6 ? close : 0);
    }
    score += best * word.size();
    letters += word.size();
  }
  return score / letters;
}

std::vector<size_t> NearestNames(const std::string& pattern, const std::vector<std::string>& names,
                                 const std::vector<uint64_t>& weight, size_t limit) {
  std::vector<std::tuple<double, uint64_t, size_t>> ranked;
  for (size_t i = 0; i < names.size(); ++i) {
    ranked.emplace_back(-NameSimilarity(pattern, names[i]), ~weight[i], i);
  }
  std::sort(ranked.begin(), ranked.end(), [&](const auto& a, const auto& b) {
    const auto rank_a = std::tie(std::get<0>(a), std::get<1>(a), names[std::get<2>(a)]);
    const auto rank_b = std::tie(std::get<0>(b), std::get<1>(b), names[std::get<2>(b)]);
    return rank_a < rank_b;
  });
  std::vector<size_t> nearest;
  for (const auto& entry : ranked) {
    if (nearest.size() == limit) break;
    nearest.push_back(std::get<2>(entry));
  }
  return nearest;
}

}  // namespace hotproof::analyzers
