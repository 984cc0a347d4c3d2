// Two runs side by side.
#include "analyzers/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/analyzers/assert_helpers.h"

namespace hotproof::tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

report::Comparison Compare(const std::string& before, const std::string& after) {
  const AnalysedRun a = Analyse(ParseRun(before)), b = Analyse(ParseRun(after));
  return analyzers::CompareRuns({"old", a.processes, a.coverage}, {"new", b.processes, b.coverage},
                                analyzers::PhaseChoice::kAll);
}

// Two kernels that compute the same shape, by their names.
constexpr char kFlashinfer[] =
    "void deep_gemm::fp8_gemm_kernel_swapAB<34816u, 5120u, 128u, 16u, 128u, 1u, 8u, 128u, 128u, "
    "1u, "
    "deep_gemm::NormalSchedulerSwapAB<34816u, 128u, 16u, 1u, 1u, 272u, 16u>, "
    "deep_gemm::NormalSchedulerInputSwapAB>(__nv_bfloat16*, float*, "
    "deep_gemm::NormalSchedulerInputSwapAB, "
    "CUtensorMap_st, CUtensorMap_st, CUtensorMap_st, CUtensorMap_st)";
constexpr char kDeepGemm[] =
    "deep_gemm::sm90_fp8_gemm_1d2d_impl<(cute::UMMA::Major)0, 0u, 34816u, 5120u, 1u, 16u, 144u, "
    "128u, 128u, "
    "128u, 32u, 11u, 128u, 128u, 2u, false, 132u, (deep_gemm::GemmType)0, cutlass::bfloat16_t, "
    "deep_gemm::epilogue::transform::EpilogueIdentity>";
std::string Of(const std::string& kernel, const std::string& launches) {
  return Trace(
      absl::StrCat("kernel { id: 1 name: \"", kernel,
                   "\" } kernel { id: 2 name: 'k_quantize_fp8' } site { id: 1 kernel_id: 1 } "
                   "site { id: 2 kernel_id: 2 } ",
                   launches));
}

TEST(Compare, TheSameRunTwiceHasNoDifference) {
  const std::string run =
      Of(kFlashinfer, "step { launch { site: 1 times: 10 duration_ns: 5000 } }");
  const report::Comparison same = Compare(run, run);
  ASSERT_EQ(same.gemms_size(), 1);
  const report::Change& gemm = same.gemms(0);
  EXPECT_EQ(gemm.n(), 34816u);
  EXPECT_FALSE(gemm.has_m());
  EXPECT_EQ(gemm.path(), "flashinfer");
  EXPECT_FALSE(gemm.path_changed());
  EXPECT_EQ(gemm.before_launches(), 10);
  EXPECT_EQ(gemm.after_launches(), 10);
  EXPECT_EQ(gemm.median_ratio(), 1);
  EXPECT_EQ(gemm.difference_ns(), 0);
  EXPECT_EQ(gemm.time_ratio(), 1);
  EXPECT_THAT(gemm.notes(), IsEmpty());
  EXPECT_TRUE(same.sides(0).counts_exact() && same.sides(0).times_exact());
}

TEST(Compare, WhatRanInOneAloneIsZeroInTheOther) {
  const report::Comparison result =
      Compare(Of(kFlashinfer, "step { launch { site: 1 times: 10 duration_ns: 5000 } }"),
              Of(kFlashinfer, "step { launch { site: 2 times: 4 duration_ns: 2000 } }"));
  ASSERT_EQ(result.gemms_size(), 1);
  EXPECT_EQ(result.gemms(0).before_launches(), 10);
  EXPECT_EQ(result.gemms(0).after_launches(), 0);
  EXPECT_EQ(result.gemms(0).difference_ns(), -50000);
  EXPECT_FALSE(result.gemms(0).has_after_median_ns());
  EXPECT_FALSE(result.gemms(0).has_median_ratio());
  ASSERT_EQ(result.kinds_size(), 2);
  EXPECT_EQ(result.kinds(1).kind(), "quant");
  EXPECT_EQ(result.kinds(1).difference_ns(), 8000);
  ASSERT_EQ(result.paths_size(), 1);
  EXPECT_EQ(result.paths(0).path(), "flashinfer");
}

TEST(Compare, AShapeThatTookAnotherPathIsOneRow) {
  const report::Comparison result =
      Compare(Of(kFlashinfer, "step { launch { site: 1 times: 10 duration_ns: 5000 } }"),
              Of(kDeepGemm, "step { launch { site: 1 times: 20 duration_ns: 10000 } }"));
  ASSERT_EQ(result.gemms_size(), 1);
  const report::Change& gemm = result.gemms(0);
  EXPECT_EQ(gemm.path(), "flashinfer -> deep_gemm");
  EXPECT_TRUE(gemm.path_changed());
  EXPECT_NEAR(gemm.before_median_ns(), 5000, 5000 / 128.0);
  EXPECT_NEAR(gemm.after_median_ns(), 10000, 10000 / 128.0);
  EXPECT_NEAR(gemm.median_ratio(), 2, 2 / 64.0);
  EXPECT_EQ(gemm.difference_ns(), 150000);
  EXPECT_EQ(gemm.time_ratio(), 4);
  ASSERT_EQ(result.paths_size(), 2);
  EXPECT_EQ(result.paths(0).path(), "deep_gemm") << "longest first";
  EXPECT_EQ(result.paths(0).difference_ns(), 200000);
  EXPECT_EQ(result.paths(1).difference_ns(), -50000);
}

TEST(Compare, TimesOfFewerLaunchesAreNotCompared) {
  const std::string whole =
      Of(kFlashinfer, "step { launch { site: 1 times: 10 duration_ns: 5000 } }");
  const std::string cut =
      Of(kFlashinfer,
         "step { launch { site: 1 times: 4 duration_ns: 5000 } } "
         "step { launch { site: 1 times: 6 unrecorded: true } } no_footer: true");
  const report::Comparison result = Compare(whole, cut);
  const report::Change& gemm = result.gemms(0);
  EXPECT_EQ(gemm.after_launches(), 10);
  EXPECT_EQ(gemm.after_timed_launches(), 4);
  EXPECT_EQ(gemm.median_ratio(), 1);
  EXPECT_FALSE(gemm.has_difference_ns());
  EXPECT_FALSE(gemm.has_time_ratio());
  EXPECT_FALSE(gemm.after_at_least()) << "the counters tell all launches";
  EXPECT_EQ(result.sides(1).state(), report::Completeness::LOWER_BOUND);
  EXPECT_TRUE(result.sides(1).counts_exact());
  EXPECT_FALSE(result.sides(1).times_exact());
  EXPECT_THAT(result.sides(1).caveats(), testing::Contains(HasSubstr("LOWER BOUND for times")));
}

TEST(Compare, AFewLongLaunchesAreSaid) {
  const std::string whole =
      Of(kFlashinfer, "step { launch { site: 1 times: 10 duration_ns: 5000 } }");
  const std::string stalled = Of(kFlashinfer,
                                 "step { launch { site: 1 times: 9 duration_ns: 5000 } } "
                                 "step { launch { site: 1 duration_ns: 55000 } }");
  const report::Comparison result = Compare(whole, stalled);
  EXPECT_THAT(result.gemms(0).notes(), ElementsAre("B: mean 10.00 us"));
  EXPECT_EQ(result.gemms(0).after_mean_ns(), 10000);
  EXPECT_EQ(result.gemms(0).median_ratio(), 1);
}

TEST(Compare, WhatHasNoPhaseIsNotHeldAgainstOneOfThem) {
  const AnalysedRun server = Analyse(ParseRun(Trace(kServer)));
  const AnalysedRun eager =
      Analyse(ParseRun(Of(kFlashinfer, "step { launch { site: 1 times: 10 } }")));
  const auto compare = [](const AnalysedRun& a, const AnalysedRun& b) {
    return analyzers::CompareRuns({"a", a.processes, a.coverage}, {"b", b.processes, b.coverage},
                                  analyzers::PhaseChoice::kSteady);
  };
  const report::Comparison mixed = compare(server, eager);
  EXPECT_EQ(mixed.gemms(0).before_launches(), 256);
  EXPECT_FALSE(mixed.gemms(0).has_difference_ns());
  EXPECT_THAT(mixed.sides(1).caveats(), testing::Contains(HasSubstr("use --phase all")));
  EXPECT_THAT(mixed.sides(0).caveats(), IsEmpty());
  EXPECT_EQ(compare(eager, eager).gemms(0).difference_ns(), 0);
}

TEST(Compare, OtherDevicesAreSaid) {
  const std::string launch = "step { launch { site: 1 times: 10 } }";
  const std::string h100 =
      Of(kFlashinfer, "header { devices { id: 0 name: 'NVIDIA H100' } }" + launch);
  const std::string h200 =
      Of(kFlashinfer, "header { devices { id: 0 name: 'NVIDIA H200' } }" + launch);
  EXPECT_THAT(Compare(h100, h200).sides(0).caveats(), ElementsAre("on NVIDIA H100"));
  EXPECT_THAT(Compare(h200, h200).sides(0).caveats(), IsEmpty());
  EXPECT_THAT(Compare(h200, Of(kFlashinfer, launch)).sides(0).caveats(), IsEmpty())
      << "where a side has no device there is nothing to tell apart";
}

TEST(Compare, AGpuProcessWithoutATraceLeavesNoDifference) {
  const std::string run = Of(kFlashinfer, "step { launch { site: 1 times: 10 } }");
  const report::Comparison result =
      Compare(run, run +
                       "manifest { finished: true processes { pid: 100 gpu: true } processes { "
                       "pid: 7 gpu: true } }");
  EXPECT_FALSE(result.gemms(0).has_difference_ns());
  EXPECT_EQ(result.sides(1).coverage(), report::Process::PARTIAL);
  EXPECT_THAT(result.sides(1).caveats(), ElementsAre(HasSubstr("pid 7")));
  EXPECT_EQ(result.sides(1).state(), report::Completeness::NOT_COLLECTED);
  EXPECT_EQ(result.sides(1).launches(), 10);
  EXPECT_TRUE(result.sides(1).at_least());
  EXPECT_TRUE(result.gemms(0).after_at_least());
  EXPECT_FALSE(result.gemms(0).before_at_least());
  EXPECT_FALSE(result.counts_exact());
}

// The process that used the GPU has no trace, an API server beside it that launched nothing has
// one.
constexpr char kBesideIt[] =
    "manifest { finished: true processes { pid: 100 gpu: true traced: true } processes { "
    "pid: 7 gpu: true } }";

TEST(Compare, WhatWasNotCollectedIsNotSaidNotToHaveRun) {
  const std::string engine =
      Of(kFlashinfer, "step { launch { site: 1 times: 10 } } step { launch { site: 2 times: 4 } }");
  const report::Comparison result = Compare(engine, Of(kFlashinfer, "") + kBesideIt);
  const report::Side& side = result.sides(1);
  EXPECT_EQ(side.state(), report::Completeness::NOT_COLLECTED);
  EXPECT_EQ(side.coverage(), report::Process::PARTIAL);
  EXPECT_FALSE(side.has_launches());
  EXPECT_FALSE(side.counts_exact());
  EXPECT_FALSE(side.at_least());
  ASSERT_EQ(result.kinds_size(), 2);
  for (const report::Change* row : {&result.gemms(0), &result.paths(0), &result.kinds(0)}) {
    EXPECT_TRUE(row->has_before_launches());
    EXPECT_FALSE(row->has_after_launches()) << row->DebugString();
    EXPECT_FALSE(row->has_difference_ns());
  }
}

TEST(Compare, AFewLaunchesOfAKindDoNotMakeTheOthersZero) {
  const std::string engine =
      Of(kFlashinfer, "step { launch { site: 1 times: 10 } } step { launch { site: 2 times: 4 } }");
  const report::Comparison result =
      Compare(engine, Of(kFlashinfer, "step { launch { site: 2 } }") + kBesideIt);
  EXPECT_EQ(result.sides(1).launches(), 1);
  EXPECT_TRUE(result.sides(1).at_least());
  EXPECT_FALSE(result.gemms(0).has_after_launches());
  ASSERT_EQ(result.kinds_size(), 2);
  EXPECT_EQ(result.kinds(1).kind(), "quant");
  EXPECT_EQ(result.kinds(1).after_launches(), 1);
  EXPECT_TRUE(result.kinds(1).after_at_least());
}

TEST(Compare, ATraceThatHoldsNothingIsNoFullCoverage) {
  const std::string blind =
      "trace { problem { kind: PROBLEM_OTHER_SUBSCRIBER } } manifest { finished: true processes { "
      "pid: 100 gpu: true traced: true } }";
  const report::Comparison result = Compare(blind, blind);
  for (const report::Side& side : result.sides()) {
    EXPECT_EQ(side.state(), report::Completeness::NOT_COLLECTED);
    EXPECT_EQ(side.coverage(), report::Process::PARTIAL);
    EXPECT_FALSE(side.has_launches());
  }
  EXPECT_FALSE(result.counts_exact());
}

TEST(Compare, GemmsOfUnknownShapeAreToldApartByTheirKernels) {
  const std::string run = Trace(
      "kernel { id: 1 name: 'my_fp8_gemm' } kernel { id: 2 name: 'other_gemm' } "
      "site { id: 1 kernel_id: 1 } site { id: 2 kernel_id: 2 } "
      "step { launch { site: 1 times: 3 } } step { launch { site: 2 } }");
  const report::Comparison result = Compare(run, run);
  ASSERT_EQ(result.gemms_size(), 2);
  EXPECT_EQ(result.gemms(0).kernel(), "my_fp8_gemm");
  EXPECT_EQ(result.gemms(1).kernel(), "other_gemm");
  const report::Comparison known = Compare(Of(kFlashinfer, "step { launch { site: 1 } }"), run);
  ASSERT_EQ(known.gemms_size(), 3);
  for (const report::Change& row : known.gemms()) {
    EXPECT_EQ(row.kernel().empty(), row.has_n());  // a known shape, whichever kernel computes it
  }
}

TEST(Compare, WhereNothingRanThatIsKnown) {
  const report::Comparison result = Compare(Of(kFlashinfer, ""), Of(kFlashinfer, ""));
  EXPECT_TRUE(result.counts_exact());
  EXPECT_TRUE(result.sides(0).has_launches());
  EXPECT_EQ(result.sides(0).launches(), 0);
}

}  // namespace
}  // namespace hotproof::tests
