#include "analyzers/shape_evidence.h"

#include <gtest/gtest.h>

#include <vector>

namespace hotproof::analyzers {
namespace {

constexpr uint32_t kUint8 = 0, kFloat32 = 7, kBfloat16 = 9;

struct Map {
  uint32_t data_type;
  std::vector<uint64_t> dims;  // innermost first
};

Shape ShapeFrom(const std::vector<Map>& maps, const catalog::KernelClass& kernel_class,
                std::string* contradiction = nullptr) {
  trace::Tables tables;
  tables.tensor_maps.resize(1);
  trace::Site site;
  for (const Map& map : maps) {
    trace::TensorMap& entry = tables.tensor_maps.emplace_back();
    entry.set_id(tables.tensor_maps.size() - 1);
    entry.set_data_type(map.data_type);
    for (const uint64_t dim : map.dims) entry.add_global_dims(dim);
    trace::TensorMapUse* use = site.add_tensor_maps();
    use->set_tensor_map_id(entry.id());
    use->set_argument_offset(128 * (entry.id() - 1));
  }
  return ShapeOf(site, {kernel_class, {}}, tables, contradiction);
}

catalog::KernelClass Class(const std::string& dtype) {
  catalog::KernelClass kernel_class;
  kernel_class.kind = catalog::Kind::kGemm;
  kernel_class.a_dtype = kernel_class.b_dtype = dtype;
  return kernel_class;
}

TEST(ShapeEvidence, ThreeTensorMapsThatAgreeGiveAllDims) {
  // Operands and output of an H200 run of a Triton TMA GEMM.
  const Shape shape = ShapeFrom(
      {{kBfloat16, {5120, 8}}, {kBfloat16, {5120, 14336}}, {kBfloat16, {14336, 8}}}, Class("bf16"));
  EXPECT_EQ(shape, (Shape{8, 14336, 5120, Provenance::kTensorMap}));
}

TEST(ShapeEvidence, TheOrderOfTheOperandsDoesNotMatter) {
  const Shape shape = ShapeFrom(
      {{kBfloat16, {5120, 14336}}, {kBfloat16, {5120, 8}}, {kBfloat16, {14336, 8}}}, Class("bf16"));
  EXPECT_EQ(shape.m, 8u);
  EXPECT_EQ(shape.n, 14336u);
}

TEST(ShapeEvidence, ABatchOfOneAndMapsOfScalesDoNotMatter) {
  const Shape shape = ShapeFrom({{kUint8, {5120, 16, 1}},
                                 {kUint8, {5120, 34816, 1}},
                                 {kFloat32, {16, 40}},
                                 {kBfloat16, {34816, 16, 1}}},
                                Class("e4m3"));
  EXPECT_EQ(shape, (Shape{16, 34816, 5120, Provenance::kTensorMap}));
}

TEST(ShapeEvidence, WithoutAnOutputTheNameTellsTheOperandsApart) {
  const std::vector<Map> operands = {{kUint8, {6144, 8}}, {kUint8, {6144, 5120}}};
  EXPECT_EQ(ShapeFrom(operands, Class("e4m3")), Shape());
  catalog::KernelClass named = Class("e4m3");
  named.n = 5120;
  named.k = 6144;
  EXPECT_EQ(ShapeFrom(operands, named), (Shape{8, 5120, 6144, Provenance::kTensorMap}));
}

TEST(ShapeEvidence, AContradictionMakesTheShapeUnknownAndIsSaid) {
  catalog::KernelClass named = Class("e4m3");
  named.n = 4096;
  named.k = 6144;
  std::string contradiction;
  const Shape shape =
      ShapeFrom({{kUint8, {6144, 8}}, {kUint8, {6144, 5120}}}, named, &contradiction);
  EXPECT_EQ(shape, Shape());
  EXPECT_EQ(contradiction, "tensor maps contradict the dims in the kernel's name");
}

TEST(ShapeEvidence, DimsOfTheNameAreInferredAndTheOthersAbsent) {
  catalog::KernelClass named = Class("e4m3");
  named.n = 34816;
  named.k = 5120;
  const Shape shape = ShapeFrom({}, named);
  EXPECT_EQ(shape, (Shape{std::nullopt, 34816, 5120, Provenance::kName}));
  EXPECT_FALSE(shape.complete());
}

TEST(ShapeEvidence, NothingKnownIsUnknownNotZero) {
  const Shape shape = ShapeFrom({}, Class("bf16"));
  EXPECT_FALSE(shape.m || shape.n || shape.k);
  EXPECT_EQ(ProvenanceName(shape.provenance), "unknown");
}

}  // namespace
}  // namespace hotproof::analyzers
