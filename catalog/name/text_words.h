// The words of demangled C++ that its text parser needs to know.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "catalog/name/text.h"

namespace hotproof::catalog {

inline constexpr std::string_view kAnonymous = "(anonymous namespace)";

inline bool IsIdentifierStart(char c) { return IsAlpha(c) || c == '_' || c == '$' || c == '~'; }

// A word of a builtin type's name, which can have several ("unsigned long").
bool IsBuiltinWord(std::string_view word);
// One spelling: "long int" and "long" are one type, and so are "unsigned" and "unsigned int".
std::string_view BuiltinSpelling(std::string_view words);
// How c++filt marks an integer literal of a type that nsys spells as a cast: "u" for "unsigned
// int".
std::optional<std::string_view> SuffixOfCast(std::string_view type);

}  // namespace hotproof::catalog
