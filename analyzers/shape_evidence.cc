#include "analyzers/shape_evidence.h"

#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"

namespace hotproof::analyzers {
namespace {

// cuda.h's CUtensorMapDataType, as far as operands of a GEMM use it.
enum TensorMapType : uint32_t {
  kUint8 = 0,
  kUint16 = 1,
  kFloat16 = 6,
  kFloat32 = 7,
  kBfloat16 = 9,
  kFloat32Ftz = 10,
  kTfloat32 = 11,
  kTfloat32Ftz = 12,
};

struct Matrix {
  uint64_t inner = 0, outer = 0;
  uint32_t data_type = 0;
};

// The two-dimensional tensor maps among the arguments of `site`, in their order. Trailing dims of 1
// (a batch of one) are no dims.
std::vector<Matrix> MatricesOf(const trace::Site& site, const trace::Tables& tables) {
  std::vector<Matrix> matrices;
  for (const trace::TensorMapUse& use : site.tensor_maps()) {
    if (use.tensor_map_id() == 0 || use.tensor_map_id() >= tables.tensor_maps.size()) continue;
    const trace::TensorMap& map = tables.tensor_maps[use.tensor_map_id()];
    int rank = map.global_dims_size();
    while (rank > 2 && map.global_dims(rank - 1) == 1) --rank;
    if (rank != 2) continue;
    const Matrix matrix{map.global_dims(0), map.global_dims(1), map.data_type()};
    constexpr uint64_t kMax = std::numeric_limits<uint32_t>::max();
    if (matrix.inner == 0 || matrix.outer == 0 || matrix.inner > kMax || matrix.outer > kMax)
      continue;
    matrices.push_back(matrix);
  }
  return matrices;
}

// Whether a tensor map of `data_type` can hold operands of `dtype`; an unknown dtype fits any.
bool Fits(uint32_t data_type, std::string_view dtype) {
  if (dtype == "bf16") return data_type == kBfloat16 || data_type == kUint16;
  if (dtype == "fp16") return data_type == kFloat16 || data_type == kUint16;
  if (dtype == "fp32" || dtype == "tf32") return data_type == kFloat32 || data_type >= kFloat32Ftz;
  if (dtype == "e4m3" || dtype == "e5m2" || dtype == "int8") return data_type == kUint8;
  return true;
}

bool Agrees(const Shape& shape, const catalog::KernelClass& kernel_class) {
  auto same = [](const std::optional<int64_t>& named, std::optional<uint32_t> dim) {
    return !named || !dim || static_cast<uint64_t>(*named) == *dim;
  };
  return same(kernel_class.m, shape.m) && same(kernel_class.n, shape.n) &&
         same(kernel_class.k, shape.k);
}

// Operands are K-major (inner dim K) in every TMA GEMM here; the output D has N inside. A and B are
// told apart by D or, without a tensor map for it, by the dims in the kernel's name.
Shape FromTensorMaps(const trace::Site& site, const catalog::KernelClass& kernel_class,
                     const trace::Tables& tables, std::string* contradiction) {
  const std::vector<Matrix> matrices = MatricesOf(site, tables);
  std::vector<Shape> found;
  bool disagreed = false;
  auto consider = [&](const Matrix& a, const Matrix& b) {
    Shape shape{static_cast<uint32_t>(a.outer), static_cast<uint32_t>(b.outer),
                static_cast<uint32_t>(a.inner), Provenance::kTensorMap};
    if (!Agrees(shape, kernel_class)) {
      disagreed = true;
      return;
    }
    for (const Shape& earlier : found) {
      if (earlier == shape) return;
    }
    found.push_back(shape);
  };
  const bool name_tells = kernel_class.n.has_value() || kernel_class.m.has_value();
  for (size_t i = 0; i < matrices.size(); ++i) {
    for (size_t j = 0; j < matrices.size(); ++j) {
      const Matrix &a = matrices[i], &b = matrices[j];
      if (i == j || a.inner != b.inner || !Fits(a.data_type, kernel_class.a_dtype) ||
          !Fits(b.data_type, kernel_class.b_dtype)) {
        continue;
      }
      bool output_tells = a.outer == b.outer;
      for (size_t d = 0; d < matrices.size() && !output_tells; ++d) {
        output_tells =
            d != i && d != j && matrices[d].inner == b.outer && matrices[d].outer == a.outer;
      }
      if (output_tells || name_tells) consider(a, b);
    }
  }
  if (found.size() == 1) return found.front();
  if (found.empty() && disagreed && contradiction != nullptr) {
    *contradiction = "tensor maps contradict the dims in the kernel's name";
  }
  return {};
}

std::optional<uint32_t> Dim(const std::optional<int64_t>& named) {
  if (!named || *named <= 0 || *named > std::numeric_limits<uint32_t>::max()) return std::nullopt;
  return static_cast<uint32_t>(*named);
}

Shape FromName(const catalog::KernelClass& kernel_class) {
  Shape shape{Dim(kernel_class.m), Dim(kernel_class.n), Dim(kernel_class.k), Provenance::kUnknown};
  if (shape.m || shape.n || shape.k) shape.provenance = Provenance::kName;
  return shape;
}

}  // namespace

std::string_view ProvenanceName(Provenance provenance) {
  switch (provenance) {
    case Provenance::kUnknown:
      return "unknown";
    case Provenance::kName:
      return "name";
    case Provenance::kModel:
      return "model";
    case Provenance::kNvtx:
      return "nvtx";
    case Provenance::kOp:
      return "op";
    case Provenance::kLibraryCall:
      return "library_call";
    case Provenance::kTensorMap:
      return "tensor_map";
    case Provenance::kArguments:
      return "arguments";
  }
  return "unknown";
}

Shape ShapeOf(const trace::Site& site, const catalog::KernelClass& kernel_class,
              const trace::Tables& tables, std::string* contradiction) {
  const Shape shape = FromTensorMaps(site, kernel_class, tables, contradiction);
  return shape.complete() ? shape : FromName(kernel_class);
}

}  // namespace hotproof::analyzers
