// What libraries write into their kernels' names in tokens of their own. Each reader fills in the
// fields that the tokens state (operand types, scaling, tile, architecture) and leaves the others;
// it returns false if the tokens are not in the grammar, and then the rule that asked does not
// match. Pure functions, safe on any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "catalog/kernel_class.h"
#include "catalog/name/node.h"

namespace hotproof::catalog {

// C++ type or literal -> operand type ("" if unknown). Implemented by the rule set.
class TypeNames {
 public:
  virtual ~TypeNames() = default;
  virtual std::string DtypeOf(const Node& node) const = 0;
};

bool ReadNvjet(std::string_view name, KernelClass* out);
bool ReadXmma(std::string_view name, KernelClass* out);
bool ReadCutlassName(std::string_view name, KernelClass* out);
bool ReadTrtllmGen(std::string_view name, KernelClass* out);
bool ReadMatmulOgs(std::string_view name, KernelClass* out);
bool ReadTokens(std::string_view name, KernelClass* out);
// `kernel`: the template argument of cutlass::Kernel, Kernel2 or device_kernel.
bool ReadCutlass2x(const Node& kernel, const TypeNames& types, KernelClass* out);
bool ReadCutlass3x(const Node& kernel, const TypeNames& types, KernelClass* out);

// "128x16x128" of cute::tuple<cute::C<128>, ...> or cutlass::gemm::GemmShape<128, ...>; "" if
// neither.
std::string TileOf(const Node& node);

// "sm90" of MainloopSm90TmaGmmaWarpSpecialized, enable_sm80_to_sm89, Sm89; "" if there is none.
std::string ArchitectureOf(std::string_view identifier);

// Helpers of the token grammars.
std::vector<std::string_view> SplitTokens(std::string_view name);
// Decimal numbers joined by 'x', at least two.
bool IsExtents(std::string_view token);
bool IsFp8(std::string_view dtype);

}  // namespace hotproof::catalog
