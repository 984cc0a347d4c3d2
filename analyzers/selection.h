// Which launches an expectation selects.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "catalog/kernel_class.h"

namespace re2 {
class RE2;
}

namespace hotproof::analyzers {

// Which launches an expectation is about. All that is set must match.
struct Selection {
  std::string kernel_pattern;
  std::shared_ptr<const re2::RE2> kernel;  // null: any
  std::optional<catalog::Path> path;
  std::optional<catalog::Kind> kind;
  bool kind_implied = false;  // nobody asked for it: a path or shape means GEMMs
  // Where no kind is asked for: a share is taken of the launches of this kind alone. Bounds other
  // than the share do not know it.
  std::optional<catalog::Kind> share_kind;
  struct NxK {
    uint32_t n, k;
  };
  std::optional<NxK> shape;
  // Kernels of the device code of one file.
  struct Code {
    std::string file;
    absl::flat_hash_set<uint64_t> cubins;          // hashes
    absl::flat_hash_set<std::string> ptx_kernels;  // may have been compiled by the driver
    std::string
        why_incomplete;  // set: some of it could not be read, any unknown cubin may be of it
  };
  std::shared_ptr<const Code> code;  // null: any
  std::string range_pattern;
  std::shared_ptr<const re2::RE2> range;  // null: any, none included

  std::optional<catalog::Kind> WholeKind() const { return kind ? kind : share_kind; }
  std::string Text() const;  // "kernel /foo/ on path custom of shape 34816x5120"
};

}  // namespace hotproof::analyzers
