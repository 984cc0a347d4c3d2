#include "analyzers/shape_evidence.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "catalog/classifier.h"

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

// A weight that no tensor map describes, N = K: A and D would pass for two operands of a square
// product.
TEST(ShapeEvidence, AnOperandAndTheOutputAreNoPair) {
  EXPECT_EQ(ShapeFrom({{kBfloat16, {4096, 8}}, {kBfloat16, {4096, 8}}}, Class("bf16")), Shape());
  EXPECT_EQ(ShapeFrom({{kBfloat16, {512, 512}}, {kBfloat16, {512, 512}}, {kBfloat16, {512, 512}}},
                      Class("bf16")),
            (Shape{512, 512, 512, Provenance::kTensorMap}));
}

// Grouped kernels are given maps of one element and fill them in on the device.
TEST(ShapeEvidence, PlaceholdersAreNoDims) {
  const std::vector<Map> maps = {{kBfloat16, {1, 1}}, {kBfloat16, {1, 1}}, {kBfloat16, {1, 1}}};
  EXPECT_EQ(ShapeFrom(maps, Class("bf16")), Shape());
}

TEST(ShapeEvidence, WeightsOfGroupsAreStacked) {
  catalog::KernelClass named = Class("e4m3");
  named.n = 6144;
  named.k = 3968;
  std::string contradiction;
  EXPECT_EQ(
      ShapeFrom({{kUint8, {3968, 1152}}, {kUint8, {3968, 3 * 6144}}, {kBfloat16, {6144, 1152}}},
                named, &contradiction),
      (Shape{1152, 6144, 3968, Provenance::kTensorMap}));
  EXPECT_EQ(contradiction, "");
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

trace::LibraryCall Call(uint64_t m, uint64_t n, uint64_t k) {
  trace::LibraryCall call;
  call.set_entry_point("cublasGemmEx");
  call.set_m(m);
  call.set_n(n);
  call.set_k(k);
  return call;
}

TEST(ShapeEvidence, AColumnMajorCallHasItsMInside) {
  trace::Tables tables;
  trace::Site site;
  *site.mutable_library_call() = Call(96, 8, 5120);
  const catalog::KernelClass bf16 = Class("bf16");
  EXPECT_EQ(ShapeOf(site, {bf16, {}}, tables, nullptr),
            (Shape{8, 96, 5120, Provenance::kLibraryCall}));
  site.mutable_library_call()->set_order_d(1);
  site.mutable_library_call()->set_batch(12);
  EXPECT_EQ(ShapeOf(site, {bf16, {}}, tables, nullptr),
            (Shape{96, 8, 5120, Provenance::kLibraryCall, 12}));
}

// Nothing is multiplied, or more than a dim holds: absent, never 0 or cut off.
TEST(ShapeEvidence, ExtentsThatAreNoneAreAbsent) {
  trace::Tables tables;
  for (const uint64_t extent : {uint64_t{0}, uint64_t{1} << 32, ~uint64_t{0}}) {
    trace::Site site;
    *site.mutable_library_call() = Call(96, 8, extent);
    EXPECT_FALSE(ShapeOf(site, {Class("bf16"), {}}, tables, nullptr).complete()) << extent;
    *site.mutable_library_call() = Call(extent, 8, 5120);
    EXPECT_FALSE(ShapeOf(site, {Class("bf16"), {}}, tables, nullptr).complete()) << extent;
  }
  trace::Site one;
  *one.mutable_library_call() = Call(1, 1, 1);
  one.mutable_library_call()->set_batch(1);
  EXPECT_EQ(ShapeOf(one, {Class("bf16"), {}}, tables, nullptr),
            (Shape{1, 1, 1, Provenance::kLibraryCall}));
}

TEST(ShapeEvidence, GroupsOfDifferentExtentsAreNotComplete) {
  trace::Tables tables;
  trace::Site site;
  *site.mutable_library_call() = Call(64, 0, 256);
  EXPECT_EQ(ShapeOf(site, {Class("bf16"), {}}, tables, nullptr), Shape());
}

// A launch of hotproof's own kernel, whose arguments begin with M, N, K.
class Arguments : public ::testing::Test {
 protected:
  Arguments() {
    tables_.kernels.resize(2);
    tables_.kernels[1].add_parameter_offsets(0);
    tables_.kernels[1].add_parameter_sizes(64);
    tables_.tensor_maps.resize(1);
    site_.set_kernel_id(1);
    Put({7, 14336, 5120});
  }

  void Put(const std::vector<int32_t>& words) {
    std::string bytes(64, '\0');
    std::memcpy(bytes.data(), words.data(), 4 * words.size());
    site_.set_arguments(bytes);
  }
  void AddMap(const std::vector<uint64_t>& dims) {
    trace::TensorMap& map = tables_.tensor_maps.emplace_back();
    for (const uint64_t dim : dims) map.add_global_dims(dim);
    trace::TensorMapUse* use = site_.add_tensor_maps();
    use->set_tensor_map_id(tables_.tensor_maps.size() - 1);
    use->set_argument_offset(128 * tables_.tensor_maps.size());
  }
  Shape Read() {
    const std::string name = "hotproof::kernel::sm90_fp8_gemm_1x128_128x128<8, false>";
    catalog::KernelClass kernel_class = classifier_.Classify(name);
    kernel_class.n = named_n_;
    const auto layouts = classifier_.LayoutsOf(name, kernel_class);
    contradiction_.clear();
    return ShapeOf(site_, {kernel_class, layouts}, tables_, &contradiction_);
  }

  const catalog::Classifier classifier_ = *catalog::Classifier::Create();
  trace::Tables tables_;
  trace::Site site_;
  std::optional<int64_t> named_n_;
  std::string contradiction_;
};

TEST_F(Arguments, ComeFirstAndAllSourcesMayAgree) {
  const Shape expected{7, 14336, 5120, Provenance::kArguments};
  EXPECT_EQ(Read(), expected);
  AddMap({5120, 7});
  AddMap({5120, 14336});
  AddMap({14336, 7});
  *site_.mutable_library_call() = Call(14336, 7, 5120);
  named_n_ = 14336;
  EXPECT_EQ(Read(), expected);
  EXPECT_EQ(contradiction_, "");
}

TEST_F(Arguments, AreExchangedWhereTheOutputsMapSaysSo) {
  AddMap({5120, 14336});
  AddMap({5120, 7});
  AddMap({7, 14336});  // D has 7 inside
  EXPECT_EQ(Read(), (Shape{14336, 7, 5120, Provenance::kArguments}));
}

TEST_F(Arguments, ContradictedByTensorMapsCallOrNameAreNotUsed) {
  AddMap({5120, 8});
  AddMap({5120, 14336});
  AddMap({14336, 8});
  EXPECT_EQ(Read(), Shape());
  EXPECT_EQ(contradiction_, "arguments say 7 x 14336 x 5120, tensor maps 8 x 14336 x 5120");
  site_.clear_tensor_maps();
  *site_.mutable_library_call() = Call(14336, 7, 5119);
  EXPECT_EQ(Read(), Shape());
  EXPECT_NE(contradiction_.find("cublasGemmEx was asked for 7 x 14336 x 5119"), std::string::npos);
  site_.clear_library_call();
  named_n_ = 4096;
  EXPECT_EQ(Read(), Shape());
  EXPECT_EQ(contradiction_, "arguments say 7 x 14336 x 5120, the kernel's name ? x 4096 x ?");
  named_n_.reset();
  Put({0, 14336, 5120});
  EXPECT_EQ(Read(), Shape());
  EXPECT_EQ(contradiction_, "arguments do not fit layout custom.fp8_gemm: m would be 0");
}

// 616 x 1 x 64 as 1 x 616 x 64 by nvjet on an H200.
TEST_F(Arguments, OfAVectorMayBeExchangedAgainstTheCall) {
  Put({1, 616, 64});
  *site_.mutable_library_call() = Call(1, 616, 64);
  EXPECT_EQ(Read(), (Shape{616, 1, 64, Provenance::kArguments}));
  EXPECT_EQ(contradiction_, "");
  *site_.mutable_library_call() = Call(2, 616, 64);
  EXPECT_EQ(Read(), Shape());
  Put({2, 616, 64});
  EXPECT_EQ(Read(), Shape()) << "a matrix's sides are no matter of taste";
}

TEST_F(Arguments, ThatWereMaskedSayNothing) {
  site_.add_masked_offsets(0);
  EXPECT_EQ(Read(), Shape());
  EXPECT_EQ(contradiction_, "");
  *site_.mutable_library_call() = Call(14336, 7, 5120);
  EXPECT_EQ(Read(), (Shape{7, 14336, 5120, Provenance::kLibraryCall}));
}

TEST(ShapeEvidence, NothingKnownIsUnknownNotZero) {
  const Shape shape = ShapeFrom({}, Class("bf16"));
  EXPECT_FALSE(shape.m || shape.n || shape.k);
  EXPECT_EQ(ProvenanceName(shape.provenance), "unknown");
}

}  // namespace
}  // namespace hotproof::analyzers
