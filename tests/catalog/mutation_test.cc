// Numbers and types changed at random change what they should and nothing else.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "catalog/classifier.h"
#include "tests/catalog/expectation.h"
#include "tests/catalog/spelling.h"

namespace hotproof::catalog {
namespace {

const Classifier& TheClassifier() {
  static const auto* classifier = new absl::StatusOr<Classifier>(Classifier::Create());
  return **classifier;
}

// A kernel with holes. {m} {n} {k} are extents, {t1} {t2} {t3} the tile, {A} {B} operand types, {a}
// {b} vLLM scalar type ids; {D} a type and {x1}... numbers that mean nothing for the answer.
const char* const kKernels[] = {
    "void deep_gemm::fp8_gemm_kernel_swapAB<{n}u, {k}u, {t1}u, {t2}u, {t3}u, {x1}u, {x2}u, {x3}u, "
    "{x4}u, "
    "{x5}u, deep_gemm::NormalSchedulerSwapAB<{x6}u, {x7}u, 16u, 1u, 1u, 272u, 16u>, "
    "deep_gemm::NormalSchedulerInputSwapAB>({D}*, float*, CUtensorMap_st)",
    "void deep_gemm::fp8_gemm_kernel<{n}u, {k}u, {t1}u, {t2}u, {t3}u, {x1}u, {x2}u, 128u, 128u, "
    "1u, "
    "deep_gemm::GroupedWithOffsetScheduler<{x6}u, 128u>, int>(float*)",
    "void deep_gemm::fp8_gemm_kernel<{n}u, {k}u, {t1}u, {t2}u, {t3}u, 0u, {x1}u, {x2}u, {x3}u, "
    "128u, 128u, {x4}u, true, (deep_gemm::GemmType)1>({D}*, float*, int*, unsigned int)",
    "void deep_gemm::sm90_fp8_gemm_1d2d_impl<(cute::UMMA::Major)0, {m}u, {n}u, {k}u, {x1}u, {t1}u, "
    "{t2}u, "
    "{t3}u, {x2}u, {x3}u, {x4}u, {x5}u, 128u, 256u, 2u, false, 132u, (deep_gemm::GemmType)0, {D}, "
    "deep_gemm::epilogue::transform::EpilogueIdentity>(float*)",
    "void deep_gemm::sm90_fp8_gemm_1d2d_impl<{m}u, {n}u, {k}u, {x1}u, {t1}u, {t2}u, {t3}u, {x2}u, "
    "{x3}u, 4u, "
    "128u, 256u, 2u, false, 132u, (deep_gemm::GemmType)0>(float*)",
    "void deep_gemm::sm90_fp8_gemm_1d1d_impl<{m}u, {n}u, {k}u, {x1}u, {t1}u, {t2}u, {t3}u, {x2}u, "
    "128u, 5u, "
    "128u, 256u, 2u, true, 132u, (deep_gemm::GemmType)0, {D}>(int*)",
    "void deep_gemm::sm90_bf16_gemm_impl<(cute::UMMA::Major)0, (cute::UMMA::Major)0, {m}u, {n}u, "
    "{k}u, {x1}u, "
    "{t1}u, {t2}u, {t3}u, {x2}u, 128u, 128u, 5u, 128u, 256u, 2u, false, 132u, "
    "(deep_gemm::GemmType)0, false, "
    "{D}>(int*)",
    "void cutlass::device_kernel<vllm::cutlass_3x_gemm_fp8_blockwise<{D}, {x1}, {x2}, {x3}, "
    "cute::tuple<cute::C<{t1}>, cute::C<{t2}>, cute::C<{t3}> >, cute::tuple<cute::C<{x4}>, "
    "cute::C<{x5}>, "
    "cute::C<1> >, cutlass::epilogue::TmaWarpSpecializedCooperative, "
    "cutlass::gemm::KernelTmaWarpSpecializedCooperativeFP8Blockwise, true>::GemmKernel>({D}*)",
    "void cutlass::device_kernel<vllm::cutlass_3x_gemm_sm90_fp8<{A}, {D}, "
    "vllm::c3x::ScaledEpilogue, "
    "cute::tuple<cute::C<{t1}>, cute::C<{t2}>, cute::C<{t3}> >, cute::tuple<cute::C<{x4}>, "
    "cute::C<{x5}>, "
    "cute::C<1> >, cutlass::gemm::KernelTmaWarpSpecializedPingpongFP8FastAccum, "
    "cutlass::epilogue::TmaWarpSpecialized, false>::GemmKernel>({D}*)",
    "void cutlass::device_kernel<(anonymous namespace)::cutlass_3x_group_gemm<{A}, {D}, "
    "cutlass::arch::Sm90, "
    "vllm::c3x::ScaledEpilogueArray, cute::tuple<cute::C<{t1}>, cute::C<{t2}>, cute::C<{t3}> >, "
    "cute::tuple<cute::C<{x4}>, cute::C<1>, cute::C<1> >, int, int, true>::GemmKernel>({D}*)",
    "void cutlass::Kernel2<enable_sm80_to_sm89<cutlass::gemm::kernel::DefaultGemmWithVisitor<{A}, "
    "cutlass::layout::RowMajor, (cutlass::ComplexTransform)0, {x1}, {B}, "
    "cutlass::layout::ColumnMajor, "
    "(cutlass::ComplexTransform)0, {x2}, {D}, cutlass::layout::RowMajor, 4, int, float, "
    "cutlass::arch::OpClassTensorOp, cutlass::arch::Sm80, cutlass::gemm::GemmShape<{t1}, {t2}, "
    "{t3}>, "
    "cutlass::gemm::GemmShape<{x3}, {x4}, 64>, int>::SelectBase<int, void> > >({D}*)",
    "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int, int, "
    "int>, "
    "cutlass::gemm::collective::CollectiveMma<cutlass::gemm::MainloopSm90TmaGmmaWarpSpecialized<{"
    "x1}, "
    "cute::tuple<cute::C<{x2}>, cute::C<{x3}>, cute::C<1> >, int>, cute::tuple<cute::C<{t1}>, "
    "cute::C<{t2}>, "
    "cute::C<{t3}> >, {A}, cute::tuple<long, cute::C<1>, long>, {B}, cute::tuple<long, cute::C<1>, "
    "long>, "
    "int>, cutlass::epilogue::collective::CollectiveEpilogue<int, cute::tuple<cute::C<{x4}>, "
    "cute::C<{x5}> >, "
    "{D}>, void> >({D}*)",
    "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int, int, "
    "int>, "
    "machete::MacheteCollectiveMma<cute::tuple<{B}, {D}>, machete::PrepackedLayoutBTemplate<{D}, "
    "int>, {x1}, "
    "{A}, cutlass::layout::ColumnMajor, {x2}, float, cute::tuple<cute::C<{t1}>, cute::C<{t2}>, "
    "cute::C<{t3}> "
    ">, cute::tuple<cute::C<{x3}>, cute::C<1>, cute::C<1> >, int, int>, int> >({D}*)",
    "void marlin::Marlin<{a}l, {b}l, 1125899906909960l, 1125899906909960l, {x1}, {x2}, {x3}, {x4}, "
    "false, {x5}, "
    "8, false>(int4 const*)",
    "void router_gemm_kernel_bf16_output<{A}, {x1}, {x2}, {m}, {n}, {k}>({D}*)",
    "void fused_a_gemm_kernel<{x5}, {n}, {k}, {x1}, {x2}, {x3}, {x4}>(__nv_bfloat16*)",
    ("void gemvNSP_kernel<{A}, {D}, {D}, float, {x1}, {x2}, {x3}, {x4}, false, "
     "cublasGemvParamsEx<int, cublasGemvTensorBatched<{D} const>, float> >({D}*)"),
};

const std::map<std::string, std::string> kTypes = {
    {"cutlass::bfloat16_t", "bf16"}, {"__half", "fp16"},      {"cutlass::float_e4m3_t", "e4m3"},
    {"__nv_fp8_e5m2", "e5m2"},       {"signed char", "int8"}, {"nobody::knows_t", ""}};
const std::map<std::string, std::string> kIds = {
    {"1125899906909960", "bf16"}, {"1125899906910725", "fp16"}, {"1125899906909952", "int8"},
    {"2814749767172868", "e4m3"}, {"1125899907892224", "u4b8"}, {"1125899906843648", "u4"}};

using Holes = std::map<std::string, std::string>;

class Mutation {
 public:
  explicit Mutation(std::string kernel) : kernel_(std::move(kernel)) {
    for (size_t at = kernel_.find('{'); at != std::string::npos; at = kernel_.find('{', at + 1)) {
      const std::string hole = kernel_.substr(at + 1, kernel_.find('}', at) - at - 1);
      holes_[hole] = Draw(hole);
    }
  }

  // One hole gets another value. Returns which.
  std::string Mutate() {
    auto hole = holes_.begin();
    std::advance(hole, static_cast<long>(Random(holes_.size())));
    hole->second = Draw(hole->first);
    return hole->first;
  }

  std::string Name() const {
    std::string name;
    for (size_t at = 0; at < kernel_.size();) {
      if (kernel_[at] != '{') {
        name += kernel_[at++];
        continue;
      }
      const size_t end = kernel_.find('}', at);
      name += holes_.at(kernel_.substr(at + 1, end - at - 1));
      at = end + 1;
    }
    return name;
  }

  // What the holes make of `answer`'s fields; a field without a hole stays.
  KernelClass Expected(KernelClass answer) const {
    if (holes_.contains("A")) answer.a_dtype = kTypes.at(holes_.at("A"));
    if (holes_.contains("A") && !holes_.contains("B")) answer.b_dtype = answer.a_dtype;
    if (holes_.contains("B")) answer.b_dtype = kTypes.at(holes_.at("B"));
    if (holes_.contains("a")) answer.a_dtype = kIds.at(holes_.at("a"));
    if (holes_.contains("b")) answer.b_dtype = kIds.at(holes_.at("b"));
    if (holes_.contains("t1"))
      answer.tile = holes_.at("t1") + "x" + holes_.at("t2") + "x" + holes_.at("t3");
    if (holes_.contains("m")) answer.m = std::stoll(holes_.at("m"));
    if (holes_.contains("n")) answer.n = std::stoll(holes_.at("n"));
    if (holes_.contains("k")) answer.k = std::stoll(holes_.at("k"));
    return answer;
  }

 private:
  uint64_t Random(uint64_t below) { return random_() % below; }
  static std::string Key(const std::map<std::string, std::string>& table, uint64_t at) {
    auto it = table.begin();
    std::advance(it, static_cast<long>(at));
    return it->first;
  }
  std::string Draw(const std::string& hole) {
    if (hole == "A" || hole == "B" || hole == "D") return Key(kTypes, Random(kTypes.size()));
    if (hole == "a" || hole == "b") return Key(kIds, Random(kIds.size()));
    return std::to_string(1 + Random(70000));
  }

  std::string kernel_;
  Holes holes_;
  std::mt19937_64 random_{20260102};
};

TEST(Mutation, ChangesItsFieldAndNothingElse) {
  for (const char* kernel : kKernels) {
    Mutation mutation(kernel);
    const KernelClass first = TheClassifier().Classify(mutation.Name());
    EXPECT_EQ(first.kind, Kind::kGemm) << mutation.Name();
    for (int round = 0; round < 300; ++round) {
      const std::string hole = mutation.Mutate();
      const std::string name = mutation.Name();
      for (const std::string& spelling : {name, NsysSpelling(name)}) {
        const KernelClass answer = TheClassifier().Classify(spelling);
        KernelClass expected = mutation.Expected(first);
        // Of a product on plain CUTLASS, whether its types are scaled follows from the types.
        if (hole == "A" || hole == "B" ||
            std::string(kernel).find("CollectiveMma<cutlass") != std::string::npos) {
          expected.scaling = answer.scaling;
        }
        ASSERT_EQ(FieldsOf(answer), FieldsOf(expected)) << "after {" << hole << "}: " << spelling;
      }
    }
  }
}

// Every combination of letters, and numbers at random.
TEST(Mutation, NvjetTokens) {
  const std::map<char, std::string> kLetters = {{'q', "e4m3"}, {'r', "e5m2"}, {'t', "bf16"},
                                                {'h', "fp16"}, {'s', "fp32"}, {'b', "int8"}};
  std::mt19937 random(20260103);
  for (const auto& [weight, weight_type] : kLetters) {
    for (const auto& [activation, activation_type] : kLetters) {
      for (const char output : {'t', 'h', 's', 'q'}) {
        const auto number = [&random] { return std::to_string(1 + random() % 600); };
        const std::string a = number(), b = number(), k = number();
        const std::string tail =
            a + "x" + b + "_" + k + "x" + number() + "_" + number() + "x1_v_bz_splitK_TNT";
        const auto answer = TheClassifier().Classify(std::string("nvjet_sm90_") + weight +
                                                     activation + 't' + "s" + output + "_" + tail);
        EXPECT_EQ(answer.a_dtype, activation_type);
        EXPECT_EQ(answer.b_dtype, weight_type);
        EXPECT_EQ(answer.tile, a + "x" + b + "x" + k);
        const bool fp8 = weight == 'q' || weight == 'r' || activation == 'q' || activation == 'r';
        EXPECT_EQ(answer.scaling, fp8 ? "tensor" : "none");
      }
    }
    // Three letters: the output is not an operand.
    const auto answer =
        TheClassifier().Classify(std::string("nvjet_") + weight + "sq_64x8_64x16_1x2_h_bz_TNT");
    EXPECT_EQ(answer.a_dtype, weight_type);
    EXPECT_EQ(answer.b_dtype, weight_type);
  }
}

// Whatever a functor, an epilogue or a policy is called, it does not make its kernel a product.
TEST(Mutation, WhatIsInsideIsNoEvidence) {
  const char* const kOutside[] = {
      "void at::native::vectorized_elementwise_kernel<4, {inner}, std::array<char*, 3ul> >(int)",
      "void vllm::rms_norm_kernel<{inner}, 16, 2, false>({inner}*)",
      "void somebody::run<{inner}>(int)",
      "void cutlass::device_kernel<flash::enable_sm90_or_later<{inner}> >(int)",
      "void cub::DeviceScanKernel<{inner}, int>(int)"};
  const char* const kInside[] = {
      "deep_gemm::fp8_gemm_kernel_swapAB<34816u, 5120u, 64u, 16u, 128u>",
      "vllm::cutlass_3x_gemm_sm90_fp8<cutlass::float_e4m3_t, cutlass::bfloat16_t>::GemmKernel",
      "marlin::Marlin<1125899906909960l, 2814749767172868l>",
      "nvjet_sm90_qqtst_128x128_128x6_2x1_v_bz_TNT", "hotproof::sm90_fp8_block_scaled_gemm<1>"};
  for (const std::string outside : kOutside) {
    for (const std::string inside : kInside) {
      std::string name = outside;
      for (size_t at = name.find("{inner}"); at != std::string::npos; at = name.find("{inner}")) {
        name.replace(at, 7, inside);
      }
      const auto answer = TheClassifier().Classify(name);
      EXPECT_NE(answer.kind, Kind::kGemm) << name << " by " << answer.rule;
      EXPECT_EQ(answer.a_dtype, "") << name << " by " << answer.rule;
      EXPECT_FALSE(answer.n.has_value()) << name;
    }
  }
}

}  // namespace
}  // namespace hotproof::catalog
