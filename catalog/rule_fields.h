// What a rule's fields say of one matched name: constants, or what its pattern captured. Used by
// CompiledRules; pure functions, safe on any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "catalog/match/pattern.h"

namespace hotproof::catalog {

// Every match captures the function itself under this name.
inline constexpr std::string_view kFunction = "function";
// Its first template argument that is a floating-point type: what a kernel that is no GEMM works
// on.
inline constexpr std::string_view kElement = "element";
// b_dtype: whatever was found for a_dtype, by a grammar too.
inline constexpr std::string_view kSameAsA = "$a_dtype";

// What was captured under that name; null if nothing was.
const Node* FindCapture(const Captures& captures, std::string_view name);
// "$bm" -> "bm"; nothing for a constant.
std::optional<std::string_view> CaptureName(std::string_view field);
// An extent of the GEMM; 0 is how kernels spell "known at run time".
std::optional<int64_t> ExtentField(std::string_view field, const Captures& captures);
// "$tile", or extents joined by 'x': "$bm x $bn x 128". "" if one of them is not known.
std::string TileField(std::string_view field, const Captures& captures);
// "sm90" of the name that was captured, the innermost identifier first.
std::string ArchField(std::string_view field, const Captures& captures);

}  // namespace hotproof::catalog
