// The parameters that a layout expects: "8* 4:m 4:n 4:k 128 *". Compiled once, then immutable.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace hotproof::catalog {

class Signature {
 public:
  struct Term {
    std::optional<uint32_t> size_bytes;  // nothing: any
    bool repeats = false;                // any number of them, none included
    std::string field;
  };

  // Errors say what is no term.
  static absl::StatusOr<Signature> Compile(std::string_view text);

  // For each term the index of its (first) parameter; nothing if `sizes` do not fit. Repeated terms
  // take as many as they can.
  std::optional<std::vector<uint32_t>> Match(std::span<const uint32_t> sizes) const;
  const std::vector<Term>& terms() const { return terms_; }

 private:
  bool MatchFrom(size_t term, uint32_t parameter, std::span<const uint32_t> sizes,
                 std::vector<uint32_t>& at) const;
  std::vector<Term> terms_;
};

}  // namespace hotproof::catalog
