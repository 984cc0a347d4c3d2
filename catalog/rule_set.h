// The compiled rules: patterns over parsed names and what they say. Built once by the Classifier,
// then immutable; every method is const and safe on any thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "catalog/grammar/grammar.h"
#include "catalog/kernel_class.h"
#include "catalog/match/pattern.h"
#include "catalog/match/pattern_index.h"
#include "catalog/name/parsed_name.h"
#include "proto/catalog.pb.h"

namespace hotproof::catalog {

class CompiledRules : public TypeNames {
 public:
  // `source` names where the rules come from, for messages: "rules.textproto: rule "x": ...".
  absl::Status Add(RuleSet rules, const std::string& source);
  // The same of rules whose patterns are known to be right (tests/catalog/rules_test.cc adds the
  // built-in ones by Add): those are not compiled before they are needed.
  absl::Status AddTrusted(RuleSet rules, const std::string& source);

  KernelClass Classify(const ParsedName& name) const;
  std::string DtypeOf(const Node& node) const override;

  // The ids of rules and owners in the order in which they are tried.
  std::vector<std::string> RuleIds() const;
  // Goes on without this rule or owner; for the test that each one is needed.
  void Remove(std::string_view id);

 private:
  using Patterns = std::vector<std::unique_ptr<const Pattern>>;
  struct CompiledRule {
    const Rule* rule = nullptr;
    Patterns names, exceptions;
    std::optional<Path> path;  // nothing: the owner's
    Kind kind = Kind::kOther;
    std::optional<Kind> kind_in_call;
  };
  struct CompiledOwner {
    const OwnerRule* rule = nullptr;
    Patterns names, exceptions;
    Path path = Path::kUnknown;
    std::vector<Kind> not_kinds;
  };
  // One name being classified.
  struct Subject {
    const ParsedName& name;
    bool plain;
    WordCache words;
  };
  struct CompiledType {
    std::unique_ptr<const Pattern> pattern;
    std::string dtype;
  };

  absl::Status AddRules(RuleSet rules, const std::string& source, bool trusted);
  static absl::StatusOr<CompiledRule> Compile(const Rule& rule, bool trusted);
  static absl::StatusOr<CompiledOwner> CompileOwner(const OwnerRule& rule, bool trusted);
  static bool Excepted(const Patterns& exceptions, Subject& subject);
  // `captures`: of the name pattern that matched. False if the rule does not apply after all.
  bool Apply(const CompiledRule& rule, Subject& subject, Captures captures, KernelClass* out) const;
  const CompiledOwner* FindOwner(Subject& subject, Kind kind) const;
  bool ReadGrammar(const CompiledRule& rule, const ParsedName& name, const Captures& captures,
                   KernelClass* out) const;
  std::string DtypeField(const std::string& field, const Captures& captures) const;
  std::string ElementDtype(const Node& function) const;

  // What the others refer to.
  std::vector<std::unique_ptr<const RuleSet>> sources_;
  // In the order in which they are tried; the indexes know each by its place.
  std::vector<CompiledRule> rules_;
  std::vector<CompiledOwner> owners_;
  std::vector<CompiledType> types_;
  PatternIndex rule_index_, owner_index_, type_index_;
  std::unordered_map<int64_t, std::string> scalar_types_;
};

}  // namespace hotproof::catalog
