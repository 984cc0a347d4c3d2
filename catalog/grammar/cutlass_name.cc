// Kernel names as CUTLASS' generator and cuBLAS write them, one identifier:
//   cutlass_80_tensorop_bf16_s16816gemm_bf16_64x64_32x6_tn_align2      (output, operands)
//   cutlass3x_sm100_tensorop_s128x128x32gemm_e4m3_e4m3_f32_bf16_bf16_128x128x128_...  (A, B, acc,
//   C, D) cutlass3x_sm100_bstensorop_s128x128x32gemm_block_scaled_ue8m0xf8_ue8m0xf8_...     (scale
//   x data) ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn,
//   ampere_sgemm_128x64_lower_nt
// The layout comes last: a name that ends with its tile or before is torn.
#include "catalog/grammar/grammar.h"
#include "catalog/name/text.h"

namespace hotproof::catalog {
namespace {

// A data type token, or scale x data ("ue4m3xe2m1": the first is the scales' type).
std::string_view DtypeOfToken(std::string_view token) {
  static constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
      {"bf16", "bf16"},        {"f16", "fp16"},       {"fp16", "fp16"},
      {"f32", "fp32"},         {"fp32", "fp32"},      {"tf32", "tf32"},
      {"f64", "fp64"},         {"s8", "int8"},        {"int8", "int8"},
      {"u8", "uint8"},         {"s4", "int4"},        {"u4", "u4"},
      {"e4m3", "e4m3"},        {"e5m2", "e5m2"},      {"f8", "fp8"},
      {"ue4m3xe2m1", "nvfp4"}, {"ue4m3xf4", "nvfp4"}, {"ue8m0xe2m1", "mxfp4"},
      {"ue8m0xf4", "mxfp4"},   {"ue8m0xf8", "fp8"},   {"ue8m0xe4m3", "e4m3"},
      {"ue8m0xe5m2", "e5m2"}};
  for (const auto& [text, dtype] : kTypes) {
    if (token == text) return dtype;
  }
  return {};
}

// "s16816gemm": accumulator, instruction shape. The letter alone says the type only of plain ones.
std::string_view DtypeOfInstruction(std::string_view gemm) {
  ConsumeSuffix(&gemm, "gemm");
  if (ConsumeSuffix(&gemm, "tf32")) return "tf32";
  if (ConsumeSuffix(&gemm, "bf16")) return "bf16";
  if (gemm == "s") return "fp32";
  if (gemm == "h") return "fp16";
  if (gemm == "d" || gemm == "d884") return "fp64";
  if (gemm == "s1688" || gemm == "s1684") return "tf32";  // fp32 data through tensor cores
  if (gemm.starts_with("h")) return "fp16";
  return {};
}

// What cuBLAS's older kernels are named after, and the first architecture of it.
constexpr std::pair<std::string_view, std::string_view> kGenerations[] = {
    {"maxwell", "sm50"}, {"volta", "sm70"}, {"turing", "sm75"},
    {"ampere", "sm80"},  {"ada", "sm89"},   {"hopper", "sm90"}};

}  // namespace

bool ReadCutlassName(std::string_view name, KernelClass* out) {
  const auto tokens = SplitTokens(name);
  size_t at = 0;
  while (at < tokens.size() && !tokens[at].ends_with("gemm")) ++at;
  if (at == tokens.size()) return false;
  const std::string_view instruction = tokens[at];
  bool block_scaled = false;
  std::vector<std::string_view> dtypes;
  std::string_view tile;
  for (size_t i = at + 1; i < tokens.size() && tile.empty(); ++i) {
    if (tokens[i] == "scaled" && tokens[i - 1] == "block") block_scaled = true;
    if (IsExtents(tokens[i]) && i + 1 < tokens.size()) tile = tokens[i];
    if (const std::string_view dtype = DtypeOfToken(tokens[i]); !dtype.empty())
      dtypes.push_back(dtype);
  }
  out->tile = tile;
  if (dtypes.empty() && tile.empty()) {
    // Torn before the operands' type, which may differ from the instruction's.
  } else if (dtypes.empty()) {
    out->a_dtype = out->b_dtype = DtypeOfInstruction(instruction);
  } else {
    const bool names_both = tokens[0] == "cutlass3x" && dtypes.size() >= 2;
    out->a_dtype = dtypes[0];
    out->b_dtype = dtypes[names_both ? 1 : 0];
  }
  const bool fp8 = IsFp8(out->a_dtype) || IsFp8(out->b_dtype);
  out->scaling = block_scaled ? "mx" : fp8 ? "tensor" : out->a_dtype.empty() ? "" : "none";
  for (std::string_view token : tokens) {
    if (token.size() > 3 && token.starts_with("sm") && IsDigit(token[2])) out->arch = token;
  }
  for (const auto& [generation, arch] : kGenerations) {
    if (tokens[0] == generation) out->arch = arch;
  }
  if (tokens[0] == "cutlass" && at > 1 && IsDigit(tokens[1][0]))
    out->arch = "sm" + std::string(tokens[1]);
  return true;
}

}  // namespace hotproof::catalog
