#include "catalog/classifier.h"

#include <optional>
#include <utility>

#include "catalog/layouts/layout_set.h"
#include "catalog/name/parsed_name.h"
#include "catalog/rule_text.h"
#include "proto/catalog.pb.h"

namespace hotproof::catalog {

struct Classifier::Impl {
  CompiledRules rules;
  LayoutSet layouts;
};

absl::StatusOr<Classifier> Classifier::Create(const std::string& extra_rules_path) {
  std::optional<RuleSet> extra;
  if (!extra_rules_path.empty()) {
    auto read = ReadRulesFile(extra_rules_path);
    if (!read.ok()) return read.status();
    extra = *std::move(read);
  }
  auto rules = LoadRules(extra ? &*extra : nullptr, extra_rules_path);
  if (!rules.ok()) return rules.status();
  auto layouts = LayoutSet::Load(extra ? &*extra : nullptr, extra_rules_path);
  if (!layouts.ok()) return layouts.status();
  return Classifier(std::make_unique<const Impl>(Impl{*std::move(rules), *std::move(layouts)}));
}

Classifier::Classifier(std::unique_ptr<const Impl> impl) : impl_(std::move(impl)) {}
Classifier::Classifier(Classifier&&) noexcept = default;
Classifier& Classifier::operator=(Classifier&&) noexcept = default;
Classifier::~Classifier() = default;

KernelClass Classifier::Classify(std::string_view name) const { return Classify(ParsedName(name)); }

KernelClass Classifier::Classify(const ParsedName& name) const {
  return impl_->rules.Classify(name);
}

std::vector<const CompiledLayout*> Classifier::LayoutsOf(std::string_view name,
                                                         const KernelClass& kernel_class) const {
  return impl_->layouts.For(name, kernel_class);
}

std::string CanonicalName(std::string_view name) {
  const ParsedName parsed(name);
  return parsed.root() == nullptr ? std::string(name) : PrintCanonical(*parsed.root());
}

}  // namespace hotproof::catalog
