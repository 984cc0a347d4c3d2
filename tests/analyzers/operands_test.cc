// What a report says of the types and scaling of a GEMM: by its name, by its arguments, and what
// nothing tells.
#include "analyzers/operands.h"

#include <gtest/gtest.h>

#include <cstring>

#include "analyzers/report.h"
#include "tests/analyzers/fake_trace.h"

namespace hotproof::analyzers {
namespace {

// vLLM's CUTLASS with scales in the epilogue: one kernel for vectors and for single numbers. As
// recorded on an H200.
constexpr char kScaledMm[] =
    "_ZN7cutlass13device_kernelIN4vllm24cutlass_3x_gemm_sm90_fp8INS_12float_e4m3_tENS_10bfloat16_"
    "tENS1_3c3x14ScaledEpilogueEN4cute5tupleIJNS7_1CILi128EEESA_SA_EEENS8_IJNS9_ILi2EEENS9_"
    "ILi1EEESD_EEENS_"
    "4gemm44KernelTmaWarpSpecializedPingpongFP8FastAccumENS_"
    "8epilogue18TmaWarpSpecializedELb0EE10GemmKernelEEEvNT_"
    "6ParamsE";
constexpr uint32_t kFirst = 112, kBytes = 1792, kScalesOfA = 768,
                   kScalesOfB = 784;  // in the struct at kFirst

trace::Site ScaledMm(unsigned char a_vector, unsigned char b_vector) {
  trace::Site site;
  std::string arguments(kFirst + kBytes, '\x5a');  // leftovers
  const auto put = [&](uint32_t offset, auto value) {
    std::memcpy(arguments.data() + kFirst + offset, &value, sizeof value);
  };
  const int32_t problem[] = {0, 96, 1024, 512, 1};  // mode, M, N, K, L
  for (uint32_t i = 0; i < std::size(problem); ++i) put(4 * i, problem[i]);
  for (const auto& [address, vector] : {std::pair(kScalesOfA, a_vector), {kScalesOfB, b_vector}}) {
    put(address, uint64_t{0});
    put(address + 8, vector);  // its other bytes are padding
    site.add_masked_offsets(kFirst + address);
  }
  site.set_arguments(arguments);
  return site;
}

report::Gemm RowOf(const std::string& kernel, std::vector<trace::Site> sites) {
  tests::FakeRun run;
  run.set_phase("all");
  auto* trace = run.add_trace();
  trace->mutable_header()->set_pid(7);
  trace::Kernel* entry = trace->add_kernel();
  entry->set_id(1);
  entry->set_name(kernel);
  entry->add_parameter_offsets(kFirst);
  entry->add_parameter_sizes(kBytes);
  for (size_t i = 0; i < sites.size(); ++i) {
    trace::Site* site = trace->add_site();
    *site = sites[i];
    site->set_id(static_cast<uint32_t>(i + 1));
    site->set_kernel_id(1);
    trace->add_step()->mutable_launch()->set_site(site->id());
  }
  const tests::AnalysedRun analysed = tests::Analyse(run);
  const report::Report report =
      BuildReport(analysed.processes, analysed.coverage, PhaseChoice::kAll);
  EXPECT_EQ(report.gemms_size(), 1);
  return report.gemms_size() == 0 ? report::Gemm() : report.gemms(0);
}

TEST(Operands, AVectorOfScalesAndOneNumberAreToldApart) {
  const report::Gemm row = RowOf(kScaledMm, {ScaledMm(0, 0)});
  EXPECT_EQ(row.m(), 96u);
  EXPECT_EQ(row.operands(), "e4m3 tensor");
  EXPECT_EQ(row.d_dtype(), "bf16");
  EXPECT_EQ(RowOf(kScaledMm, {ScaledMm(1, 1)}).scaling(), "token_channel");
  EXPECT_EQ(RowOf(kScaledMm, {ScaledMm(1, 0)}).scaling(), "token");
  EXPECT_EQ(RowOf(kScaledMm, {ScaledMm(0, 1)}).scaling(), "channel");
}

TEST(Operands, WhatIsNotThereTellsNothing) {
  constexpr char kEither[] = "tensor or token_channel";
  // Neither of two numbers: this is not the bool.
  EXPECT_EQ(RowOf(kScaledMm, {ScaledMm(1, 2)}).scaling(), kEither);
  // No address lies before it: another struct than the one that is known.
  trace::Site site = ScaledMm(0, 0);
  site.clear_masked_offsets();
  report::Gemm row = RowOf(kScaledMm, {site});
  EXPECT_EQ(row.scaling(), kEither);
  EXPECT_EQ(row.m(), 96u);
  // Its bytes were not kept.
  site = ScaledMm(0, 0);
  site.add_masked_offsets(kFirst + kScalesOfA + 8);
  EXPECT_EQ(RowOf(kScaledMm, {site}).scaling(), kEither);
  site = ScaledMm(0, 0);
  site.mutable_arguments()->resize(kFirst + 20);
  row = RowOf(kScaledMm, {site});
  EXPECT_EQ(row.scaling(), kEither);
  EXPECT_EQ(row.k(), 512u);
}

TEST(Operands, ARowOfBothSaysSo) {
  EXPECT_EQ(RowOf(kScaledMm, {ScaledMm(1, 1), ScaledMm(0, 0)}).scaling(),
            "tensor and token_channel");
  EXPECT_EQ(RowOf(kScaledMm, {ScaledMm(1, 1), ScaledMm(1, 2)}).scaling(),
            "tensor or token_channel");
}

TEST(Operands, TypesThatANameDoesNotSayAreUnknown) {
  const report::Gemm row = RowOf("scaled_mm_kernel", {trace::Site()});
  EXPECT_EQ(row.path(), "triton");
  EXPECT_EQ(row.a_dtype(), "");
  EXPECT_EQ(row.operands(), "? tensor or token_channel");
}

TEST(Operands, NamesThatSayTheOutputsType) {
  EXPECT_EQ(RowOf("nvjet_sm90_qqtst_64x8_64x16_2x1_v_bz_TNT", {trace::Site()}).d_dtype(), "bf16");
  EXPECT_EQ(RowOf("nvjet_sm90_hss_64x8_64x16_2x1_v_bz_TNT", {trace::Site()}).d_dtype(), "fp32");
  EXPECT_EQ(
      RowOf(
          "void deep_gemm::sm90_fp8_gemm_1d2d_impl<(cute::UMMA::Major)0, 0u, 14336u, 5120u, 1u, "
          "16u, 112u, "
          "128u, 128u, 128u, 32u, 13u, 128u, 128u, 1u, false, 132u, (deep_gemm::GemmType)0, float, "
          "deep_gemm::epilogue::transform::EpilogueIdentity>(float*)",
          {trace::Site()})
          .d_dtype(),
      "fp32");
}

}  // namespace
}  // namespace hotproof::analyzers
