// Problem sizes from argument bytes: each layout on bytes placed as its library places them, and
// what is hidden or contradicts itself. (layout_nvjet_test.cc has cuBLASLt's.)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/catalog/layout_reading.h"

namespace hotproof::catalog {
namespace {

using ::testing::HasSubstr;

constexpr char kNotPersistent[] = "cutlass::gemm::KernelTmaWarpSpecialized>";

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

TEST_F(LayoutTest, DeepGemmsFirstReleasesAreGivenTheirTokens) {
  const std::string name = NameWith("deep_gemm::fp8_gemm_kernel<7168u, 2048u");
  const KernelClass kernel_class = classifier_.Classify(name);
  EXPECT_EQ(kernel_class.n, 7168);
  EXPECT_EQ(kernel_class.k, 2048);
  for (const auto& [id, launch] : std::vector<std::pair<std::string, Launch>>{
           {"deep_gemm.fp8_first", {{8, 8, 8, 4, 128, 128, 128, 128}, {{24, 96}}}},
           {"deep_gemm.fp8_first_padded", {{8, 8, 8, 4, 128, 128, 128, 256}, {{24, 96}}}},
           {"deep_gemm.fp8_first_stored", {{8, 8, 4, 128, 128, 128, 128}, {{16, 96}}}}}) {
    std::string read;
    const auto reading = Read(classifier_, name, launch, &read);
    ASSERT_TRUE(reading.has_value()) << id;
    EXPECT_EQ(read, id);
    EXPECT_EQ(reading->m, 96) << id;
  }
  const auto gradient = Read(classifier_, NameWith("deep_gemm::fp8_wgrad_gemm_kernel<7168u, 4096u"),
                             {{4, 128, 128, 128, 128, 128}, {{0, 8192}}});
  ASSERT_TRUE(gradient.has_value());
  EXPECT_EQ(gradient->k, 8192);
  // Two numbers stand there in dpsk::gemm, whose source is not public.
  EXPECT_FALSE(Read(classifier_, name, {{8, 8, 8, 4, 4, 128, 128, 128, 128}, {}}).has_value());
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
  Expect("cutlass_vllm.swapped_not_persistent", {1, 2000, 832},
         With(not_persistent, "ScaledEpilogue", "ScaledEpilogueAzp"),
         {{1536}, {{0, 2000}, {4, 1}, {8, 832}, {12, 1}}, {}, {32, 1, 1}});
  EXPECT_TRUE(Read(classifier_, not_persistent,
                   {{1536}, {{0, 2000}, {4, 1}, {8, 832}, {12, 7}}, {}, {32, 1, 7}})
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
  ASSERT_FALSE(kernel_class.tile.empty());
  launch.words[3].second = 5;
  const auto reading = Read(classifier_, name, launch);
  EXPECT_TRUE(reading->contradiction);
  EXPECT_THAT(reading->refused, HasSubstr("grid_tiles_m == tiles_m"));
}

// Of an H200 run of sgl-kernel: one row, whose scale is a single number, times columns with one
// each. The weight comes first where operands are exchanged.
TEST_F(LayoutTest, ScalesOfTheKernelsOwnAComeFirst) {
  const std::string swapped =
      "void cutlass::device_kernel<cutlass_3x_gemm_sm90_fp8<cutlass::float_e4m3_t, "
      "cutlass::bfloat16_t, "
      "c3x::ScaledEpilogueColumnBias, cute::tuple<cute::C<64>, cute::C<16>, cute::C<256> >, "
      "cute::tuple<cute::C<1>, cute::C<2>, cute::C<1> >, "
      "cutlass::gemm::KernelTmaWarpSpecializedFP8FastAccum, "
      "cutlass::epilogue::TmaWarpSpecialized, true>::GemmKernel>(Params)";
  Launch launch{{1536},
                {{0, 2000}, {4, 1}, {8, 832}, {12, 1}, {776, 0x5a01}, {792, 0x5a00}},
                {{768, 776}, {784, 792}},
                {32, 1, 1}};
  Expect("cutlass_vllm.scaled_swapped_not_persistent", {1, 2000, 832}, swapped, launch);
  auto reading = Read(classifier_, swapped, launch);
  EXPECT_EQ(reading->a_has_scales, false);
  EXPECT_EQ(reading->b_has_scales, true);
  // An epilogue that is not known to have them there.
  reading = Read(classifier_, With(swapped, "ColumnBias", "BiasAzp"), launch);
  EXPECT_EQ(reading->a_has_scales, std::nullopt);
  EXPECT_EQ(reading->m, 1);
  launch.hidden.pop_back();
  reading = Read(classifier_, swapped, launch);
  EXPECT_EQ(reading->a_has_scales, std::nullopt);
  EXPECT_EQ(reading->b_has_scales, true);
  EXPECT_EQ(reading->m, 1);

  const std::string persistent = With(swapped, "KernelTmaWarpSpecializedFP8FastAccum",
                                      "KernelTmaWarpSpecializedPingpongFP8FastAccum");
  launch.words = {{0, 0}, {4, 2000}, {8, 1}, {12, 832}, {16, 1}, {776, 1}};
  Expect("cutlass_vllm.scaled_swapped", {1, 2000, 832}, persistent, launch);
  EXPECT_EQ(Read(classifier_, persistent, launch)->b_has_scales, true);
  const std::string plain = With(persistent, ", true>", ", false>");
  Expect("cutlass_vllm.scaled", {2000, 1, 832}, plain, launch);
  EXPECT_EQ(Read(classifier_, plain, launch)->a_has_scales, true);
}

// Of an H200 run: without the tile scheduler of persistent kernels there is no mode in front.
TEST_F(LayoutTest, CutlassThatIsNotPersistent) {
  const std::string name =
      "void cutlass::device_kernel<vllm::cutlass_3x_gemm<signed char, cutlass::bfloat16_t, "
      "vllm::c3x::ScaledEpilogue, cute::tuple<cute::C<64>, cute::C<64>, cute::C<256> >, "
      "cute::tuple<cute::C<1>, cute::C<1>, cute::C<1> >, cutlass::gemm::KernelTmaWarpSpecialized, "
      "cutlass::epilogue::TmaWarpSpecialized>::GemmKernel>(Params)";
  const Launch launch{{1536}, {{0, 41}, {4, 3888}, {8, 304}, {12, 1}}, {}, {1, 61, 1}};
  Expect("cutlass_vllm.not_persistent", {41, 3888, 304},
         With(name, "ScaledEpilogue", "ScaledEpilogueAzp"), launch);
  Expect("cutlass_vllm.scaled_not_persistent", {41, 3888, 304}, name, launch);
}

// Grids of H200 runs, some rounded up to clusters: their shapes stay, extents that need more tiles
// than there are CTAs do not. (Of two layouts that refuse a launch the first gives the reason,
// which may be that of persistent kernels.)
TEST_F(LayoutTest, CutlassThatIsNotPersistentIsCheckedAgainstItsGrid) {
  struct Case {
    int first, second, batch;
    std::array<uint32_t, 3> grid;
  };
  const auto is_read = [this](const std::string& name, const Case& c) {
    const auto reading =
        Read(classifier_, name,
             {{1536}, {{0, c.first}, {4, c.second}, {8, 304}, {12, c.batch}}, {}, c.grid});
    EXPECT_TRUE(reading.has_value()) << name;
    EXPECT_NE(reading->contradiction, reading->m.has_value());
    return !reading->contradiction;
  };
  const std::string plain =
      "void cutlass::device_kernel<vllm::cutlass_3x_gemm<signed char, cutlass::bfloat16_t, "
      "vllm::c3x::ScaledEpilogue, cute::tuple<cute::C<64>, cute::C<64>, cute::C<256> >, "
      "cute::tuple<cute::C<1>, cute::C<8>, cute::C<1> >, cutlass::gemm::KernelTmaWarpSpecialized, "
      "cutlass::epilogue::TmaWarpSpecialized>::GemmKernel>(Params)";
  ASSERT_EQ(classifier_.Classify(plain).tile, "64x64x256");
  EXPECT_TRUE(is_read(plain, {1, 3808, 1, {1, 64, 1}}));
  EXPECT_TRUE(is_read(plain, {60, 2480, 1, {1, 39, 1}}));
  EXPECT_FALSE(is_read(plain, {65, 2480, 1, {1, 39, 1}}));
  EXPECT_FALSE(is_read(plain, {60, 2497, 1, {1, 39, 1}}));
  EXPECT_FALSE(is_read(plain, {60, 2480, 1, {1, 39, 2}}));

  const std::string swapped =
      "cutlass::device_kernel<vllm::cutlass_3x_gemm_sm90_fp8<cutlass::float_e4m3_t, "
      "cutlass::bfloat16_t, vllm::c3x::ScaledEpilogue, cute::tuple<cute::C<64>, cute::C<16>, "
      "cute::C<256>>, cute::tuple<cute::C<1>, cute::C<2>, cute::C<1>>, "
      "cutlass::gemm::KernelTmaWarpSpecializedFP8FastAccum, "
      "cutlass::epilogue::TmaWarpSpecialized, true>::GemmKernel>";
  ASSERT_EQ(classifier_.Classify(swapped).tile, "64x16x256");
  EXPECT_TRUE(is_read(swapped, {464, 15, 1, {8, 2, 1}}));
  EXPECT_TRUE(is_read(swapped, {3568, 1, 1, {56, 1, 1}}));
  EXPECT_FALSE(is_read(swapped, {3585, 1, 1, {56, 1, 1}}));
  EXPECT_FALSE(is_read(swapped, {3568, 17, 1, {56, 1, 1}}));

  const std::string anyones = NameWith(kNotPersistent);
  ASSERT_EQ(classifier_.Classify(anyones).tile.substr(0, 3), "64x") << "another name, other tiles";
  EXPECT_TRUE(is_read(anyones, {64, 8, 1, {1, 1, 1}}));
  EXPECT_FALSE(is_read(anyones, {65, 8, 1, {1, 1, 1}}));
  const std::string batched =
      With(anyones, "cute::tuple<int, int, int>", "cute::tuple<int, int, int, int>");
  EXPECT_TRUE(is_read(batched, {64, 8, 5, {1, 1, 5}}));
  EXPECT_FALSE(is_read(batched, {64, 8, 5, {1, 1, 4}}));
}

// M = 2 in the place of a mode would be 'batched'.
TEST_F(LayoutTest, CutlassOfAnyLibraryThatIsNotPersistent) {
  const std::string name = NameWith(kNotPersistent);
  const Launch launch{{1536}, {{0, 2}, {4, 1024}, {8, 512}, {12, 1}}, {}, {1, 16, 1}};
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

}  // namespace
}  // namespace hotproof::catalog
