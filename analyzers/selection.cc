#include "analyzers/selection.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace hotproof::analyzers {

std::string Selection::Text() const {
  std::vector<std::string> parts;
  if (kernel) parts.push_back(absl::StrCat("kernel /", kernel_pattern, "/"));
  if (code) parts.push_back(absl::StrCat("cubin of ", code->file));
  if (path) parts.push_back(absl::StrCat("path ", std::string(catalog::PathName(*path))));
  if (shape) parts.push_back(absl::StrCat("shape ", shape->n, "x", shape->k));
  if (kind && (*kind != catalog::Kind::kGemm || !(path || shape))) {
    parts.push_back(absl::StrCat("kind ", std::string(catalog::KindName(*kind))));
  }
  if (range) parts.push_back(absl::StrCat("range /", range_pattern, "/"));
  return parts.empty() ? "any kernel" : absl::StrJoin(parts, ", ");
}

}  // namespace hotproof::analyzers
