// TensorRT-LLM's generated GEMMs, shipped as cubins and used through FlashInfer:
//   bmm_<out>_<A><B>_<acc>_t128x16x128u2_s6_..._transOut_dsFp8_..._sm100f
// With transOut the weight is A. A name that does not end in an architecture is torn: which operand
// is which and how it is scaled may have been said in what is missing.
#include <algorithm>

#include "catalog/grammar/grammar.h"
#include "catalog/name/text.h"

namespace hotproof::catalog {
namespace {

struct Element {
  std::string_view token;
  std::string_view dtype;
  bool is_mx;
};
constexpr Element kElements[] = {
    {"MxE4m3", "e4m3", true}, {"MxE5m2", "e5m2", true},    {"MxE2m1", "mxfp4", true},
    {"MxInt4", "int4", true}, {"E4m3", "e4m3", false},     {"E5m2", "e5m2", false},
    {"E2m1", "nvfp4", true},  {"Bfloat16", "bf16", false}, {"Fp16", "fp16", false},
    {"Fp32", "fp32", false},  {"Int8", "int8", false},     {"Tf32", "tf32", false}};

const Element* TakeElement(std::string_view* token) {
  for (const Element& element : kElements) {
    if (ConsumePrefix(token, element.token)) return &element;
  }
  return nullptr;
}

// "sm100f", "sm90a"; of "sm10" a digit is missing.
bool IsArchitecture(std::string_view token) {
  if (!ConsumePrefix(&token, "sm")) return false;
  const size_t digits = std::min(token.find_first_not_of("0123456789"), token.size());
  return digits == 3 || (digits == 2 && token[0] != '1');
}

}  // namespace

bool ReadTrtllmGen(std::string_view name, KernelClass* out) {
  const auto tokens = SplitTokens(name);
  if (tokens.size() < 4) return false;
  std::string_view operands = tokens[2];
  const Element* first = TakeElement(&operands);
  if (first == nullptr) return false;
  const Element* second = operands.empty() ? first : TakeElement(&operands);
  if (second == nullptr || !operands.empty()) return false;
  if (IsArchitecture(tokens.back())) {
    out->arch = tokens.back().substr(0, tokens.back().find_first_not_of("0123456789", 2));
  }
  if (out->arch.empty()) return true;
  const auto has = [&tokens](std::string_view token) {
    return std::find(tokens.begin(), tokens.end(), token) != tokens.end();
  };
  const bool weight_first = has("transOut");
  out->a_dtype = (weight_first ? second : first)->dtype;
  out->b_dtype = (weight_first ? first : second)->dtype;
  const bool fp8 = IsFp8(first->dtype) || IsFp8(second->dtype);
  out->scaling = first->is_mx || second->is_mx ? "mx"
                 : has("dsFp8")                ? "block"
                 : fp8                         ? "tensor"
                                               : "none";
  for (std::string_view token : tokens) {
    if (!ConsumePrefix(&token, "t") || !out->tile.empty()) continue;
    const std::string_view tile = token.substr(0, token.find_first_not_of("0123456789x"));
    if (IsExtents(tile)) out->tile = tile;
  }
  return true;
}

}  // namespace hotproof::catalog
