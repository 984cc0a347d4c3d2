// Rules from a user's text and from the program itself. Called once, when a Classifier is built.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "catalog/builtin_rules.h"
#include "catalog/rule_set.h"

namespace hotproof::catalog {

// `source` is the file's name, for messages that say where the mistake is.
absl::StatusOr<RuleSet> ParseRules(std::string_view text, const std::string& source);

// Of a user's file, which may be a pipe: reading it again is no use. Errors: unreadable, empty, no
// rules.
absl::StatusOr<RuleSet> ReadRulesFile(const std::string& path);

// What was compiled into the program, which the build has checked.
absl::StatusOr<RuleSet> ReadBuiltin(const BuiltinRules& builtin);

// The extra rules first, if there are any, then the built-in ones.
absl::StatusOr<CompiledRules> LoadRules(const RuleSet* extra = nullptr,
                                        const std::string& extra_source = "");

}  // namespace hotproof::catalog
