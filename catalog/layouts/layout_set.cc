#include "catalog/layouts/layout_set.h"

#include "catalog/builtin_rules.h"
#include "catalog/name/parsed_name.h"
#include "catalog/rule_text.h"
#include "proto/catalog.pb.h"

namespace hotproof::catalog {

std::optional<LayoutReading> ReadFirst(const std::vector<const CompiledLayout*>& layouts,
                                       const LaunchEvidence& evidence,
                                       const KernelClass& kernel_class) {
  std::optional<LayoutReading> contradicted;
  for (const CompiledLayout* layout : layouts) {
    std::optional<LayoutReading> reading = layout->Read(evidence, kernel_class);
    if (!reading) continue;
    if (!reading->contradiction) return reading;
    if (!contradicted) contradicted = std::move(reading);
  }
  return contradicted;
}

absl::StatusOr<LayoutSet> LayoutSet::Load(const RuleSet* extra, const std::string& extra_source) {
  LayoutSet set;
  if (extra != nullptr) {
    if (auto status = set.Add(*extra, extra_source); !status.ok()) return status;
  }
  for (const BuiltinRules& builtin : AllBuiltinLayouts()) {
    const auto rules = ReadBuiltin(builtin);
    if (!rules.ok()) return rules.status();
    if (auto status = set.Add(*rules, std::string(builtin.file)); !status.ok()) return status;
  }
  return set;
}

absl::Status LayoutSet::Add(const RuleSet& rules, const std::string& source) {
  for (const Layout& layout : rules.layout()) {
    auto compiled = CompiledLayout::Compile(layout);
    if (!compiled.ok()) {
      return absl::InvalidArgumentError(source + ": " + std::string(compiled.status().message()) +
                                        "; see docs/shapes.md");
    }
    layouts_.push_back(*std::move(compiled));
  }
  return absl::OkStatus();
}

std::vector<const CompiledLayout*> LayoutSet::For(std::string_view kernel_name,
                                                  const KernelClass& kernel_class) const {
  std::vector<const CompiledLayout*> found;
  const ParsedName name(kernel_name);
  if (name.root() == nullptr) return found;
  WordCache words;
  for (const CompiledLayout& layout : layouts_) {
    if (layout.AppliesTo(kernel_class, *name.root(), words)) found.push_back(&layout);
  }
  return found;
}

}  // namespace hotproof::catalog
