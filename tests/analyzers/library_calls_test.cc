// What a report says of library calls: in words, as a row's calls, and as types and scaling of its
// operands.
#include "analyzers/library_calls.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "analyzers/report.h"
#include "catalog/rule_checks.h"
#include "tests/analyzers/fake_trace.h"

namespace hotproof::analyzers {
namespace {

report::Call Describe(const std::string& text) {
  trace::LibraryCall call;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &call)) << text;
  return DescribeCall(call);
}

// Types plus 1, as the tracer stores them.
constexpr char kBlockScaled[] =
    "entry_point: 'cublasLtMatmul' m: 96 n: 8 k: 5120 operation_a: 1 a_type: 29 b_type: 29 c_type: "
    "15 "
    "d_type: 15 compute_type: 68 scale_type: 1 a_scale_mode: 6 b_scale_mode: 5 d_scale_mode: 1 "
    "epilogue: 4";

TEST(LibraryCalls, AScaledMatmulWithABias) {
  const report::Call call = Describe(kBlockScaled);
  EXPECT_EQ(call.text(),
            "cublasLtMatmul TN e4m3 -> bf16, compute 32F, scale A BLK128x128_32F B VEC128_32F, "
            "epilogue BIAS");
  EXPECT_EQ(call.entry_point(), "cublasLtMatmul");
  EXPECT_EQ(call.operations(), "TN");
  EXPECT_EQ(call.a_dtype(), "e4m3");
  EXPECT_EQ(call.d_dtype(), "bf16");
  EXPECT_EQ(call.compute_type(), "32F");
  EXPECT_EQ(call.a_scale_mode(), "BLK128x128_32F");
  EXPECT_EQ(call.b_scale_mode(), "VEC128_32F");
  EXPECT_EQ(call.d_scale_mode(), "SCALAR_32F");
  EXPECT_EQ(call.epilogue(), "BIAS");
}

// Of a name's types and a call's there is one list: a rule may say what a report does.
TEST(LibraryCalls, TypesAreThoseThatARuleMaySay) {
  const std::vector<std::string>& names = catalog::DtypeNames();
  for (uint32_t type = 0; type < 64; ++type) {
    const std::string dtype(DtypeOfCall(type));
    EXPECT_TRUE(dtype.empty() || std::find(names.begin(), names.end(), dtype) != names.end())
        << dtype;
  }
}

TEST(LibraryCalls, WhatACallDoesNotSayIsNoWordOfIt) {
  EXPECT_EQ(
      Describe("entry_point: 'cublasSgemm_v2' operation_b: 2 a_type: 1 b_type: 1 d_type: 1").text(),
      "cublasSgemm_v2 NC fp32");
  EXPECT_EQ(Describe("entry_point: 'cublasGemmEx' a_type: 3 b_type: 15 d_type: 1 compute_type: 77")
                .text(),
            "cublasGemmEx NN fp16 x bf16 -> fp32, compute 32F_FAST_TF32");
  // Scalars and the default epilogue are what every matmul has.
  EXPECT_EQ(
      Describe("entry_point: 'cublasLtMatmul' a_type: 15 b_type: 15 d_type: 15 a_scale_mode: 1 "
               "b_scale_mode: 1 epilogue: 1")
          .text(),
      "cublasLtMatmul NN bf16");
}

TEST(LibraryCalls, AnEnumeratorOfANewerLibraryIsItsNumber) {
  const report::Call call = Describe(
      "entry_point: 'cublasLtMatmul' a_type: 99 b_type: 15 d_type: 15 compute_type: 90 "
      "b_scale_mode: 41 epilogue: 999");
  EXPECT_EQ(call.text(), "cublasLtMatmul NN, compute 90, scale B 40, epilogue 999");
  EXPECT_EQ(call.a_dtype(), "");
}

// One kernel, launched from sites with these calls (empty: in none), the first one 10 times, the
// next one 9 times, ...
report::Report ReportOf(const std::string& kernel, const std::vector<std::string>& calls) {
  tests::FakeRun run;
  std::string text =
      absl::StrCat("trace { header { pid: 7 } kernel { id: 1 name: '", kernel, "' } ");
  for (size_t i = 0; i < calls.size(); ++i) {
    absl::StrAppend(&text, "site { id: ", i + 1, " kernel_id: 1 ",
                    calls[i].empty() ? "" : absl::StrCat("library_call { ", calls[i], " }"), " } ");
    absl::StrAppend(&text, "step { launch { site: ", i + 1, " times: ", 10 - i, " } } ");
  }
  absl::StrAppend(&text, "} phase: 'all'");
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &run)) << text;
  const tests::AnalysedRun analysed = tests::Analyse(run);
  return BuildReport(analysed.processes, analysed.coverage, PhaseChoice::kAll);
}

report::Gemm OnlyRow(const report::Report& report) {
  EXPECT_EQ(report.gemms_size(), 1);
  return report.gemms_size() == 0 ? report::Gemm() : report.gemms(0);
}

constexpr char kNvjet[] = "nvjet_sm90_tst_64x8_64x16_2x1_v_bz_TNT";

TEST(LibraryCalls, CallsOfOneShapeAreOneRow) {
  const std::string plain =
      "entry_point: 'cublasGemmEx' m: 96 n: 8 k: 512 operation_a: 1 a_type: 15 b_type: 15 d_type: "
      "15 compute_type: 68 ";
  const report::Gemm row =
      OnlyRow(ReportOf(kNvjet, {plain + "lda: 512",
                                "entry_point: 'cublasLtMatmul' m: 96 n: 8 k: 512 operation_a: 1 "
                                "a_type: 15 b_type: 15 d_type: 15 "
                                "compute_type: 68 epilogue: 4",
                                plain + "lda: 1024"}));
  EXPECT_EQ(row.launches(), 27);
  ASSERT_EQ(row.calls_size(), 2);  // what a call's leading dimensions are is no other way to ask
  EXPECT_EQ(row.calls(0).text(), "cublasGemmEx TN bf16, compute 32F");
  EXPECT_EQ(row.calls(0).launches(), 18);
  EXPECT_EQ(row.calls(1).text(), "cublasLtMatmul TN bf16, compute 32F, epilogue BIAS");
  EXPECT_EQ(row.calls(1).launches(), 9);
  EXPECT_EQ(row.call(), "cublasGemmEx TN bf16, compute 32F (and 1 more)");
  EXPECT_EQ(row.d_dtype(), "bf16");
}

TEST(LibraryCalls, WhatWasLaunchedInNoCallIsInNone) {
  // The arguments are not there to tell the second site's shape: a row of its own.
  const report::Report report = ReportOf(kNvjet, {kBlockScaled, ""});
  ASSERT_EQ(report.gemms_size(), 2);
  EXPECT_EQ(report.gemms(0).calls_size(), 1);
  EXPECT_EQ(report.gemms(1).calls_size(), 0);
  EXPECT_EQ(report.gemms(1).call(), "");
}

TEST(LibraryCalls, TheCallTellsTypesAndScaling) {
  // Column-major: the library's A is the weight.
  const char kMixed[] =
      "entry_point: 'cublasLtMatmul' m: 96 n: 8 k: 512 a_type: 29 b_type: 30 d_type: 3 "
      "a_scale_mode: 1 b_scale_mode: 1 ";
  const std::string unknown_types = "ampere_imma_gemm_128x64_nt";
  report::Gemm row = OnlyRow(ReportOf(unknown_types, {kMixed}));
  EXPECT_EQ(row.a_dtype(), "e5m2");
  EXPECT_EQ(row.b_dtype(), "e4m3");
  EXPECT_EQ(row.d_dtype(), "fp16");
  EXPECT_EQ(row.operands(), "e5m2 x e4m3 tensor");
  row = OnlyRow(ReportOf(unknown_types, {absl::StrCat(kMixed, "order_d: 1")}));
  EXPECT_EQ(row.operands(), "e4m3 x e5m2 tensor");
  EXPECT_EQ(OnlyRow(ReportOf(unknown_types, {kBlockScaled})).operands(), "e4m3 block");
  const std::string rows = absl::StrReplaceAll(
      kBlockScaled,
      {{"a_scale_mode: 6", "a_scale_mode: 4"}, {"b_scale_mode: 5", "b_scale_mode: 4"}});
  EXPECT_EQ(OnlyRow(ReportOf(unknown_types, {rows})).operands(), "e4m3 token_channel");
  EXPECT_EQ(OnlyRow(ReportOf(unknown_types, {""})).operands(), "");
}

TEST(LibraryCalls, ComplexNumbersAreComplex) {
  const char kComplex[] =
      "entry_point: 'cublasCgemm_v2' m: 96 n: 8 k: 512 a_type: 5 b_type: 5 d_type: 5";
  for (const char* kernel : {"cutlass_80_simt_cgemm_64x64_8x5_nn_align1", "ampere_cgemm_64x64_nn",
                             "sm80_xmma_gemm_cf32cf32_f32f32_f32_nn_n_tilesize64x64x8_stage3"}) {
    const report::Gemm row = OnlyRow(ReportOf(kernel, {kComplex}));
    EXPECT_EQ(row.operands(), "cfp32") << kernel;
    EXPECT_EQ(row.d_dtype(), "cfp32") << kernel;
    EXPECT_EQ(row.scaling(), "none") << kernel;
  }
}

TEST(LibraryCalls, HowOperandsAreMultipliedStays) {
  const char kFast[] =
      "entry_point: 'cublasGemmEx' m: 96 n: 8 k: 512 a_type: 1 b_type: 1 d_type: 1 compute_type: "
      "77";
  EXPECT_EQ(OnlyRow(ReportOf("nvjet_sm90_sss_tf32_64x8_32x16_2x1_v_bz_TNT", {kFast})).operands(),
            "tf32");
}

}  // namespace
}  // namespace hotproof::analyzers
