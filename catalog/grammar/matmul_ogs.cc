// OpenAI's triton_kernels matmul, whose names Triton builds from its specialisation:
//   _matmul_ogs_<layouts>_<output x activation x weight>_<M x N x K x split-K tile>[_<epilogue>]
// and identifiers in general that carry element type, tile and architecture as tokens.
#include <algorithm>

#include "catalog/grammar/grammar.h"
#include "catalog/name/text.h"

namespace hotproof::catalog {
namespace {

std::string_view TritonDtype(std::string_view token) {
  static constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
      {"bf16", "bf16"},    {"fp16", "fp16"},  {"fp32", "fp32"}, {"mxfp4", "mxfp4"},
      {"fp8e4nv", "e4m3"}, {"fp8e5", "e5m2"}, {"mxfp8", "fp8"}, {"int8", "int8"}};
  for (const auto& [text, dtype] : kTypes) {
    if (token == text) return dtype;
  }
  return {};
}

std::vector<std::string_view> SplitAtX(std::string_view token) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = token.find('x', token.starts_with("mx") ? 2 : 0);
    parts.push_back(token.substr(0, end));
    if (end == std::string_view::npos) return parts;
    token.remove_prefix(end + 1);
  }
}

}  // namespace

bool ReadMatmulOgs(std::string_view name, KernelClass* out) {
  for (const std::string_view token : SplitTokens(name)) {
    const auto parts = SplitAtX(token);
    if (parts.size() == 3 && !TritonDtype(parts[1]).empty() && !TritonDtype(parts[2]).empty()) {
      out->a_dtype = TritonDtype(parts[1]);
      out->b_dtype = TritonDtype(parts[2]);
      if (parts[2].starts_with("mx")) out->scaling = "mx";
    }
    if (IsExtents(token) && parts.size() == 4) out->tile = token.substr(0, token.rfind('x'));
  }
  return true;
}

bool ReadTokens(std::string_view name, KernelClass* out) {
  static constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
      {"bf16", "bf16"}, {"f16", "fp16"}, {"fp16", "fp16"}, {"f32", "fp32"}, {"fp32", "fp32"}};
  for (std::string_view token : SplitTokens(name)) {
    for (const auto& [text, dtype] : kTypes) {
      if (token == text && out->a_dtype.empty()) out->a_dtype = dtype;
    }
    if (out->tile.empty() && IsExtents(token)) out->tile = token;
    if (out->arch.empty() && token.size() > 3 && token.starts_with("sm") && IsDigit(token[2])) {
      out->arch = token;
    }
  }
  return true;
}

}  // namespace hotproof::catalog
