// The textproto files of catalog/rules/ and catalog/layouts/, in the order in which they are tried; compiled into the
// program (catalog/CMakeLists.txt writes their text into builtin_rules.cc in the build folder).
#pragma once

#include <span>
#include <string_view>

namespace hotproof::catalog {

struct BuiltinRules {
  std::string_view file;
  std::string_view text;
};
std::span<const BuiltinRules> AllBuiltinRules();
std::span<const BuiltinRules> AllBuiltinLayouts();

}  // namespace hotproof::catalog
