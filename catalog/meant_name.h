// What a mistyped name was meant to be, for messages. Pure functions, safe on any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hotproof::catalog {

// Letters to insert, take away or replace.
size_t EditDistance(std::string_view a, std::string_view b);

// The one of `names` that a mistyped `name` is most likely meant to be: not more than a third of
// its letters differ. "": none is.
std::string MeantName(const std::string& name, const std::vector<std::string>& names);

// "kind 'gem' is unknown; did you mean gemm? one of: ...".
std::string UnknownName(const std::string& what, const std::string& name,
                        const std::vector<std::string>& names);

}  // namespace hotproof::catalog
