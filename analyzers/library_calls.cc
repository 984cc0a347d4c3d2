#include "analyzers/library_calls.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace hotproof::analyzers {
namespace {

struct Enumerator {
  uint32_t value;
  std::string_view name;
};

template <size_t kSize>
std::string_view NameOf(const Enumerator (&enumerators)[kSize], uint32_t value) {
  for (const Enumerator& enumerator : enumerators) {
    if (enumerator.value == value) return enumerator.name;
  }
  return {};
}

// As NameOf, of an enumerator that a newer library may have: its number then.
template <size_t kSize>
std::string NameOrNumber(const Enumerator (&enumerators)[kSize], uint32_t value) {
  const std::string_view name = NameOf(enumerators, value);
  return name.empty() ? absl::StrCat(value) : std::string(name);
}

// cudaDataType_t.
constexpr Enumerator kDataTypes[] = {
    {0, "fp32"},    {1, "fp64"},   {2, "fp16"},    {3, "int8"},   {4, "cfp32"},  {5, "cfp64"},
    {6, "cfp16"},   {7, "cint8"},  {8, "uint8"},   {9, "cuint8"}, {10, "int32"}, {11, "cint32"},
    {12, "uint32"}, {14, "bf16"},  {15, "cbf16"},  {16, "int4"},  {18, "u4"},    {20, "int16"},
    {22, "uint16"}, {24, "int64"}, {26, "uint64"}, {28, "e4m3"},  {29, "e5m2"},  {30, "e8m0"},
    {31, "e2m3"},   {32, "e3m2"},  {33, "e2m1"}};

// cublasComputeType_t.
constexpr Enumerator kComputeTypes[] = {{64, "16F"},
                                        {65, "16F_PEDANTIC"},
                                        {68, "32F"},
                                        {69, "32F_PEDANTIC"},
                                        {70, "64F"},
                                        {71, "64F_PEDANTIC"},
                                        {72, "32I"},
                                        {73, "32I_PEDANTIC"},
                                        {74, "32F_FAST_16F"},
                                        {75, "32F_FAST_16BF"},
                                        {77, "32F_FAST_TF32"},
                                        {78, "32F_EMULATED_16BFX9"},
                                        {79, "64F_EMULATED_FIXEDPOINT"}};

// cublasLtMatmulMatrixScale_t.
enum ScaleMode : uint32_t {
  kScalar = 0,
  kVector16 = 1,
  kVector32 = 2,
  kOuterVector = 3,
  kVector128 = 4,
  kBlock128 = 5,
};
constexpr Enumerator kScaleModes[] = {{kScalar, "SCALAR_32F"},    {kVector16, "VEC16_UE4M3"},
                                      {kVector32, "VEC32_UE8M0"}, {kOuterVector, "OUTER_VEC_32F"},
                                      {kVector128, "VEC128_32F"}, {kBlock128, "BLK128x128_32F"}};

// cublasLtEpilogue_t.
constexpr uint32_t kDefaultEpilogue = 1;
constexpr Enumerator kEpilogues[] = {{kDefaultEpilogue, "DEFAULT"},
                                     {2, "RELU"},
                                     {4, "BIAS"},
                                     {6, "RELU_BIAS"},
                                     {32, "GELU"},
                                     {36, "GELU_BIAS"},
                                     {130, "RELU_AUX"},
                                     {134, "RELU_AUX_BIAS"},
                                     {136, "DRELU"},
                                     {152, "DRELU_BGRAD"},
                                     {160, "GELU_AUX"},
                                     {164, "GELU_AUX_BIAS"},
                                     {192, "DGELU"},
                                     {208, "DGELU_BGRAD"},
                                     {256, "BGRADA"},
                                     {512, "BGRADB"}};

char OperationOf(uint32_t operation) {
  return operation == 0 ? 'N' : operation == 1 ? 'T' : operation == 2 ? 'C' : '?';
}

// "bf16", "e4m3 -> bf16", "e4m3 x e5m2 -> fp16"; empty where a type is not known.
std::string TypesOf(const report::Call& call) {
  const std::string &a = call.a_dtype(), &b = call.b_dtype(), &d = call.d_dtype();
  if (a.empty() || b.empty() || d.empty()) return "";
  std::string types = a == b ? a : absl::StrCat(a, " x ", b);
  if (a != b || b != d) absl::StrAppend(&types, " -> ", d);
  return types;
}

// "scale A BLK128x128_32F B VEC128_32F"; scalars, which every call has, are not worth a word.
std::string ScalesOf(const report::Call& call) {
  const std::string_view scalar = NameOf(kScaleModes, kScalar);
  std::string scales;
  for (const auto& [matrix, mode] :
       {std::pair<const char*, const std::string&>{" A ", call.a_scale_mode()},
        {" B ", call.b_scale_mode()},
        {" D ", call.d_scale_mode()}}) {
    if (!mode.empty() && mode != scalar)
      absl::StrAppend(&scales, scales.empty() ? "scale" : "", matrix, mode);
  }
  return scales;
}

}  // namespace

std::string_view DtypeOfCall(uint32_t type_plus_1) {
  return type_plus_1 == 0 ? std::string_view() : NameOf(kDataTypes, type_plus_1 - 1);
}

std::string_view ScalingOfCall(const trace::LibraryCall& call, std::string_view a_dtype) {
  const auto has = [&](uint32_t mode) {
    return call.a_scale_mode() == mode + 1 || call.b_scale_mode() == mode + 1;
  };
  if (has(kVector16) || has(kVector32)) return "mx";
  if (has(kVector128) || has(kBlock128)) return "block";
  if (has(kOuterVector)) return "token_channel";
  if (a_dtype.empty()) return {};
  // Scalars are what every call has; of other types than FP8 they are not used.
  if (a_dtype != "e4m3" && a_dtype != "e5m2") return "none";
  const bool scalars = call.a_scale_mode() == kScalar + 1 && call.b_scale_mode() == kScalar + 1;
  return scalars ? "tensor" : std::string_view();
}

report::Call DescribeCall(const trace::LibraryCall& call) {
  report::Call words;
  words.set_entry_point(call.entry_point());
  words.set_operations({OperationOf(call.operation_a()), OperationOf(call.operation_b())});
  words.set_a_dtype(std::string(DtypeOfCall(call.a_type())));
  words.set_b_dtype(std::string(DtypeOfCall(call.b_type())));
  words.set_d_dtype(std::string(DtypeOfCall(call.d_type())));
  if (call.compute_type() != 0)
    words.set_compute_type(NameOrNumber(kComputeTypes, call.compute_type()));
  const auto scale_mode = [](uint32_t mode) {
    return mode == 0 ? std::string() : NameOrNumber(kScaleModes, mode - 1);
  };
  words.set_a_scale_mode(scale_mode(call.a_scale_mode()));
  words.set_b_scale_mode(scale_mode(call.b_scale_mode()));
  words.set_d_scale_mode(scale_mode(call.d_scale_mode()));
  if (call.epilogue() != 0) words.set_epilogue(NameOrNumber(kEpilogues, call.epilogue()));

  std::vector<std::string> head = {words.entry_point(), words.operations()};
  if (const std::string types = TypesOf(words); !types.empty()) head.push_back(types);
  std::vector<std::string> parts = {absl::StrJoin(head, " ")};
  if (!words.compute_type().empty()) parts.push_back("compute " + words.compute_type());
  if (const std::string scales = ScalesOf(words); !scales.empty()) parts.push_back(scales);
  if (!words.epilogue().empty() && call.epilogue() != kDefaultEpilogue) {
    parts.push_back("epilogue " + words.epilogue());
  }
  words.set_text(absl::StrJoin(parts, ", "));
  return words;
}

}  // namespace hotproof::analyzers
