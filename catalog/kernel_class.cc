#include "catalog/kernel_class.h"

#include <array>
#include <utility>

namespace hotproof::catalog {
namespace {

template <typename Enum, size_t N>
std::string_view NameOf(const std::array<std::pair<Enum, std::string_view>, N>& names, Enum value) {
  for (const auto& [known, name] : names) {
    if (known == value) return name;
  }
  return "unknown";
}

template <typename Enum, size_t N>
std::optional<Enum> ValueOf(const std::array<std::pair<Enum, std::string_view>, N>& names,
                            std::string_view text) {
  for (const auto& [value, name] : names) {
    if (name == text) return value;
  }
  return std::nullopt;
}

template <typename Enum, size_t N>
std::vector<std::string> AllNames(const std::array<std::pair<Enum, std::string_view>, N>& names) {
  std::vector<std::string> all;
  for (const auto& [value, name] : names) all.emplace_back(name);
  return all;
}

constexpr std::array<std::pair<Path, std::string_view>, 13> kPaths = {
    {{Path::kUnknown, "unknown"},
     {Path::kCublasLt, "cublaslt"},
     {Path::kCublas, "cublas"},
     {Path::kCutlassVllm, "cutlass_vllm"},
     {Path::kCutlassTorch, "cutlass_torch"},
     {Path::kDeepGemm, "deep_gemm"},
     {Path::kFlashInfer, "flashinfer"},
     {Path::kTriton, "triton"},
     {Path::kMarlin, "marlin"},
     {Path::kMachete, "machete"},
     {Path::kMoe, "moe"},
     {Path::kCustom, "custom"},
     {Path::kOther, "other"}}};

constexpr std::array<std::pair<Kind, std::string_view>, 11> kKinds = {
    {{Kind::kOther, "other"},
     {Kind::kGemm, "gemm"},
     {Kind::kGemmReduce, "gemm_reduce"},
     {Kind::kQuant, "quant"},
     {Kind::kAttention, "attention"},
     {Kind::kNorm, "norm"},
     {Kind::kActivation, "activation"},
     {Kind::kSampling, "sampling"},
     {Kind::kMemory, "memory"},
     {Kind::kComm, "comm"},
     {Kind::kElementwise, "elementwise"}}};

}  // namespace

std::string_view PathName(Path path) { return NameOf(kPaths, path); }
std::string_view KindName(Kind kind) { return NameOf(kKinds, kind); }
std::optional<Path> ParsePath(std::string_view name) { return ValueOf(kPaths, name); }
std::optional<Kind> ParseKind(std::string_view name) { return ValueOf(kKinds, name); }
std::vector<std::string> PathNames() { return AllNames(kPaths); }
std::vector<std::string> KindNames() { return AllNames(kKinds); }

}  // namespace hotproof::catalog
