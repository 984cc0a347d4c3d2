// CUTLASS kernels whose whole construction is in their template arguments.
#include <algorithm>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "catalog/grammar/grammar.h"
#include "catalog/match/words.h"
#include "catalog/name/text.h"

namespace hotproof::catalog {
namespace {

// The first node, outside in and left to right, that `accept` takes. Scopes count as outside.
template <typename Accept>
const Node* Find(const Node& node, const Accept& accept) {
  absl::InlinedVector<const Node*, 16> chain;
  for (const Node* at = &node; at != nullptr; at = at->scope) chain.push_back(at);
  for (size_t i = chain.size(); i-- > 0;) {
    const Node& component = *chain[i];
    if (component.kind != Node::Kind::kName) continue;
    if (accept(component)) return &component;
    for (const Node* arg : component.args) {
      if (const Node* found = Find(*arg, accept)) return found;
    }
  }
  return nullptr;
}

std::string ArchitectureIn(const Node& kernel) {
  const Node* arch = Find(kernel, [](const Node& node) {
    return node.scope != nullptr && IsNamed(*node.scope, "cutlass::arch") &&
           node.text.starts_with("Sm");
  });
  return arch != nullptr ? ArchitectureOf(arch->text) : ArchitectureOf(kernel.text);
}

bool HasWords(std::string_view identifier, std::string_view first, std::string_view second) {
  const WordList list(identifier);
  const auto words = list.words();
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i].text == first && words[i + 1].text == second) return true;
  }
  return false;
}

bool HasWord(std::string_view identifier, std::string_view word) {
  const WordList list(identifier);
  const auto words = list.words();
  return std::any_of(words.begin(), words.end(), [&](const Word& w) { return w.text == word; });
}

bool HasVisitor(const Node& kernel, std::string_view name) {
  return Find(kernel, [&](const Node& node) { return node.text == name; }) != nullptr;
}

// An operand, possibly with its scales: cute::tuple<data, scale>.
std::string OperandDtype(const Node& node, const TypeNames& types, bool* has_scales) {
  if (!IsNamed(node, "cute::tuple") || node.args.empty()) return types.DtypeOf(node);
  *has_scales = true;
  std::string dtype = types.DtypeOf(*node.args[0]);
  if (dtype != "e2m1" || node.args.size() < 2) return dtype;
  return types.DtypeOf(*node.args[1]) == "e8m0" ? "mxfp4" : "nvfp4";
}

}  // namespace

bool ReadCutlass2x(const Node& kernel, const TypeNames& types, KernelClass* out) {
  const Node* shape =
      Find(kernel, [](const Node& node) { return IsNamed(node, "cutlass::gemm::GemmShape"); });
  if (shape == nullptr) return false;
  out->tile = TileOf(*shape);
  out->arch = ArchitectureIn(kernel);
  // The mainloop's own arguments: shape, A's iterators, B's iterators.
  const Node* mainloop = Find(kernel, [](const Node& node) {
    return !node.args.empty() && IsNamed(*node.args[0], "cutlass::gemm::GemmShape") &&
           HasWord(node.text, "mma");
  });
  if (mainloop == nullptr) return true;
  std::vector<std::string> operands;
  for (const Node* arg : mainloop->args) {
    if (HasWord(arg->text, "predicated") && HasWord(arg->text, "iterator") &&
        arg->args.size() > 1 && operands.size() < 2) {
      operands.push_back(types.DtypeOf(*arg->args[1]));
    }
  }
  if (operands.size() == 2) {
    out->a_dtype = operands[0];
    out->b_dtype = operands[1];
  }
  return true;
}

bool ReadCutlass3x(const Node& kernel, const TypeNames& types, KernelClass* out) {
  const Node* mma = Find(kernel, [](const Node& node) {
    return node.text.starts_with("CollectiveMma") && node.args.size() > 4;
  });
  if (mma == nullptr) return false;
  // Its policy, two tiles, C and C's strides stand before D.
  const Node* epilogue = Find(kernel, [](const Node& node) {
    return node.text == "CollectiveEpilogue" && node.args.size() > 6;
  });
  if (epilogue != nullptr) out->d_dtype = types.DtypeOf(*epilogue->args[5]);
  const Node& mainloop = *mma->args[0];
  out->arch = ArchitectureOf(mainloop.text);
  out->tile = TileOf(*mma->args[1]);
  bool has_scales = false;
  out->a_dtype = OperandDtype(*mma->args[2], types, &has_scales);
  out->b_dtype = OperandDtype(*mma->args[4], types, &has_scales);
  // Weights narrower than activations: the operand with scales is the weight, whichever side it is
  // on.
  if (HasWords(mainloop.text, "mixed", "input") && IsNamed(*mma->args[2], "cute::tuple")) {
    std::swap(out->a_dtype, out->b_dtype);
  }
  const bool fp8 = IsFp8(out->a_dtype) || IsFp8(out->b_dtype);
  if (HasWords(mainloop.text, "block", "scaled")) {
    out->scaling = "mx";
  } else if (HasWord(mainloop.text, "blockwise") || HasWords(mainloop.text, "block", "scaling")) {
    out->scaling = "block";
  } else if ((fp8 || out->a_dtype == "int8") && HasVisitor(kernel, "Sm90ColBroadcast") &&
             HasVisitor(kernel, "Sm90RowBroadcast")) {
    out->scaling = "token_channel";  // the epilogue multiplies rows and columns by vectors
  } else if (!fp8 && !has_scales && !out->a_dtype.empty()) {
    out->scaling = "none";
  }
  return true;
}

}  // namespace hotproof::catalog
