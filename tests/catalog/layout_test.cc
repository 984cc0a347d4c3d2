// Problem sizes from argument bytes: each layout on bytes placed as its library places them, what
// is hidden or contradicts itself, and that no layout is dead or unfounded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <set>
#include <tuple>

#include "catalog/classifier.h"
#include "catalog/layouts/layout_set.h"
#include "catalog/rule_text.h"
#include "proto/catalog.pb.h"
#include "tests/catalog/corpus.h"

namespace hotproof::catalog {
namespace {

using ::testing::HasSubstr;

// One launch: parameter sizes as the driver gives them (each at the next multiple of its alignment,
// tensor maps at 64 bytes from 16 on), and 32-bit words to put into the argument buffer.
struct Launch {
  std::vector<uint32_t> sizes;
  std::vector<std::pair<uint32_t, int32_t>> words;
  std::vector<ByteRange> hidden;
};

std::optional<LayoutReading> Read(const Classifier& classifier, const std::string& name,
                                  const Launch& launch, std::string* id = nullptr) {
  std::vector<uint32_t> offsets;
  uint32_t end = 0;
  for (const uint32_t size : launch.sizes) {
    const uint32_t alignment = size == 128 ? 64 : size >= 8 ? 8 : size;
    end = (end + alignment - 1) / alignment * alignment;
    offsets.push_back(end);
    end += size;
  }
  std::string bytes(end, '\0');
  for (const auto& [offset, word] : launch.words) {
    EXPECT_LE(offset + 4, bytes.size());
    std::memcpy(bytes.data() + offset, &word, sizeof word);
  }
  const KernelClass kernel_class = classifier.Classify(name);
  const LaunchEvidence evidence{offsets, launch.sizes, bytes, launch.hidden, {1, 1, 1}, {1, 1, 1}};
  auto reading = ReadFirst(classifier.LayoutsOf(name, kernel_class), evidence, kernel_class);
  if (reading && id != nullptr) *id = reading->layout;
  return reading;
}

constexpr char kNotPersistent[] = "cutlass::gemm::KernelTmaWarpSpecialized>";

// `name` with `was` in it replaced.
std::string With(std::string name, const std::string& was, const std::string& is) {
  const size_t at = name.find(was);
  EXPECT_NE(at, std::string::npos) << was;
  return at == std::string::npos ? name : name.replace(at, was.size(), is);
}

// A real name out of the golden tables.
std::string NameWith(std::string_view part) {
  for (const NamedKernel& kernel : ReadNamedKernels()) {
    if (kernel.demangled.find(part) != std::string::npos) return kernel.demangled;
  }
  for (const MoreKernel& kernel : ReadMoreKernels()) {
    if (kernel.name.find(part) != std::string::npos) return kernel.name;
  }
  ADD_FAILURE() << "no name with " << part;
  return "";
}

using Dims = std::tuple<int64_t, int64_t, int64_t>;

class LayoutTest : public ::testing::Test {
 protected:
  void Expect(const std::string& layout, const Dims& dims, const std::string& name,
              const Launch& launch) {
    std::string id;
    const auto reading = Read(classifier_, name, launch, &id);
    ASSERT_TRUE(reading.has_value()) << layout << ": no layout for " << name;
    EXPECT_EQ(id, layout);
    EXPECT_EQ(reading->refused, "");
    EXPECT_EQ((Dims{reading->m.value_or(0), reading->n.value_or(0), reading->k.value_or(0)}), dims)
        << layout;
  }

  Classifier classifier_ = *Classifier::Create();
};

const char k1d2d[] =
    "void deep_gemm::sm90_fp8_gemm_1d2d_impl<(cute::UMMA::Major)0, 0u, 16384u, 5120u, 1u, 16u, "
    "128u, 128u, 128u, 128u, 128u, 12u, 128u, 128u, 1u, false, 132u, (deep_gemm::GemmType)0, "
    "cutlass::bfloat16_t>(float*, int*)";
const char kSwapped[] =
    "void deep_gemm::fp8_gemm_kernel_swapAB<34816u, 5120u, 128u, 16u, 128u, 1u, 8u, 128u, 128u, "
    "1u, deep_gemm::NormalSchedulerSwapAB<34816u, 128u, 16u, 1u, 1u, 272u, 16u>, "
    "deep_gemm::NormalSchedulerInputSwapAB>(__nv_bfloat16*)";

TEST_F(LayoutTest, DeepGemm) {
  Expect("deep_gemm.fp8_1d2d", {8, 16384, 5120}, k1d2d,
         {{8, 8, 4, 4, 4, 128, 128, 128, 128}, {{16, 8}, {20, 16384}, {24, 5120}}});
  Expect("deep_gemm.fp8_1d1d", {300, 4096, 7168},
         "void deep_gemm::sm90_fp8_gemm_1d1d_impl<0u, 4096u, 7168u, 1u, 128u, 128u, 128u>(int*)",
         {{8, 8, 8, 8, 4, 4, 4, 128, 128, 128, 128, 128}, {{32, 300}, {36, 4096}, {40, 7168}}});
  Expect("deep_gemm.bf16", {33, 96, 5120},
         "void deep_gemm::sm90_bf16_gemm_impl<(cute::UMMA::Major)0, (cute::UMMA::Major)0, 0u, 96u, "
         "5120u, 1u, 64u, 96u, 64u>(int*)",
         {{8, 4, 4, 4, 128, 128, 128}, {{8, 33}, {12, 96}, {16, 5120}}});
}

TEST_F(LayoutTest, FlashInferCallsTheTokensNAndTheWeightsExtentsAreInTheName) {
  const auto reading =
      Read(classifier_, kSwapped,
           {{8, 8, 16, 128, 128, 128, 128}, {{16, 24}, {20, 32764}}});  // padding: garbage
  ASSERT_TRUE(reading.has_value());
  EXPECT_EQ(reading->m, 24);
  EXPECT_FALSE(reading->n.has_value());
}

TEST_F(LayoutTest, Cutlass3) {
  const std::string vllm =
      "void cutlass::device_kernel<vllm::cutlass_3x_gemm_fp8_blockwise<cutlass::bfloat16_t, 1, "
      "128, "
      "128, cute::tuple<cute::C<128>, cute::C<128>, cute::C<128>>, cute::tuple<cute::C<1>, "
      "cute::C<1>, cute::C<1>>, E, cutlass::gemm::KernelTmaWarpSpecializedCooperativeFP8Blockwise";
  const std::string end = ">::GemmKernel>(vllm::P)";
  Expect("cutlass_vllm.cutlass3", {7, 14336, 5120}, vllm + ", false" + end,
         {{832}, {{0, 0}, {4, 7}, {8, 14336}, {12, 5120}, {16, 1}}});
  Expect("cutlass_vllm.swapped", {7, 14336, 5120}, vllm + ", true" + end,
         {{832}, {{0, 0}, {4, 14336}, {8, 7}, {12, 5120}, {16, 1}}});
  // Of an H200 run. The kernel that is not persistent has no mode, and 16 bytes do not read as the
  // others'.
  const std::string not_persistent =
      "cutlass::device_kernel<vllm::cutlass_3x_gemm_sm90_fp8<cutlass::float_e4m3_t, "
      "cutlass::bfloat16_t, "
      "vllm::c3x::ScaledEpilogue, cute::tuple<cute::C<64>, cute::C<16>, cute::C<256>>, "
      "cute::tuple<cute::C<1>, "
      "cute::C<1>, cute::C<1>>, cutlass::gemm::KernelTmaWarpSpecializedFP8FastAccum, "
      "cutlass::epilogue::TmaWarpSpecialized, true>::GemmKernel>";
  Expect("cutlass_vllm.swapped_not_persistent", {1, 2000, 832}, not_persistent,
         {{1536}, {{0, 2000}, {4, 1}, {8, 832}, {12, 1}}});
  EXPECT_TRUE(Read(classifier_, not_persistent, {{1536}, {{0, 2000}, {4, 1}, {8, 832}, {12, 7}}})
                  ->contradiction);
  Expect("cutlass3.rank3", {65, 256, 640},
         With(NameWith("GemmUniversal<cute::tuple<int, int, int>, cutlass::"), kNotPersistent,
              "cutlass::gemm::KernelTmaWarpSpecializedCooperative>"),
         {{1024}, {{4, 65}, {8, 256}, {12, 640}, {16, 0x7ff0}}});
  const std::string rank4 = NameWith(
      "device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int, int, int>, "
      "cutlass::");
  Launch batched{{1024}, {{0, 2}, {4, 65}, {8, 256}, {12, 640}, {16, 48}}, {}};
  Expect("cutlass3.rank4", {65, 256, 640}, rank4, batched);
  EXPECT_EQ(Read(classifier_, rank4, batched)->batch, 48);
  // Grouped: the shapes lie elsewhere, whatever these words look like.
  batched.words[0].second = 4;
  const auto grouped = Read(classifier_, rank4, batched);
  EXPECT_TRUE(grouped->contradiction);
  EXPECT_FALSE(grouped->m.has_value());
}

TEST_F(LayoutTest, Machete) {
  Expect(
      "machete.gemm", {17, 8192, 4096},
      "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int, int, "
      "int>, machete::MacheteCollectiveMma<cute::tuple<cutlass::vllm_uint4b8_t>, L, I, "
      "cutlass::bfloat16_t, S, T, U, cute::tuple<cute::C<128>, cute::C<32>, cute::C<64>>, V>, "
      "E>>(P)",
      {{900}, {{0, 0}, {4, 8192}, {8, 17}, {12, 4096}, {16, 1}}});
}

TEST_F(LayoutTest, Cutlass2IsCheckedAgainstItsGridOfTiles) {
  const std::string name =
      "void cutlass::Kernel2<cutlass::gemm::kernel::GemmUniversal<cutlass::gemm::threadblock::"
      "MmaMultistage<cutlass::gemm::GemmShape<128, 64, 32>, I>, E, S, W>>(P)";
  Launch launch{{384}, {{0, 200}, {4, 130}, {8, 512}, {12, 2}, {16, 3}, {20, 1}, {24, 0}}, {}};
  const KernelClass kernel_class = classifier_.Classify(name);
  ASSERT_EQ(kernel_class.rule, "cutlass.gemm_2x");
  Expect("cutlass2.gemm", {200, 130, 512}, name, launch);
  if (kernel_class.tile.empty()) GTEST_SKIP() << "the name tells no tile";
  launch.words[3].second = 5;
  const auto reading = Read(classifier_, name, launch);
  EXPECT_TRUE(reading->contradiction);
  EXPECT_THAT(reading->refused, HasSubstr("grid_tiles_m == tiles_m"));
}

TEST_F(LayoutTest, NvjetNeedsEveryPlaceToAgree) {
  const std::string name = "nvjet_sm90_tst_64x8_64x16_2x1_v_bz_splitK_TNT";
  // Of an H200 run: 8 x 96 x 5120 in three parts.
  Launch launch{{1720},
                {{416, 95},
                 {420, 7},
                 {208, 5119},
                 {212, 95},
                 {272, 5119},
                 {276, 7},
                 {592, 95},
                 {596, 7},
                 {352, 96},
                 {320, 1728}},
                {}};
  Expect("cublaslt.nvjet_tn", {8, 96, 5120}, name, launch);
  for (size_t i = 0; i < 8; ++i) {
    Launch other = launch;
    other.words[i].second += 1;
    EXPECT_TRUE(Read(classifier_, name, other)->contradiction) << i;
  }
  // A part is K in whole tiles where there is one, and never more.
  Launch ragged = launch;
  ragged.words[2].second = ragged.words[4].second = 392 - 1;
  ragged.words[9].second = 448;
  Expect("cublaslt.nvjet_tn", {8, 96, 392}, name, ragged);
  ragged.words[9].second = 449;
  EXPECT_TRUE(Read(classifier_, name, ragged)->contradiction);
  Launch batched = launch;
  batched.words.push_back({216, 3});
  EXPECT_TRUE(Read(classifier_, name, batched)->contradiction);
  // Another version's struct, a batch by pointers, whose number the struct does not tell: nothing
  // is read.
  launch.sizes[0] = 1728;
  EXPECT_FALSE(Read(classifier_, name, launch).has_value());
  launch.sizes[0] = 1720;
  EXPECT_FALSE(
      Read(classifier_, "nvjet_sm90_tst_64x40_64x16_1x2_h_bz_ptrBatch_TNT", launch).has_value());
  // Another order than the name's: the extents are exchanged.
  for (const char* other : {"nvjet_sm90_tst_64x8_64x16_2x1_v_bz_splitK_NNT",
                            "nvjet_sm90_tst_64x8_64x16_2x1_v_bz_splitK_NTN",
                            "nvjet_sm90_tst_64x8_64x16_2x1_v_bz_splitK_TTT"}) {
    EXPECT_TRUE(Read(classifier_, other, launch)->contradiction) << other;
  }
}

// Of an H200 run.
TEST_F(LayoutTest, NvjetWhoseOperandsHaveKOutside) {
  const std::string name = "nvjet_sm90_tst_96x64_64x8_1x4_h_bz_NNN";
  const Launch batched{{1720},
                       {{416, 71},
                        {420, 188},
                        {208, 71},
                        {212, 151},
                        {216, 27},
                        {272, 151},
                        {276, 188},
                        {280, 27},
                        {592, 71},
                        {596, 188},
                        {600, 27},
                        {352, 72},
                        {320, 152}},
                       {}};
  Expect("cublaslt.nvjet_nn", {189, 72, 152}, name, batched);
  EXPECT_EQ(Read(classifier_, name, batched)->batch, 28);
  for (size_t i = 0; i < 11; ++i) {
    Launch other = batched;
    other.words[i].second += 1;
    EXPECT_TRUE(Read(classifier_, name, other)->contradiction) << i;
  }
  const Launch transposed{{1720},
                          {{416, 263},
                           {420, 3775},
                           {208, 263},
                           {212, 4},
                           {272, 3775},
                           {276, 4},
                           {592, 263},
                           {596, 3775},
                           {352, 264},
                           {320, 5}},
                          {}};
  Expect("cublaslt.nvjet_nt", {3776, 264, 5}, "nvjet_sm90_tst_96x128_64x6_4x2_h_bz_NTN",
         transposed);
}

TEST_F(LayoutTest, NvjetWhoseSecondOperandAloneHasKOutside) {
  Expect("cublaslt.nvjet_tt", {4080, 1984, 456}, "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TTT",
         {{1720},
          {{416, 1983},
           {420, 4079},
           {208, 455},
           {212, 1983},
           {272, 4079},
           {276, 455},
           {592, 1983},
           {596, 4079},
           {352, 1984},
           {320, 512}},
          {}});
}

// Of an H200 run: without the tile scheduler of persistent kernels there is no mode in front.
TEST_F(LayoutTest, CutlassThatIsNotPersistent) {
  const std::string name =
      "void cutlass::device_kernel<vllm::cutlass_3x_gemm<signed char, cutlass::bfloat16_t, "
      "vllm::c3x::ScaledEpilogue, cute::tuple<cute::C<64>, cute::C<64>, cute::C<256> >, "
      "cute::tuple<cute::C<1>, cute::C<1>, cute::C<1> >, cutlass::gemm::KernelTmaWarpSpecialized, "
      "cutlass::epilogue::TmaWarpSpecialized>::GemmKernel>(Params)";
  const Launch launch{{1536}, {{0, 41}, {4, 3888}, {8, 304}, {12, 1}}, {}};
  Expect("cutlass_vllm.not_persistent", {41, 3888, 304}, name, launch);
}

// M = 2 in the place of a mode would be 'batched'.
TEST_F(LayoutTest, CutlassOfAnyLibraryThatIsNotPersistent) {
  const std::string name = NameWith(kNotPersistent);
  const Launch launch{{1536}, {{0, 2}, {4, 1024}, {8, 512}, {12, 1}}, {}};
  Expect("cutlass3.not_persistent_rank3", {2, 1024, 512}, name, launch);
  Expect("cutlass3.not_persistent_rank4", {2, 1024, 512},
         With(name, "cute::tuple<int, int, int>", "cute::tuple<int, int, int, int>"), launch);
}

TEST_F(LayoutTest, FusedDownProjectionIsGivenItsTokens) {
  const std::string name =
      "void fused_a_gemm_kernel<1, 2112, 7168, 16, 16, 256, 12>(__nv_bfloat16*, __nv_bfloat16 "
      "const*, __nv_bfloat16 const*, int)";
  const auto reading = Read(classifier_, name, {{8, 8, 8, 4}, {{24, 13}}, {}});
  ASSERT_TRUE(reading.has_value());
  EXPECT_EQ(reading->m, 13);
  const KernelClass kernel_class = classifier_.Classify(name);
  EXPECT_FALSE(kernel_class.m.has_value());  // 1 is a batch
  EXPECT_EQ(kernel_class.n, 2112);
}

TEST_F(LayoutTest, TritonCompilesOnesIn) {
  const std::string name = "_w8a8_triton_block_scaled_mm";
  Expect("triton.block_scaled_mm", {9, 14336, 5120}, name,
         {{8, 8, 8, 8, 8, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 8, 8},
          {{40, 9},
           {44, 14336},
           {48, 5120},
           {52, 128},
           {56, 128},
           {60, 5120},
           {64, 5120},
           {68, 14336},
           {72, 40},
           {76, 40}}});
  Expect("triton.block_scaled_mm_one_row", {1, 14336, 5120}, name,
         {{8, 8, 8, 8, 8, 4, 4, 4, 4, 4, 4, 4, 4, 4, 8, 8},
          {{40, 14336},
           {44, 5120},
           {48, 128},
           {52, 128},
           {56, 5120},
           {60, 5120},
           {64, 14336},
           {68, 40},
           {72, 40}}});
  Expect("triton.block_scaled_mm_one_group", {9, 256, 128}, name,
         {{8, 8, 8, 8, 8, 4, 4, 4, 4, 4, 4, 4, 4},
          {{40, 9}, {44, 256}, {48, 128}, {52, 128}, {56, 128}, {60, 128}, {64, 128}, {68, 256}}});
  // Scales of one column, column-major; and of one row: their strides are what tells these from the
  // above.
  Expect("triton.block_scaled_mm_one_column", {3194, 7168, 128}, name,
         {{8, 8, 8, 8, 8, 4, 4, 4, 4, 4, 4, 4, 4, 4, 8, 8},
          {{40, 3194},
           {44, 7168},
           {48, 128},
           {52, 128},
           {56, 128},
           {60, 128},
           {64, 128},
           {68, 7168},
           {72, 3194}}});
  Expect("triton.block_scaled_mm_one_row_of_scales", {1, 5504, 3840}, name,
         {{8, 8, 8, 8, 8, 4, 4, 4, 4, 4, 4, 4, 4, 8, 8},
          {{40, 5504},
           {44, 3840},
           {48, 128},
           {52, 128},
           {56, 3840},
           {60, 3840},
           {64, 5504},
           {68, 30}}});
  Expect("triton.matmul", {48, 5120, 1024}, "matmul_kernel_persistent",
         {{8, 8, 8, 8, 4, 4, 4, 4, 4, 4, 8, 8},
          {{32, 48}, {36, 5120}, {40, 1024}, {44, 1024}, {48, 1024}, {52, 5120}}});
  Expect(
      "triton.matmul_one_row", {1, 5120, 1024}, "matmul_kernel_persistent",
      {{8, 8, 8, 4, 4, 4, 4, 4, 8}, {{24, 5120}, {28, 1024}, {32, 1024}, {36, 5120}, {40, 5120}}});
}

TEST_F(LayoutTest, Marlin) {
  const std::string name =
      "void marlin::Marlin<1125899906909960l, 1125899907892224l, 1125899906909960l, "
      "1125899906909960l, 256, 1, 8, 8, true, 4, 8, false>(int4*)";
  Expect("marlin.with_bias_flag", {3, 8192, 4096}, name,
         {{8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 4, 4, 4, 4, 4, 8, 1, 1, 1, 4},
          {{80, 32}, {84, 3}, {88, 8192}, {92, 4096}, {96, 4096}}});
}

TEST_F(LayoutTest, OurOwnKernel) {
  Expect(
      "custom.fp8_gemm", {5, 34816, 5120},
      "void hotproof::kernel::sm90_fp8_gemm_1x128_128x128<8, false>(hotproof::kernel::GemmParams)",
      {{512}, {{0, 5}, {4, 34816}, {8, 5120}}});
}

TEST_F(LayoutTest, AMaskedWordIsNoZeroAndNoDim) {
  Launch launch{{8, 8, 4, 4, 4, 128, 128, 128, 128}, {{16, 0}, {20, 0}, {24, 5120}}, {{16, 24}}};
  auto reading = Read(classifier_, k1d2d, launch);
  EXPECT_THAT(reading->refused, HasSubstr("m lies in bytes that were masked"));
  EXPECT_FALSE(reading->contradiction);  // nothing is known to be wrong
  EXPECT_FALSE(reading->k.has_value());
  launch.hidden.clear();  // really zero: impossible
  reading = Read(classifier_, k1d2d, launch);
  EXPECT_EQ(reading->refused, "m would be 0");
  EXPECT_TRUE(reading->contradiction);
}

TEST_F(LayoutTest, OtherParametersAreNotRead) {
  EXPECT_FALSE(Read(classifier_, k1d2d, {{8, 8, 4, 4, 4, 128, 128, 128}, {}, {}}).has_value());
  EXPECT_FALSE(Read(classifier_, k1d2d, {{}, {}, {}}).has_value());
}

TEST(Layouts, EachIsForSomeKernelAndNamesRulesThatExist) {
  const auto set = LayoutSet::Load();
  ASSERT_TRUE(set.ok()) << set.status();
  const auto rules = LoadRules();
  const auto ids = rules->RuleIds();
  const std::set<std::string> rule_ids(ids.begin(), ids.end());
  std::set<std::string> seen;
  for (const CompiledLayout& layout : set->all()) {
    EXPECT_TRUE(seen.insert(layout.id()).second) << layout.id() << " is there twice";
    for (const std::string& rule : layout.rules()) {
      EXPECT_TRUE(rule_ids.contains(rule)) << layout.id() << ": " << rule;
    }
  }
  EXPECT_GT(seen.size(), 15u);
}

TEST(Layouts, UsersAddTheirs) {
  const std::string path = ::testing::TempDir() + "/user_layouts.textproto";
  std::ofstream(path) << R"(
    rule { id: "acme" name: "acme::gemm" path: "custom" kind: "gemm" }
    layout { id: "acme.gemm" rule: "acme" parameters: "8 8 _" checked: "by hand"
      field { name: "m" parameter: 2 } field { name: "n" parameter: 2 offset: 8 bytes: 8 }
      field { name: "k" parameter: 2 offset: 4 plus: 1 } check: "k >= 128" })";
  const auto classifier = Classifier::Create(path);
  ASSERT_TRUE(classifier.ok()) << classifier.status();
  const Launch launch{{8, 8, 16}, {{16, 4}, {20, 127}, {24, 256}}, {}};
  const auto reading = Read(*classifier, "void acme::gemm(float*)", launch);
  ASSERT_TRUE(reading.has_value());
  EXPECT_EQ((Dims{*reading->m, *reading->n, *reading->k}), (Dims{4, 256, 128}));
}

TEST(Layouts, MistakesAreNamed) {
  const auto error = [](const std::string& fields) {
    const auto rules = ParseRules("layout { id: 'x' " + fields + " }", "x.textproto");
    EXPECT_TRUE(rules.ok()) << rules.status();
    LayoutSet set;
    return std::string(set.Add(*rules, "x.textproto").message());
  };
  EXPECT_THAT(error("checked: 'v1' parameters: '8'"), HasSubstr("no rule"));
  EXPECT_THAT(error("rule: 'r' parameters: '8'"), HasSubstr("not checked"));
  EXPECT_THAT(error("rule: 'r' checked: 'v1'"), HasSubstr("parameters: is empty"));
  EXPECT_THAT(error("rule: 'r' checked: 'v1' parameters: '8 x'"), HasSubstr("no parameter"));
  EXPECT_THAT(error("rule: 'r' checked: 'v1' parameters: '8*:m'"), HasSubstr("can be named"));
  EXPECT_THAT(error("rule: 'r' checked: 'v1' parameters: '8' check: 'a = b'"),
              HasSubstr("is no check"));
  EXPECT_THAT(error("rule: 'r' checked: 'v1' parameters: '4:m' check: 'mm == 8 | m'"),
              HasSubstr("nothing is called mm"));
  EXPECT_EQ(error("rule: 'r' checked: 'v1' parameters: '4:m' constant: 'one = 1' field { name: 'f' } "
                  "check: 'm <= tiles_m | one | f | grid_x'"),
            "");
  EXPECT_THAT(error("rule: 'r' checked: 'v1' parameters: '8' constant: 'm 1'"),
              HasSubstr("no constant"));
  EXPECT_THAT(error("rule: 'r' checked: 'v1' parameters: '8' field { name: 'm' bytes: 3 }"),
              HasSubstr("4 or 8 bytes"));
}

}  // namespace
}  // namespace hotproof::catalog
