#include "tests/catalog/spelling.h"

#include <regex>

namespace hotproof::catalog {
namespace {

size_t MatchingParenthesis(const std::string& text, size_t open) {
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && --depth == 0) return i;
  }
  return text.size();
}

// "&(int ns::f<int>(int const&))" -> "&ns::f<int>"
std::string DropSignatures(std::string text) {
  for (size_t at = text.find("&("); at != std::string::npos; at = text.find("&(", at + 1)) {
    const size_t close = MatchingParenthesis(text, at + 1);
    std::string inner = text.substr(at + 2, close - at - 2);
    inner = inner.substr(inner.find(' ') + 1);
    inner = inner.substr(0, inner.rfind('('));
    text = text.substr(0, at + 1) + inner + text.substr(close + 1);
  }
  return text;
}

void ReplaceAll(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// Template arguments only: after '<' or ", ", before ',' or '>'.
std::string SpellLiterals(const std::string& text) {
  static const std::regex kLiteral("([<] ?|, )(-?[0-9]+|true|false)(ull|ul|ll|u|l)?(?=,| ?>)");
  std::string out;
  auto begin = text.cbegin();
  for (std::sregex_iterator it(text.begin(), text.end(), kLiteral), end; it != end; ++it) {
    const std::smatch& match = *it;
    out.append(begin, match[0].first);
    begin = match[0].second;
    const std::string value = match[2], suffix = match[3];
    const std::string type = value == "true" || value == "false" ? "bool"
                             : suffix == "u"                     ? "unsigned int"
                             : suffix == "ul"                    ? "unsigned long"
                             : suffix == "l"                     ? "long"
                             : suffix == "ull"                   ? "unsigned long long"
                             : suffix == "ll"                    ? "long long"
                                                                 : "int";
    const std::string digits = value == "true" ? "1" : value == "false" ? "0" : value;
    out += match[1].str() + "(" + type + ")" + digits;
  }
  return out.append(begin, text.cend());
}

}  // namespace

std::string NsysSpelling(const std::string& demangled) {
  std::string text = SpellLiterals(DropSignatures(demangled));
  ReplaceAll(text, "(anonymous namespace)", "<unnamed>");
  text = std::regex_replace(text, std::regex(R"(([A-Za-z_][A-Za-z_0-9:]*) const(?=[*&>,]| >))"),
                            "const $1");
  text = std::regex_replace(text, std::regex(R"(([A-Za-z0-9_>])([*&]+)(?=[,)>]))"), "$1 $2");
  text = std::regex_replace(text, std::regex(R"(\{lambda\(([^{}]*)\)#([0-9]+)\})"),
                            "[lambda($1) (instance $2)]");
  ReplaceAll(text, "operator()()", "operator ()()");
  ReplaceAll(text, "> >", ">>");
  ReplaceAll(text, "> >", ">>");
  return text;
}

}  // namespace hotproof::catalog
