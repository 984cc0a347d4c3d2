// The tree that a kernel's name is parsed into, whatever spelling it came in. Owned by a
// ParsedName; built by the two parsers, read by the pattern matcher, the grammars and the printer.
// Immutable once built. Nodes may be shared (a mangled name's substitutions make a graph), so each
// knows the size and depth of what it would print to, and the parsers refuse to build a node beyond
// the limits: every walk over a tree is bounded by a multiple of the name's length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace hotproof::catalog {

struct Node {
  enum class Kind : uint8_t {
    kName,      // one component of a qualified name, `scope` leads to the component before it
    kLambda,    // {lambda(args)#text}, also with a scope
    kLiteral,   // an integer or boolean; args[0] is the type if it is an enumeration or a char
    kFunction,  // function type: args[0] the result, then the parameters; decl "(*)" if a pointer
    kOpaque,    // an expression that is kept as text and is evidence of nothing
  };
  using Args = std::span<const Node* const>;

  Kind kind = Kind::kOpaque;
  bool has_args = false;        // kName: followed by <...>, possibly empty
  bool is_function = false;     // kName: a function that encloses the next component
  bool is_address = false;      // kName: &function as a template argument
  std::string_view text;        // identifier, digits, "true", "false" or opaque text
  std::string_view decl;        // " const*" and the like; of a literal: "u", "ul", ...
  const Node* scope = nullptr;  // kName, kLambda: the enclosing component
  Args args;                    // template arguments
  uint32_t size = 1;            // about the characters it prints to, scopes included
  uint32_t depth = 1;           // nesting of args
};

// True for names built of exactly the identifiers in `path` ("cutlass::gemm::GemmShape"), whatever
// their arguments.
bool IsNamed(const Node& node, std::string_view path);

// The value of an integer literal that fits an int64_t; false for anything else.
bool IntegerValue(const Node& node, int64_t* value);

}  // namespace hotproof::catalog
