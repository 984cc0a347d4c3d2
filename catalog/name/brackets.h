// Which bracket closes which, found once per text so that no parser has to look ahead or go back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace hotproof::catalog {

class Brackets {
 public:
  static constexpr size_t kNone = static_cast<size_t>(-1);

  // Linear in the text. `<` and `>` count where they open and close template arguments, not where
  // they compare, shift or point.
  explicit Brackets(std::string_view text);

  // The position of the bracket that closes the one opened at `open`; kNone if nothing does.
  size_t Close(size_t open) const {
    return close_[open] == 0 ? kNone : static_cast<size_t>(close_[open]);
  }

 private:
  std::vector<uint32_t> close_;
};

}  // namespace hotproof::catalog
