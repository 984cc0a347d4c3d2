#include "tests/catalog/expectation.h"

#include <map>
#include <regex>
#include <sstream>

namespace hotproof::catalog {
namespace {

using Values = std::set<std::string>;

// Quantisers, norms, sampling and so on have no path of their own.
std::string PathOf(const std::string& library_path) {
  static const std::map<std::string, std::string> kPaths = {{"cutlass-vllm", "cutlass_vllm"},
                                                            {"cutlass-torch", "cutlass_torch"},
                                                            {"cublasLt", "cublaslt"},
                                                            {"quant", "other"},
                                                            {"norm/activation", "other"},
                                                            {"memory", "other"},
                                                            {"sampling", "other"},
                                                            {"attention", "other"}};
  const auto found = kPaths.find(library_path);
  return found == kPaths.end() ? library_path : found->second;
}

// The tables know fewer kinds: element-wise covers norms and activations, other what is neither.
Values KindsOf(const std::string& op_kind) {
  if (op_kind == "elementwise") return {"elementwise", "norm", "activation", "memory"};
  if (op_kind == "other") return {"other", "sampling", "memory", "comm", "activation"};
  return {op_kind};
}

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

bool Is16Bit(const std::string& dtype) { return dtype == "bf16" || dtype == "fp16"; }

// A 16-bit type that no part of the name mentions was known to the table from the run; the
// catalogue must not know it. (Triton functions are named after what they do.)
bool Mentions16Bit(const NamedKernel& kernel) {
  static const std::regex kType("<|bf16|bfloat|half|fp16|f16|nvjet", std::regex::icase);
  return std::regex_search(kernel.demangled, kType);
}

Values DtypesOf(const std::string& column, const NamedKernel& kernel) {
  if (column.empty() || column == "unknown") return {};  // anything that the name says
  Values values;
  for (std::string dtype : Split(column, '/')) {
    if (dtype == "f32") dtype = "fp32";
    values.insert(Is16Bit(dtype) && !Mentions16Bit(kernel) ? "" : dtype);
  }
  if (values.size() > 1) values.insert("");  // either, so the name need not tell
  return values;
}

// Weight-only formats: the table calls one scale per output channel "channel/token".
Values ScalingsOf(const std::string& scaling) {
  if (scaling == "block_1x128_128x128") return {"block"};
  if (scaling == "channel/token") return {"token_channel", "channel"};
  if (scaling == "unknown") return {};
  if (scaling == "none") return {"none", ""};
  return {scaling};
}

// "128x128x64 cluster 2x1x1", "64x8, K 64, stages 16, cluster 2x1"
std::string TileOf(const std::string& column) {
  std::smatch match;
  if (!std::regex_search(column, match, std::regex("^([0-9x]+)(, K ([0-9]+))?"))) return "";
  return match[1].str() + (match[3].matched ? "x" + match[3].str() : "");
}

}  // namespace

Expectation ExpectationOf(const NamedKernel& kernel) {
  Expectation expected;
  expected.paths = {PathOf(kernel.library_path)};
  expected.kinds = KindsOf(kernel.op_kind);
  expected.a_dtypes = DtypesOf(kernel.a_dtype, kernel);
  expected.b_dtypes = DtypesOf(kernel.b_dtype, kernel);
  expected.scalings = ScalingsOf(kernel.scaling);
  // The table took this one from a public trace without knowing its scales; on an H200 the tag ran
  // for row scales (observed_kernel_names.tsv).
  if (kernel.demangled.find("_ovscale_") != std::string::npos)
    expected.scalings = {"token_channel"};
  expected.tile = TileOf(kernel.tile);
  return expected;
}

Expectation ExpectationOf(const ObservedKernel& kernel) {
  Expectation expected;
  const std::string& op = kernel.seen_for;
  expected.paths = {"cublaslt"};
  // Kernels that run beside a GEMM: a reduction of partial results, and what prepares its buffers.
  if (kernel.name.find("splitKreduce") != std::string::npos) {
    expected.kinds = {"gemm_reduce"};
    expected.a_dtypes = expected.b_dtypes = {""};
    return expected;
  }
  if (kernel.name.starts_with("Memset") || kernel.name.find("FillFunctor") != std::string::npos) {
    expected.paths = {"other"};
    expected.kinds = {"memory", "elementwise"};
    expected.a_dtypes = expected.b_dtypes = {"", "fp32"};
    return expected;
  }
  expected.kinds = {"gemm"};
  std::string a, b, scaling = "none";
  if (op.starts_with("fp8")) {
    a = b = "e4m3";
    if (op.starts_with("fp8 e5m2xe4m3")) a = "e5m2";
    scaling = op.starts_with("fp8 blk")   ? "block"
              : op.starts_with("fp8 row") ? "token_channel"
                                          : "tensor";
  } else {
    static const std::map<std::string, std::string> kTypes = {{"bfloat16", "bf16"},
                                                              {"float16", "fp16"},
                                                              {"fp32", "fp32"},
                                                              {"tf32", "tf32"},
                                                              {"int8", "int8"}};
    a = b = kTypes.at(op.substr(0, op.find(' ')));
  }
  expected.a_dtypes = {a};
  expected.b_dtypes = {b};
  expected.scalings = {scaling};
  return expected;
}

std::vector<std::string> FieldsOf(const KernelClass& answer) {
  const auto extent = [](const std::optional<int64_t>& value) {
    return value.has_value() ? std::to_string(*value) : std::string();
  };
  return {std::string(PathName(answer.path)),
          std::string(KindName(answer.kind)),
          answer.a_dtype,
          answer.b_dtype,
          answer.scaling,
          answer.tile,
          extent(answer.m),
          extent(answer.n),
          extent(answer.k),
          answer.arch};
}

std::string Differences(const Expectation& expected, const KernelClass& answer) {
  std::ostringstream out;
  const auto check = [&out](const char* field, const Values& allowed, std::string_view value) {
    if (allowed.empty() || allowed.contains(std::string(value))) return;
    out << "  " << field << " \"" << value << "\" instead of";
    for (const std::string& one : allowed) out << " \"" << one << "\"";
    out << "\n";
  };
  check("path", expected.paths, PathName(answer.path));
  check("kind", expected.kinds, KindName(answer.kind));
  check("a_dtype", expected.a_dtypes, answer.a_dtype);
  check("b_dtype", expected.b_dtypes, answer.b_dtype);
  check("scaling", expected.scalings, answer.scaling);
  if (!expected.tile.empty()) check("tile", {expected.tile}, answer.tile);
  return out.str();
}

}  // namespace hotproof::catalog
