// The textproto files of catalog/rules/ and catalog/layouts/, in the order in which they are tried; compiled into the
// program (catalog/embed_rules.cmake writes builtin_rules.cc and builtin_layouts.cc in the build folder).
#pragma once

#include <span>
#include <string_view>

namespace hotproof::catalog {

struct BuiltinRules {
  std::string_view file;     // its name, for messages
  std::string_view message;  // a serialized RuleSet (proto/catalog.proto)
};

std::span<const BuiltinRules> AllBuiltinRules();
std::span<const BuiltinRules> AllBuiltinLayouts();

}  // namespace hotproof::catalog
