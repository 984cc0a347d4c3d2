#include "analyzers/nearest.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <tuple>

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

size_t EditDistance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t substitute = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, substitute});
    }
  }
  return row.back();
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
      const double close = 1 - static_cast<double>(EditDistance(word, other)) / longest;
      best = std::max(best, close > 0.6 ? close : 0);
    }
    score += best * word.size();
    letters += word.size();
  }
  return score / letters;
}

std::string MeantName(const std::string& name, const std::vector<std::string>& names) {
  std::string meant;
  size_t least = name.size() / 3 + 1;
  for (const std::string& other : names) {
    const size_t differ = EditDistance(name, other);
    if (differ >= least) continue;
    least = differ;
    meant = other;
  }
  return meant;
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
