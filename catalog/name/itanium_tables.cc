#include "catalog/name/itanium_tables.h"

#include <algorithm>
#include <array>

namespace hotproof::catalog {

std::string_view BuiltinType(char code) {
  switch (code) {
    case 'v':
      return "void";
    case 'w':
      return "wchar_t";
    case 'b':
      return "bool";
    case 'c':
      return "char";
    case 'a':
      return "signed char";
    case 'h':
      return "unsigned char";
    case 's':
      return "short";
    case 't':
      return "unsigned short";
    case 'i':
      return "int";
    case 'j':
      return "unsigned int";
    case 'l':
      return "long";
    case 'm':
      return "unsigned long";
    case 'x':
      return "long long";
    case 'y':
      return "unsigned long long";
    case 'n':
      return "__int128";
    case 'o':
      return "unsigned __int128";
    case 'f':
      return "float";
    case 'd':
      return "double";
    case 'e':
      return "long double";
    case 'g':
      return "__float128";
    case 'z':
      return "...";
    default:
      return {};
  }
}

std::string_view BuiltinTypeD(char code) {
  switch (code) {
    case 'd':
      return "decimal64";
    case 'e':
      return "decimal128";
    case 'f':
      return "decimal32";
    case 'h':
      return "half";
    case 'i':
      return "char32_t";
    case 's':
      return "char16_t";
    case 'u':
      return "char8_t";
    case 'a':
      return "auto";
    case 'c':
      return "decltype(auto)";
    case 'n':
      return "decltype(nullptr)";
    default:
      return {};
  }
}

const char* LiteralSuffix(char builtin) {
  switch (builtin) {
    case 'i':
      return "";
    case 'j':
      return "u";
    case 'l':
      return "l";
    case 'm':
      return "ul";
    case 'x':
      return "ll";
    case 'y':
      return "ull";
    default:
      return nullptr;
  }
}

const Operator* FindOperator(std::string_view code) {
  static constexpr std::array<Operator, 57> kOperators = {{
      {"aN", "&=", 2},     {"aS", "=", 2},        {"aa", "&&", 2},      {"ad", "&", 1},
      {"an", "&", 2},      {"at", "alignof", 1},  {"az", "alignof", 1}, {"cl", "()", 0},
      {"cm", ",", 2},      {"co", "~", 1},        {"dV", "/=", 2},      {"da", "delete[]", 1},
      {"de", "*", 1},      {"dl", "delete", 1},   {"ds", ".*", 2},      {"dt", ".", 2},
      {"dv", "/", 2},      {"eO", "^=", 2},       {"eo", "^", 2},       {"eq", "==", 2},
      {"ge", ">=", 2},     {"gt", ">", 2},        {"ix", "[]", 2},      {"lS", "<<=", 2},
      {"le", "<=", 2},     {"ls", "<<", 2},       {"lt", "<", 2},       {"mI", "-=", 2},
      {"mL", "*=", 2},     {"mi", "-", 2},        {"ml", "*", 2},       {"mm", "--", 1},
      {"na", "new[]", 1},  {"ne", "!=", 2},       {"ng", "-", 1},       {"nt", "!", 1},
      {"nw", "new", 1},    {"nx", "noexcept", 1}, {"oR", "|=", 2},      {"oo", "||", 2},
      {"or", "|", 2},      {"pL", "+=", 2},       {"pl", "+", 2},       {"pm", "->*", 2},
      {"pp", "++", 1},     {"ps", "+", 1},        {"pt", "->", 2},      {"qu", "?", 3},
      {"rM", "%=", 2},     {"rS", ">>=", 2},      {"rm", "%", 2},       {"rs", ">>", 2},
      {"ss", "<=>", 2},    {"st", "sizeof", 1},   {"sz", "sizeof", 1},  {"te", "typeid", 1},
      {"ti", "typeid", 1},
  }};
  const auto* found = std::find_if(kOperators.begin(), kOperators.end(),
                                   [code](const Operator& op) { return op.code == code; });
  return found == kOperators.end() ? nullptr : found;
}

}  // namespace hotproof::catalog
