#include <algorithm>

#include "catalog/grammar/grammar.h"
#include "catalog/match/words.h"
#include "catalog/name/text.h"

namespace hotproof::catalog {

std::vector<std::string_view> SplitTokens(std::string_view name) {
  std::vector<std::string_view> tokens;
  while (!name.empty()) {
    const size_t end = std::min(name.find('_'), name.size());
    if (end > 0) tokens.push_back(name.substr(0, end));
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return tokens;
}

bool IsExtents(std::string_view token) {
  size_t numbers = 0;
  bool in_number = false;
  for (const char c : token) {
    if (IsDigit(c)) {
      if (!in_number) ++numbers;
      in_number = true;
    } else if (c == 'x' && in_number) {
      in_number = false;
    } else {
      return false;
    }
  }
  return in_number && numbers >= 2;
}

std::string ArchitectureOf(std::string_view identifier) {
  const WordList list(identifier);
  for (const Word& word : list.words()) {
    if (word.text.size() > 3 && word.text.starts_with("sm") && IsDigit(word.text[2])) {
      return std::string(word.text);
    }
  }
  return "";
}

bool IsFp8(std::string_view dtype) { return dtype == "e4m3" || dtype == "e5m2" || dtype == "fp8"; }

std::string TileOf(const Node& node) {
  const bool is_tuple = IsNamed(node, "cute::tuple");
  if (!is_tuple && !IsNamed(node, "cutlass::gemm::GemmShape")) return "";
  if (node.args.size() < 2) return "";
  std::string tile;
  for (const Node* extent : node.args) {
    if (is_tuple) {
      if (!IsNamed(*extent, "cute::C") || extent->args.size() != 1) return "";
      extent = extent->args[0];
    }
    int64_t value;
    if (!IntegerValue(*extent, &value)) return "";
    if (!tile.empty()) tile += 'x';
    tile += std::to_string(value);
  }
  return tile;
}

}  // namespace hotproof::catalog
