// The compiled form of a pattern; private to match/.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "catalog/match/pattern.h"

namespace hotproof::catalog {

struct Pattern::Term {
  enum class Kind {
    kAny,      // _
    kRest,     // ...  any number of arguments
    kInteger,  // #  any integer; 128; (Type) and (Type)1  of that type
    kType,     // @  any type
    kName,     // a qualified name
  };
  struct Component {
    bool any_components = false;  // **
    bool lambda = false;          // [lambda]
    std::string identifier;       // exactly this one; empty: `words`
    std::unique_ptr<WordPattern> words;
    bool has_args = false;
    std::vector<std::unique_ptr<Term>> args;
  };

  Kind kind = Kind::kAny;
  std::string capture;                // "" captures nothing
  std::optional<std::string> number;  // kInteger: this value ("128", "true")
  std::unique_ptr<Term> type;         // kInteger: of this type
  std::vector<Component> components;  // kName, outermost scope first
};

}  // namespace hotproof::catalog
