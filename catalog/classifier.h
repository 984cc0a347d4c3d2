// Kernel name -> KernelClass. One Classifier is built per process and is immutable: Classify is
// const and safe on any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "catalog/kernel_class.h"

namespace hotproof::catalog {

class CompiledLayout;  // catalog/layouts/layout.h
class ParsedName;      // catalog/name/parsed_name.h

class Classifier {
 public:
  // The rules built into the program. `extra_rules_path`, if not empty, names a textproto file
  // whose rules are tried first; errors name the file, the line and what to do.
  static absl::StatusOr<Classifier> Create(const std::string& extra_rules_path = "");

  Classifier(Classifier&&) noexcept;
  Classifier& operator=(Classifier&&) noexcept;
  ~Classifier();

  // `name`: mangled, or demangled as c++filt, Kineto or nsys print it. Linear in its length.
  KernelClass Classify(std::string_view name) const;
  KernelClass Classify(const ParsedName& name) const;

  // How launches of this kernel tell their problem size (docs/shapes.md), in the order in which to
  // try them. They live as long as the Classifier.
  std::vector<const CompiledLayout*> LayoutsOf(std::string_view name,
                                               const KernelClass& kernel_class) const;

 private:
  struct Impl;
  explicit Classifier(std::unique_ptr<const Impl> impl);
  std::unique_ptr<const Impl> impl_;
};

// The canonical demangled form of `name` (one spelling for all printers); `name` itself if it does
// not parse.
std::string CanonicalName(std::string_view name);

}  // namespace hotproof::catalog
