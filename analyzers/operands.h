// Types and scaling of a GEMM's launches: what the kernel's name says, completed by what it was
// launched with. Pure functions, safe on any thread.
#pragma once

#include <cstdint>
#include <string>

#include "analyzers/trace_index.h"

namespace hotproof::analyzers {

// Of D = A x B^T, where A is the activation and B the weight; empty: not known.
struct Operands {
  std::string a, b, d;
  std::string scaling;  // "block", "tensor", "none", ... (docs/catalog.md)

  friend bool operator==(const Operands&, const Operands&) = default;
};

// Of the launches of one site. A library call is exact, for it names the types and how they are
// scaled; but tf32 is how fp32 operands are multiplied, and stays.
Operands OperandsOf(const TraceIndex& index, uint32_t site);

// Makes `operands` those of both: what one of them does not know the other one says, and of two
// answers both are kept, "tensor and token_channel".
void Add(const Operands& other, Operands* operands);

// "e4m3 block", "bf16 x e4m3 group", "bf16"; a type that is not known is "?". Empty: nothing is.
std::string Text(const Operands& operands);

}  // namespace hotproof::analyzers
