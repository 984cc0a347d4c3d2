// Which bracket closes which, found once per text so that no parser has to look ahead or go back.
// Used by one parser, on its thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <string_view>

namespace hotproof::catalog {

class Brackets {
 public:
  static constexpr size_t kNone = static_cast<size_t>(-1);

  // Linear in the text; takes 4 bytes of `memory` for each character. `<` and `>` count where they
  // open and close template arguments, not where they compare, shift or point.
  Brackets(std::string_view text, std::pmr::memory_resource* memory);

  // The position of the bracket that closes the one opened at `open`; kNone if nothing does. `open`
  // must be the position of an opening bracket.
  size_t Close(size_t open) const {
    return close_[open] == 0 ? kNone : static_cast<size_t>(close_[open]);
  }

 private:
  uint32_t* close_;  // by position; set where a bracket opens
};

}  // namespace hotproof::catalog
