// All layouts: those built into the program (catalog/layouts/*.textproto) and those of a file of
// the user's. Built once, then immutable; every method is const and safe on any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "catalog/layouts/layout.h"

namespace hotproof::catalog {

class RuleSet;  // proto/catalog.pb.h

// What the first of `layouts` reads whose parameters fit and whose checks hold. If none holds: the first that
// fits, with its contradiction. A layout that fits and whose fields were masked ends the search: it may be the
// one. Nothing if no layout fits.
std::optional<LayoutReading> ReadFirst(const std::vector<const CompiledLayout*>& layouts,
                                       const LaunchEvidence& evidence,
                                       const KernelClass& kernel_class);

class LayoutSet {
 public:
  // The extra layouts first, if there are any, then the built-in ones.
  static absl::StatusOr<LayoutSet> Load(const RuleSet* extra = nullptr,
                                        const std::string& extra_source = "");

  // `source` names where they come from, for messages.
  absl::Status Add(const RuleSet& rules, const std::string& source);

  // The layouts for a kernel, in the order in which they are to be tried. They live as long as
  // this.
  std::vector<const CompiledLayout*> For(std::string_view kernel_name,
                                         const KernelClass& kernel_class) const;
  const std::vector<CompiledLayout>& all() const { return layouts_; }

 private:
  std::vector<CompiledLayout> layouts_;
};

}  // namespace hotproof::catalog
