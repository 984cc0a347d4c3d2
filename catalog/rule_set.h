// The compiled rules: patterns over parsed names and what they say. Built once by the Classifier,
// then immutable; every method is const and safe on any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "catalog/grammar/grammar.h"
#include "catalog/kernel_class.h"
#include "catalog/match/pattern.h"
#include "catalog/name/parsed_name.h"
#include "proto/catalog.pb.h"

namespace hotproof::catalog {

class RuleCompiler;

class CompiledRules : public TypeNames {
 public:
  // `source` names where the rules come from, for messages: "rules.textproto: rule "x": ...".
  absl::Status Add(const RuleSet& rules, const std::string& source);

  KernelClass Classify(const ParsedName& name) const;
  std::string DtypeOf(const Node& node) const override;

  // The ids in the order in which they are tried.
  std::vector<std::string> RuleIds() const;
  // Without this rule; for the test that each one is needed.
  void Remove(std::string_view id);

 private:
  struct CompiledRule {
    Rule rule;
    std::vector<std::unique_ptr<const Pattern>> names;
    std::vector<std::unique_ptr<const Pattern>> exceptions;
    Path path = Path::kUnknown;
    Kind kind = Kind::kOther;
  };
  struct CompiledType {
    std::unique_ptr<const Pattern> pattern;
    std::string dtype;
  };

  absl::StatusOr<std::unique_ptr<CompiledRule>> Compile(const Rule& rule) const;
  bool Apply(const CompiledRule& rule, const ParsedName& name, WordCache& words, uint64_t word_bits,
             KernelClass* out) const;
  bool ReadGrammar(const CompiledRule& rule, const ParsedName& name, const Captures& captures,
                   KernelClass* out) const;
  std::string DtypeField(const std::string& field, const Captures& captures) const;

  std::vector<std::unique_ptr<CompiledRule>> rules_;
  std::vector<CompiledType> types_;
  std::unordered_map<int64_t, std::string> scalar_types_;
};

}  // namespace hotproof::catalog
