#include "catalog/name/text_words.h"

#include <array>
#include <utility>

namespace hotproof::catalog {

bool IsBuiltinWord(std::string_view word) {
  switch (word.size()) {  // asked of every identifier: few are compared
    case 3:
      return word == "int";
    case 4:
      return word == "long" || word == "char";
    case 5:
      return word == "short";
    case 6:
      return word == "signed" || word == "double";
    case 8:
      return word == "unsigned";
    default:
      return false;
  }
}

std::string_view BuiltinSpelling(std::string_view words) {
  if (words == "unsigned") return "unsigned int";
  if (words != "unsigned int" && words != "signed int") ConsumeSuffix(&words, " int");
  return words;
}

std::optional<std::string_view> SuffixOfCast(std::string_view type) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kSuffixes = {
      {{"int", ""},
       {"unsigned int", "u"},
       {"long", "l"},
       {"unsigned long", "ul"},
       {"long long", "ll"},
       {"unsigned long long", "ull"}}};
  for (const auto& [name, suffix] : kSuffixes) {
    if (type == name) return suffix;
  }
  return std::nullopt;
}

}  // namespace hotproof::catalog
