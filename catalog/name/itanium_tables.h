// The two-letter and one-letter codes of the Itanium C++ ABI's mangling
// (https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling): builtin types and operators.
#pragma once

#include <string_view>

namespace hotproof::catalog {

// "int" for 'i'; empty if the code is no builtin type.
std::string_view BuiltinType(char code);
// "half" for "Dh"; empty if unknown.
std::string_view BuiltinTypeD(char code);
// How a literal of that builtin type is marked ("u" for 'j'); null if it is printed as a cast.
const char* LiteralSuffix(char builtin);

struct Operator {
  std::string_view code;
  std::string_view symbol;  // as in "operator+"
  int operands;             // in an expression
};
// Null if the two letters are no operator.
const Operator* FindOperator(std::string_view code);

}  // namespace hotproof::catalog
