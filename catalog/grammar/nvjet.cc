// cuBLASLt's nvjet kernels (12.x, 13.x; the library assembles them at run time, so the names are an
// open vocabulary):
//   nvjet[_sm90]_<types>[_tf32]_<AxB tile>_<K tile x stages>_<cluster>[_2cta]_<v|h>_<tags>_<layout>
//   nvjet_sm120_<types>_mma_<AxBxK tile>_<stages>_<warp tile>_<tags>_<layout>
// The tile is column-major as cuBLAS sees it: its first number runs over the weight's N.
// A name without its layout is torn: its last token may be a part of one, and scales come late.
#include <algorithm>

#include "catalog/grammar/grammar.h"
#include "catalog/name/text.h"

namespace hotproof::catalog {
namespace {

std::string_view DtypeOfLetter(char letter) {
  switch (letter) {
    case 'q':
      return "e4m3";
    case 'r':
      return "e5m2";
    case 't':
      return "bf16";
    case 'h':
      return "fp16";
    case 's':
      return "fp32";
    case 'd':
      return "fp64";
    case 'b':
      return "int8";
    case 'o':
      return "fp4";
    default:
      return {};
  }
}

bool IsLowerCase(std::string_view token) {
  for (const char c : token) {
    if (!IsLower(c)) return false;
  }
  return !token.empty();
}

// "TNT": of both operands and the output, which sm120 writes of C and D ("TNNN").
bool IsLayout(std::string_view token) {
  return (token.size() == 3 || token.size() == 4) &&
         token.find_first_not_of("NT") == std::string_view::npos;
}

bool IsArchitecture(std::string_view token) {
  return token.size() > 3 && token.starts_with("sm") && IsDigit(token[2]);
}

// Three letters: both operands, compute, output. Five: weight, activation, C, compute, output.
bool ReadTypes(std::string_view letters, KernelClass* out) {
  if (letters.size() == 3) {
    out->a_dtype = out->b_dtype = DtypeOfLetter(letters[0]);
  } else if (letters.size() == 5) {
    out->a_dtype = DtypeOfLetter(letters[1]);
    out->b_dtype = DtypeOfLetter(letters[0]);
  } else {
    return false;
  }
  out->d_dtype = DtypeOfLetter(letters.back());
  return true;
}

// "Ablk128", "Bvec128", "Avec32UE8M0": how an operand's scales are laid out.
std::string_view ScalingOfTag(std::string_view tag) {
  if (tag == "ovscale") return "token_channel";
  if (tag.size() < 5 || (tag[0] != 'A' && tag[0] != 'B')) return {};
  tag.remove_prefix(1);
  if (!ConsumePrefix(&tag, "blk") && !ConsumePrefix(&tag, "vec")) return {};
  while (!tag.empty() && IsDigit(tag[0])) tag.remove_prefix(1);
  return tag.empty() ? "block" : "mx";  // a scale type follows: MXFP8, NVFP4
}

}  // namespace

bool ReadNvjet(std::string_view name, KernelClass* out) {
  const auto tokens = SplitTokens(name);
  size_t at = 1;
  if (tokens.empty() || tokens[0] != "nvjet") return false;
  if (at < tokens.size() && IsArchitecture(tokens[at])) out->arch = tokens[at++];
  const bool has_types =
      at < tokens.size() && IsLowerCase(tokens[at]) && ReadTypes(tokens[at], out);
  if (has_types) ++at;
  if (at < tokens.size() && tokens[at] == "tf32") {
    out->a_dtype = out->b_dtype = "tf32";
    ++at;
  }
  while (at < tokens.size() && !IsExtents(tokens[at])) ++at;
  if (at == tokens.size()) return false;
  if (!std::any_of(tokens.begin() + at, tokens.end(), IsLayout)) {
    if (out->a_dtype == "fp4") out->a_dtype.clear();
    if (out->b_dtype == "fp4") out->b_dtype.clear();
    return true;
  }
  out->tile = tokens[at++];
  const bool has_depth =
      std::count(out->tile.begin(), out->tile.end(), 'x') == 2;  // sm120's mma form
  if (!has_depth && at < tokens.size() && IsExtents(tokens[at])) {
    const std::string_view depth_and_stages = tokens[at++];
    out->tile.append("x").append(depth_and_stages.substr(0, depth_and_stages.find('x')));
  }
  std::string_view scaling;
  for (; at < tokens.size(); ++at) {
    const std::string_view by_tag = ScalingOfTag(tokens[at]);
    if (scaling.empty() || by_tag == "mx") scaling = by_tag.empty() ? scaling : by_tag;
  }
  if (scaling.empty() && has_types) {
    scaling = IsFp8(out->a_dtype) || IsFp8(out->b_dtype) ? "tensor" : "none";
  }
  if (out->a_dtype == "fp4") out->a_dtype = scaling == "mx" ? "nvfp4" : "";
  if (out->b_dtype == "fp4") out->b_dtype = scaling == "mx" ? "nvfp4" : "";
  out->scaling = scaling;
  return true;
}

}  // namespace hotproof::catalog
