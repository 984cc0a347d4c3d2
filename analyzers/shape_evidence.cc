#include "analyzers/shape_evidence.h"

#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "catalog/layouts/layout_set.h"

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
    // A placeholder: a grouped kernel writes the real map on the device.
    if (matrix.inner == 1 && matrix.outer == 1) continue;
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

// Whether two sources agree on every dim that both have.
bool Agree(const Shape& a, const Shape& b) {
  auto same = [](std::optional<uint32_t> x, std::optional<uint32_t> y) {
    return !x || !y || *x == *y;
  };
  return same(a.m, b.m) && same(a.n, b.n) && same(a.k, b.k);
}

// Operands are K-major (inner dim K) in every TMA GEMM here; the output D has N inside. A and B are
// told apart by D or, without a tensor map for it, by the dims in the kernel's name. Nothing else does: where
// N is K, A and D look like two operands of a square product. B of groups is stacked: N rows for each.
Shape FromTensorMaps(const trace::Site& site, const catalog::KernelClass& kernel_class,
                     const Shape& named, const trace::Tables& tables, bool* contradicts_name) {
  const std::vector<Matrix> matrices = MatricesOf(site, tables);
  std::vector<Shape> found;
  bool disagreed = false;
  auto consider = [&](const Matrix& a, uint64_t n) {
    Shape shape{static_cast<uint32_t>(a.outer), static_cast<uint32_t>(n),
                static_cast<uint32_t>(a.inner), Provenance::kTensorMap};
    if (!Agree(shape, named)) {
      disagreed = true;
      return;
    }
    for (const Shape& earlier : found) {
      if (earlier == shape) return;
    }
    found.push_back(shape);
  };
  const bool name_tells = named.n.has_value() || named.m.has_value();
  for (size_t i = 0; i < matrices.size(); ++i) {
    for (size_t j = 0; j < matrices.size(); ++j) {
      const Matrix &a = matrices[i], &b = matrices[j];
      if (i == j || a.inner != b.inner || !Fits(a.data_type, kernel_class.a_dtype) ||
          !Fits(b.data_type, kernel_class.b_dtype)) {
        continue;
      }
      const bool stacked = named.n && b.outer > *named.n && b.outer % *named.n == 0;
      const uint64_t n = stacked ? *named.n : b.outer;
      bool output_tells = false;
      for (size_t d = 0; d < matrices.size() && !output_tells; ++d) {
        output_tells = d != i && d != j && matrices[d].inner == n && matrices[d].outer == a.outer;
      }
      if (output_tells) {
        consider(a, n);
      } else if (name_tells) {
        consider(a, b.outer);
      }
    }
  }
  if (found.size() == 1) return found.front();
  *contradicts_name = found.empty() && disagreed;
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

// Bytes of `site`'s arguments that hold nothing: masked addresses, tensor maps.
std::vector<catalog::ByteRange> HiddenBytes(const trace::Site& site) {
  std::vector<catalog::ByteRange> hidden;
  hidden.reserve(site.masked_offsets_size() + site.tensor_maps_size());
  const auto hide = [&](uint32_t offset, uint32_t bytes) {
    hidden.push_back({offset, offset + std::min(bytes, UINT32_MAX - offset)});
  };
  for (const uint32_t offset : site.masked_offsets()) hide(offset, 8);
  for (const trace::TensorMapUse& use : site.tensor_maps()) hide(use.argument_offset(), 128);
  return hidden;
}

std::optional<uint32_t> Narrow(const std::optional<int64_t>& dim) {
  return dim ? std::optional<uint32_t>(static_cast<uint32_t>(*dim)) : std::nullopt;
}

}  // namespace

std::optional<catalog::LayoutReading> ReadArguments(const trace::Site& site,
                                                    const KernelEvidence& kernel,
                                                    const trace::Tables& tables) {
  if (kernel.layouts.empty() || site.kernel_id() >= tables.kernels.size()) return {};
  const trace::Kernel& entry = tables.kernels[site.kernel_id()];
  const auto all_of = [](const auto& numbers) {
    return std::span<const uint32_t>(numbers.data(), static_cast<size_t>(numbers.size()));
  };
  const std::vector<catalog::ByteRange> hidden = HiddenBytes(site);
  catalog::LaunchEvidence evidence{all_of(entry.parameter_offsets()),
                                   all_of(entry.parameter_sizes()),
                                   site.arguments(),
                                   hidden,
                                   {site.grid_x(), site.grid_y(), site.grid_z()},
                                   {site.block_x(), site.block_y(), site.block_z()}};
  return catalog::ReadFirst(kernel.layouts, evidence, kernel.kernel_class);
}

namespace {

Shape FromArguments(const trace::Site& site, const KernelEvidence& kernel,
                    const trace::Tables& tables, std::string* contradiction) {
  const auto reading = ReadArguments(site, kernel, tables);
  if (!reading) return {};
  if (reading->contradiction) {
    *contradiction =
        absl::StrCat("arguments do not fit layout ", reading->layout, ": ", reading->refused);
  }
  Shape shape{Narrow(reading->m), Narrow(reading->n), Narrow(reading->k), Provenance::kArguments};
  if (reading->batch && *reading->batch > 1) shape.batch = Narrow(reading->batch);
  shape.a_has_scales = reading->a_has_scales;
  shape.b_has_scales = reading->b_has_scales;
  return shape;
}

// What the library was asked for. A column-major D has its m inside.
Shape FromLibraryCall(const trace::Site& site) {
  if (!site.has_library_call()) return {};
  const trace::LibraryCall& call = site.library_call();
  const auto dim = [](uint64_t value) {
    return value >= 1 && value <= std::numeric_limits<uint32_t>::max()
               ? std::optional<uint32_t>(static_cast<uint32_t>(value))
               : std::nullopt;
  };
  const bool row_major = call.order_d() == 1;
  Shape shape{dim(row_major ? call.m() : call.n()), dim(row_major ? call.n() : call.m()),
              dim(call.k()), Provenance::kLibraryCall};
  if (call.batch() > 1) shape.batch = dim(call.batch());
  return shape;
}

// M and N exchanged: what a kernel calls M can be the contiguous dim of D.
Shape Exchanged(Shape shape) {
  std::swap(shape.m, shape.n);
  return shape;
}

std::string Text(const Shape& shape) {
  auto dim = [](std::optional<uint32_t> value) { return value ? absl::StrCat(*value) : "?"; };
  return absl::StrCat(dim(shape.m), " x ", dim(shape.n), " x ", dim(shape.k));
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

Shape ShapeOf(const trace::Site& site, const KernelEvidence& kernel, const trace::Tables& tables,
              std::string* contradiction) {
  const Shape named = FromName(kernel.kernel_class);
  std::string why;
  const auto refuse = [&](std::string text) {
    if (contradiction != nullptr) *contradiction = std::move(text);
    return Shape();
  };
  Shape shape = FromArguments(site, kernel, tables, &why);
  if (!why.empty()) return refuse(std::move(why));

  bool contradicts_name = false;
  Shape mapped = FromTensorMaps(site, kernel.kernel_class, named, tables, &contradicts_name);
  if (contradicts_name) return refuse("tensor maps contradict the dims in the kernel's name");
  if (mapped.complete()) {
    if (!Agree(shape, mapped) && !Agree(Exchanged(shape), mapped)) {
      return refuse(absl::StrCat("arguments say ", Text(shape), ", tensor maps ", Text(mapped)));
    }
    // D's own map says which dim is contiguous.
    if (!Agree(shape, mapped)) shape = Exchanged(shape);
  }
  if (!Agree(shape, named)) {
    return refuse(absl::StrCat("arguments say ", Text(shape), ", the kernel's name ", Text(named)));
  }
  const Shape called = FromLibraryCall(site);
  // A row and a column are the same bytes: the library may take one for the other.
  if (called.m == 1u || called.n == 1u) {
    for (Shape* const other : {&shape, &mapped}) {
      if (!Agree(*other, called) && Agree(Exchanged(*other), called)) *other = Exchanged(*other);
    }
  }
  if (!Agree(shape, called) || (mapped.complete() && !Agree(mapped, called))) {
    return refuse(absl::StrCat("arguments or tensor maps say ",
                               Text(shape.complete() ? shape : mapped), ", ",
                               site.library_call().entry_point(), " was asked for ", Text(called)));
  }
  if (!Agree(named, called) && !Agree(Exchanged(named), called)) {
    return refuse(absl::StrCat("the kernel's name says ", Text(named), ", ",
                               site.library_call().entry_point(), " was asked for ", Text(called)));
  }
  if (!shape.batch) shape.batch = called.batch;
  // What is compiled into the kernel is as exact as what it is given.
  if (!shape.m) shape.m = named.m;
  if (!shape.n) shape.n = named.n;
  if (!shape.k) shape.k = named.k;
  if (shape.provenance == Provenance::kArguments && shape.complete()) return shape;
  Shape other = mapped.complete() ? mapped : called.complete() ? called : named;
  other.a_has_scales = shape.a_has_scales;
  other.b_has_scales = shape.b_has_scales;
  return other;
}

}  // namespace hotproof::analyzers
