// cuBLAS(Lt)'s xmma kernels:
//   sm90_xmma_gemm_<A D>_<B acc>_<compute>_tn_n_tilesize128x128x64_..._cublas
// with element types written together ("e4m3f16"); three in the first group are A, B and D.
#include "catalog/grammar/grammar.h"
#include "catalog/name/text.h"

namespace hotproof::catalog {
namespace {

struct Element {
  std::string_view token;
  std::string_view dtype;
};
// A longer token stands before those it begins with.
constexpr Element kElements[] = {
    {"e4m3", "e4m3"}, {"e5m2", "e5m2"}, {"bf16", "bf16"}, {"tf32", "tf32"}, {"f16", "fp16"},
    {"f32", "fp32"},  {"f64", "fp64"},  {"cf32", ""},     {"cf64", ""},     {"i8", "int8"},
    {"u8", "uint8"},  {"i32", "int32"}, {"s8", "int8"},   {"s32", "int32"}};

// "e4m3f16" -> e4m3, fp16; empty if it is no sequence of elements.
std::vector<std::string_view> SplitElements(std::string_view token) {
  std::vector<std::string_view> dtypes;
  while (!token.empty()) {
    bool known = false;
    for (const auto& [text, dtype] : kElements) {
      if (!ConsumePrefix(&token, text)) continue;
      dtypes.push_back(dtype);
      known = true;
      break;
    }
    if (!known) return {};
  }
  return dtypes;
}

}  // namespace

bool ReadXmma(std::string_view name, KernelClass* out) {
  const auto tokens = SplitTokens(name);
  size_t at = 0;
  while (at < tokens.size() && tokens[at] != "gemm") ++at;
  if (at + 2 >= tokens.size()) return false;
  out->arch = tokens[0];
  const auto first = SplitElements(tokens[at + 1]);
  const auto second = SplitElements(tokens[at + 2]);
  if (first.size() >= 2 && !second.empty()) {
    out->a_dtype = first[0];
    out->b_dtype = first.size() == 3 ? first[1] : second[0];
    if (second[0] == "tf32") out->a_dtype = out->b_dtype = "tf32";  // the math type
    out->scaling = IsFp8(out->a_dtype) || IsFp8(out->b_dtype) ? "tensor" : "none";
  }
  for (size_t i = 0; i < tokens.size(); ++i) {
    std::string_view token = tokens[i];
    const bool whole = i + 1 < tokens.size();  // a torn name may end within its tile
    if (ConsumePrefix(&token, "tilesize") && whole && IsExtents(token)) out->tile = token;
    if (token == "blockscaled") out->scaling = "mx";
  }
  return true;
}

}  // namespace hotproof::catalog
