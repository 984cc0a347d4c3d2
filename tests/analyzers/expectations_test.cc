// What `assert` says of whole runs.
#include "analyzers/expectations.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/analyzers/fake_trace.h"

namespace hotproof::tests {
namespace {

using analyzers::CompileExpectations;
using report::AssertReport;
using testing::HasSubstr;

// A process that serves with FlashInfer's GEMM in steady replays after two eager warm-up launches
// of the custom kernel; one captured node of another kernel is never replayed.
const char* const kServer = R"trace(
  kernel { id: 1 name: "void deep_gemm::fp8_gemm_kernel_swapAB<34816u, 5120u, 128u, 16u, 128u, 1u, 8u, 128u, 128u, 1u, deep_gemm::NormalSchedulerSwapAB<34816u, 128u, 16u, 1u, 1u, 272u, 16u>, deep_gemm::NormalSchedulerInputSwapAB>(__nv_bfloat16*, float*, deep_gemm::NormalSchedulerInputSwapAB, CUtensorMap_st, CUtensorMap_st, CUtensorMap_st, CUtensorMap_st)" }
  kernel { id: 2 name: "my_fp8_splitk_kernel" }
  kernel { id: 3 name: "nvjet_sm90_tst_512x8_64x3_2x1_v_bz_TNT" }
  kernel { id: 4 name: "captured_only_kernel" }
  site { id: 1 kernel_id: 1 captured: true } site { id: 2 kernel_id: 2 } site { id: 3 kernel_id: 3 }
  site { id: 4 kernel_id: 4 captured: true }
  graph { id: 1 node_site: 1 node_site: 1 }
  graph { id: 2 node_site: 4 }
  step { launch { site: 2 times: 2 } }
  step { snapshot { reason: SNAPSHOT_REASON_END_CAPTURE } }
  step { snapshot { reason: SNAPSHOT_REASON_FIRST_REPLAY graph_id: 1 } }
  step { launch { graph: 1 times: 128 } }
)trace";
// The same with an eager GEMM of unknown shape in steady.
const std::string kUnknownShape = std::string(kServer) + "step { launch { site: 3 times: 5 } }";

std::string Trace(const std::string& text) { return "trace { " + text + " }"; }

AssertReport Check(const std::string& run, const std::string& expectations) {
  expectations::Expectations source;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(expectations, &source));
  const auto compiled = CompileExpectations(source);
  EXPECT_TRUE(compiled.ok()) << compiled.status();
  const AnalysedRun analysed = Analyse(ParseRun(run));
  return analyzers::CheckExpectations(*compiled, analysed.processes, analysed.coverage);
}

std::string Error(const std::string& expectations) {
  expectations::Expectations source;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(expectations, &source));
  const auto compiled = CompileExpectations(source);
  return compiled.ok() ? "" : std::string(compiled.status().message());
}

TEST(Assert, LaunchesInSteadyOnly) {
  const AssertReport never =
      Check(Trace(kServer), R"(expect { kernel: "my_fp8" max_launches: 0 })");
  EXPECT_EQ(never.verdict(), AssertReport::PASS) << "launches in warm-up are none in serving";
  const AssertReport all =
      Check(Trace(kServer), R"(expect { kernel: "my_fp8" launches: 2 } phase: ALL)");
  EXPECT_EQ(all.verdict(), AssertReport::PASS);
}

// A library's kernel (cubin 17), the same name of another library (18), one whose cubin is not
// known and one that may be the library's PTX, compiled by the driver (19).
const std::string kModules = R"trace(
  kernel { id: 1 name: "my_fp8_gemm" cubin_hash: 17 } kernel { id: 2 name: "my_fp8_gemm" cubin_hash: 18 }
  kernel { id: 3 name: "mystery" } kernel { id: 4 name: "from_ptx" cubin_hash: 19 }
  site { id: 1 kernel_id: 1 launching_library: "/a/app" } site { id: 2 kernel_id: 2 launching_library: "/a/app" }
  site { id: 3 kernel_id: 3 launching_library: "/a/app" } site { id: 4 kernel_id: 4 launching_library: "/a/app" }
  step { launch { site: 1 times: 7 } } step { launch { site: 2 times: 5 } }
)trace";
std::string OfCode(const std::string& code, const std::string& bounds) {
  return "expect { cubin_of: \"my.so\" device_code { " + code + " } " + bounds + " } phase: ALL";
}

TEST(Assert, CubinsTellWhoseKernelItIs) {
  const std::string ours = "cubin_hashes: 17 cubin_hashes: 99";
  const AssertReport report = Check(Trace(kModules), OfCode(ours, "launches: 7"));
  EXPECT_EQ(report.verdict(), AssertReport::PASS);
  EXPECT_THAT(report.checks(0).expectation(), HasSubstr("cubin of my.so"));
  EXPECT_EQ(Check(Trace(kModules), OfCode(ours, "min_launches: 8")).verdict(), AssertReport::FAIL);
  EXPECT_EQ(Check(Trace(kModules), OfCode("cubin_hashes: 99", "max_launches: 0")).verdict(),
            AssertReport::PASS);
  EXPECT_EQ(Check(Trace(kModules), OfCode(ours, "kernel: \"other\" max_launches: 0")).verdict(),
            AssertReport::PASS);
  EXPECT_THAT(Error("expect { cubin_of: \"my.so\" launches: 1 }"), HasSubstr("was not read"));
}

TEST(Assert, ACubinThatIsNotKnownMayBeOfTheFile) {
  const std::string ours = "cubin_hashes: 17";
  const std::string unknown = Trace(kModules + "step { launch { site: 3 times: 2 } }");
  const AssertReport report = Check(unknown, OfCode(ours, "min_launches: 8"));
  EXPECT_EQ(report.verdict(), AssertReport::INCONCLUSIVE);
  EXPECT_THAT(report.checks(0).reason(), HasSubstr("2 more launches of unknown cubin"));
  EXPECT_EQ(Check(unknown, OfCode(ours, "min_launches: 7")).verdict(), AssertReport::PASS);

  const std::string compiled = Trace(kModules + "step { launch { site: 4 times: 2 } }");
  EXPECT_EQ(Check(compiled, OfCode(ours, "launches: 7")).verdict(), AssertReport::PASS);
  EXPECT_EQ(Check(compiled, OfCode(ours + " ptx_kernels: \"from_ptx\"", "launches: 7")).verdict(),
            AssertReport::INCONCLUSIVE);

  const AssertReport part = Check(
      Trace(kModules), OfCode(ours + " unreadable: 3 why_unreadable: \"LZ4\"", "launches: 12"));
  EXPECT_EQ(part.verdict(), AssertReport::INCONCLUSIVE);
  EXPECT_THAT(part.checks(0).reason(), HasSubstr("3 parts of my.so could not be read: LZ4"));
}

TEST(Assert, WhatTheFileLaunchedMayBeOfItsCode) {
  const std::string patched = Trace(R"trace(
    kernel { id: 1 name: "nvjet_sm90_tst" cubin_hash: 18 } kernel { id: 2 name: "other" cubin_hash: 19 }
    site { id: 1 kernel_id: 1 launching_library: "/a/my.so.13" } site { id: 2 kernel_id: 2 launching_library: "/a/not_my.so" }
    step { launch { site: 1 times: 7 } } step { launch { site: 2 times: 5 } }
  )trace");
  const std::string ours = "cubin_hashes: 17";
  const AssertReport report = Check(patched, OfCode(ours, "min_launches: 7"));
  EXPECT_EQ(report.verdict(), AssertReport::INCONCLUSIVE);
  EXPECT_THAT(report.checks(0).reason(), HasSubstr("7 more launches of unknown cubin"));
  EXPECT_EQ(Check(patched, OfCode(ours, "kernel: \"other\" min_launches: 1")).verdict(),
            AssertReport::FAIL);
  EXPECT_EQ(Check(patched, OfCode(ours, "kernel: \"other\" max_launches: 0")).verdict(),
            AssertReport::PASS);
}

TEST(Assert, AProcessThatMayHaveLaunchedIsNotIdle) {
  const std::string cut = Trace(kServer) + R"(
    trace { header { pid: 66 } no_footer: true no_counter_file: true })";
  for (const char* never :
       {R"(expect { kernel: "absent" max_launches: 0 })",
        R"(expect { kernel: "absent" max_launches: 0 processes: SUM })", "processes: 1"}) {
    EXPECT_EQ(Check(cut, never).verdict(), AssertReport::INCONCLUSIVE) << never;
  }
}

TEST(Assert, APercentageIsTheSameNumber) {
  const std::string run = Trace(R"trace(
    kernel { id: 1 name: "nvjet_sm90_tst_64x8_64x16_2x1_v_bz_TNT" } kernel { id: 2 name: "nvjet_sm90_tst_128x8_64x16_2x1_v_bz_TNT" }
    site { id: 1 kernel_id: 1 } site { id: 2 kernel_id: 2 }
    step { launch { site: 1 times: 999 } } step { launch { site: 2 } }
  )trace");
  for (const char* share : {">=0.999", ">=99.9%", ">= 99.90 %"}) {
    EXPECT_EQ(Check(run, absl::StrCat("expect { kernel: '_64x8' share: '", share, "' } phase: ALL"))
                  .verdict(),
              AssertReport::PASS)
        << share;
  }
}

TEST(Assert, EmptyTextIsRefused) {
  for (const char* field :
       {"kernel", "path", "shape", "kind", "range", "share", "time_share", "name", "cubin_of"}) {
    EXPECT_THAT(Error(absl::StrCat("expect { ", field, ": \"\" launches: 1 }")),
                HasSubstr(absl::StrCat(field, " must not be empty")));
  }
}

TEST(Assert, APathWithoutGemmsSaysWhatElseItRan) {
  const std::string norm = Trace(R"trace(
    kernel { id: 1 name: "void flashinfer::norm::RMSNormKernel<8u, __nv_bfloat16>(int)" }
    site { id: 1 kernel_id: 1 } step { launch { site: 1 times: 7 } }
  )trace");
  const AssertReport never =
      Check(norm, R"(expect { path: "flashinfer" max_launches: 0 } phase: ALL)");
  EXPECT_EQ(never.verdict(), AssertReport::PASS);
  EXPECT_THAT(never.notes(),
              testing::Contains(HasSubstr("no GEMM, but 7 kernels of other kinds: --kind any")));
  const AssertReport any =
      Check(norm, R"(expect { path: "flashinfer" kind: "any" launches: 7 } phase: ALL)");
  EXPECT_EQ(any.verdict(), AssertReport::PASS);
  EXPECT_THAT(any.notes(), testing::Not(testing::Contains(HasSubstr("other kinds"))));
}

TEST(Assert, AFailureShowsWhatRanInstead) {
  const AssertReport report =
      Check(Trace(kServer), R"(expect { kernel: "my_fp8_splitk_gemm" launches: 256 })");
  EXPECT_EQ(report.verdict(), AssertReport::FAIL);
  const report::Check& check = report.checks(0);
  EXPECT_EQ(check.expected(), "exactly 256");
  EXPECT_EQ(check.got(), "0");
  EXPECT_EQ(check.near(0).name(), "my_fp8_splitk_kernel");
  EXPECT_EQ(check.near(0).warmup_launches(), 2);
}

TEST(Assert, ShapeAndPath) {
  const char* const flashinfer =
      R"(expect { path: "flashinfer" shape: "34816x5120" launches: 256 })";
  EXPECT_EQ(Check(Trace(kServer), flashinfer).verdict(), AssertReport::PASS);
  const AssertReport custom =
      Check(Trace(kServer), R"(expect { path: "custom" shape: "34816x5120" min_launches: 1 })");
  EXPECT_EQ(custom.verdict(), AssertReport::FAIL);
  EXPECT_THAT(custom.checks(0).near(0).name(), HasSubstr("fp8_gemm_kernel_swapAB"));
}

TEST(Assert, ARowOfUnknownShapeThatCouldBeItIsInconclusive) {
  const std::string run = Trace(kUnknownShape);
  const char* const too_few = R"(expect { path: "cublaslt" shape: "34816x5120" min_launches: 9 })";
  const char* const never = R"(expect { path: "cublaslt" shape: "34816x5120" max_launches: 0 })";
  EXPECT_EQ(Check(run, too_few).verdict(), AssertReport::INCONCLUSIVE);
  EXPECT_EQ(Check(run, never).verdict(), AssertReport::INCONCLUSIVE);
  EXPECT_THAT(Check(run, never).checks(0).reason(), HasSubstr("5 more launches of unknown shape"));
  // A known shape of another path is not in question.
  EXPECT_EQ(
      Check(run, R"(expect { path: "flashinfer" shape: "34816x5120" launches: 256 })").verdict(),
      AssertReport::PASS);
}

TEST(Assert, AKernelOfUnknownKindMayHaveTheShapeAskedFor) {
  const std::string run = Trace(std::string(kServer) + "step { launch { site: 2 times: 64 } }");
  EXPECT_EQ(Check(run, R"(expect { kernel: "my_fp8" shape: "34816x5120" launches: 64 })").verdict(),
            AssertReport::INCONCLUSIVE);
}

TEST(Assert, Share) {
  EXPECT_EQ(
      Check(Trace(kServer), R"(expect { path: "flashinfer" shape: "34816x5120" share: ">=0.99" })")
          .verdict(),
      AssertReport::PASS);
  EXPECT_EQ(
      Check(Trace(kServer), R"(expect { path: "custom" shape: "34816x5120" share: ">=0.99" })")
          .verdict(),
      AssertReport::FAIL);
  EXPECT_EQ(
      Check(Trace(kServer), R"(expect { path: "custom" shape: "1x1" share: ">=0.99" })").verdict(),
      AssertReport::INCONCLUSIVE);
}

constexpr char kRanges[] = R"(
  trace {
    kernel { id: 1 name: "k" }
    range_path { id: 1 name: "model" } range_path { id: 2 parent: 1 name: "mlp" }
    range_path { id: 3 parent: 1 many: true }
    range_path { id: 4 name: "request" domain: "server" source: RANGE_START_END payload_kind: PAYLOAD_SIGNED payload: 7 }
    site { id: 1 kernel_id: 1 } site { id: 2 kernel_id: 1 range_path: 2 }
    site { id: 3 kernel_id: 1 range_path: 3 process_ranges: 4 }
    graph { id: 1 node_site: 1 node_site: 1 node_range_path: 1 node_range_path: 2 }
    step { launch { site: 1 } } step { launch { site: 2 } } step { launch { site: 3 } }
    step { launch { graph: 1 } }
  })";

TEST(Assert, Ranges) {
  const std::string in = "phase: ALL expect { kernel: 'k' range: ";
  EXPECT_EQ(Check(kRanges, in + "'model/mlp$' min_launches: 2 }").verdict(), AssertReport::PASS);
  EXPECT_EQ(Check(kRanges, in + "'^model' launches: 3 }").verdict(), AssertReport::INCONCLUSIVE);
  EXPECT_EQ(Check(kRanges, in + "'model' launches: 4 }").verdict(), AssertReport::PASS);
  EXPECT_EQ(Check(kRanges, in + "'server:request.7' launches: 1 }").verdict(), AssertReport::PASS);
  // One launch was in a range that stands for many.
  EXPECT_EQ(Check(kRanges, in + "'attention' max_launches: 0 }").verdict(),
            AssertReport::INCONCLUSIVE);
  EXPECT_EQ(Check(kRanges, in + "'attention' max_launches: 1 }").verdict(), AssertReport::PASS);
  EXPECT_EQ(Check(kRanges, in + "'^$' min_launches: 1 }").verdict(),
            AssertReport::PASS);  // in none
  EXPECT_EQ(Check(kRanges, in + "'^$' max_launches: 2 }").verdict(), AssertReport::PASS);
  // No range reached the tracer: nothing is said about where launches were.
  const char* const none =
      "trace { kernel { id: 1 name: 'k' } site { id: 1 kernel_id: 1 } step { launch { site: 1 } } "
      "}";
  EXPECT_EQ(Check(none, in + "'mlp' max_launches: 0 }").verdict(), AssertReport::INCONCLUSIVE);
  EXPECT_EQ(Check(none, in + "'mlp' min_launches: 1 }").verdict(), AssertReport::INCONCLUSIVE);
  // A library's own say nothing about the program's.
  const char* const library =
      "trace { kernel { id: 1 name: 'k' } range_path { id: 1 domain: 'CCCL' name: 'scan' }"
      "  site { id: 1 kernel_id: 1 range_path: 1 } step { launch { site: 1 } } }";
  const AssertReport never = Check(library, in + "'mlp' max_launches: 0 }");
  EXPECT_EQ(never.verdict(), AssertReport::INCONCLUSIVE);
  EXPECT_THAT(never.checks(0).reason(), HasSubstr("1 more launches of unknown range"));
  EXPECT_EQ(Check(library, in + "'mlp' min_launches: 1 }").verdict(), AssertReport::INCONCLUSIVE);
  EXPECT_EQ(Check(library, in + "'CCCL:scan' launches: 1 }").verdict(), AssertReport::PASS);
}

// What was folded or cut may have been anything: no 'never' follows from it.
TEST(Assert, RangesOfWhichNotAllIsKept) {
  const std::string longest(255, 'n');
  const std::string cut = longest.substr(0, 252);  // three bytes of a character did not fit
  const std::string in = "phase: ALL expect { kernel: 'k' range: 'request.42' max_launches: 0 }";
  const auto with = [&in](const std::string& path) {
    return Check("trace { kernel { id: 1 name: 'k' } range_path { id: 1 " + path +
                     " } site { id: 1 kernel_id: 1 range_path: 1 } step { launch { site: 1 } } }",
                 in)
        .verdict();
  };
  EXPECT_EQ(with("name: 'request' payload_kind: PAYLOAD_SIGNED payload: 7"), AssertReport::PASS);
  EXPECT_EQ(with("name: 'request' payload_kind: PAYLOAD_VARIES"), AssertReport::INCONCLUSIVE);
  EXPECT_EQ(with("name: 'request' domain: '(many domains)'"), AssertReport::INCONCLUSIVE);
  EXPECT_EQ(with("name: '(many)'"), AssertReport::INCONCLUSIVE);
  EXPECT_EQ(with("name: '" + longest + "'"), AssertReport::INCONCLUSIVE);
  EXPECT_EQ(with("name: '" + cut + "'"), AssertReport::INCONCLUSIVE);
  EXPECT_EQ(with("name: '" + longest.substr(0, 251) + "'"), AssertReport::PASS);
}

// 30 GEMMs, 12 of them k's; 8 quantisers, 6 of them k_quant.
constexpr char kKinds[] = R"(
  trace {
    kernel { id: 1 name: "live_gemm_like_k" } kernel { id: 2 name: "other_gemm" }
    kernel { id: 3 name: "k_quantize_fp8" } kernel { id: 4 name: "scaled_fp8_quant_kernel" }
    site { id: 1 kernel_id: 1 } site { id: 2 kernel_id: 2 } site { id: 3 kernel_id: 3 } site { id: 4 kernel_id: 4 }
    step { launch { site: 1 times: 12 } } step { launch { site: 2 times: 18 } }
    step { launch { site: 3 times: 6 } } step { launch { site: 4 times: 2 } }
  })";
TEST(Assert, AShareIsOfWhatIsOfTheKindAskedFor) {
  const auto got = [](const std::string& expectation) {
    return Check(kKinds, "phase: ALL expect { " + expectation + " }").checks(0).got();
  };
  EXPECT_EQ(got("kernel: 'live' share: '>=0.5'"), "0.4000 (12 of 30 GEMMs)");
  EXPECT_EQ(got("kernel: 'k_quantize' kind: 'quant' share: '<0.5'"),
            "0.7500 (6 of 8 launches of kind quant)");
  EXPECT_EQ(got("kernel: 'k_quantize' share: '>=0.5'"), "0.0000 (0 of 30 GEMMs)");
  EXPECT_EQ(got("kernel: 'live' kind: 'any' share: '<0.3'"), "0.3158 (12 of 38 launches)");
}

TEST(Assert, CapturedIsNotLaunched) {
  const AssertReport report =
      Check(Trace(kServer), R"(expect { kernel: "captured_only" min_launches: 1 })");
  EXPECT_EQ(report.verdict(), AssertReport::FAIL);
  EXPECT_EQ(report.checks(0).captured_nodes(), 1);
  EXPECT_EQ(report.checks(0).steady_launches(), 0);
}

TEST(Assert, SteadyOfAnUnphasedProcessIsInconclusive) {
  const std::string run = Trace(R"(kernel { id: 1 name: "k" } site { id: 1 kernel_id: 1 }
                                   step { launch { site: 1 times: 3 } })");
  const AssertReport steady = Check(run, R"(expect { kernel: "k" launches: 3 })");
  EXPECT_EQ(steady.verdict(), AssertReport::INCONCLUSIVE);
  EXPECT_THAT(steady.checks(0).reason(), HasSubstr("--phase all"));
  EXPECT_EQ(Check(run, R"(expect { kernel: "k" launches: 3 } phase: ALL)").verdict(),
            AssertReport::PASS);
}

TEST(Assert, NoTraceNoLaunchAndNotCollectedAreInconclusive) {
  const char* const never = R"(expect { kernel: "k" max_launches: 0 } phase: ALL)";
  EXPECT_EQ(Check("", never).verdict(), AssertReport::INCONCLUSIVE);
  EXPECT_EQ(Check(Trace(""), never).verdict(), AssertReport::INCONCLUSIVE);
  EXPECT_EQ(Check(Trace("problem { kind: PROBLEM_CUPTI_MISSING }"), never).verdict(),
            AssertReport::INCONCLUSIVE);
}

// The parent launched the kernel, the worker it spawned did not.
const std::string kTwoProcesses = Trace(R"(header { pid: 10 }
      kernel { id: 1 name: "patched" } site { id: 1 kernel_id: 1 } step { launch { site: 1 times: 12 } })") +
                                  Trace(R"(header { pid: 11 }
      kernel { id: 1 name: "original" } site { id: 1 kernel_id: 1 } step { launch { site: 1 times: 12 } })") +
                                  Trace("header { pid: 12 }");

TEST(Assert, EveryProcessNamesTheWorkerThatMissedThePatch) {
  const AssertReport report =
      Check(kTwoProcesses, R"(expect { kernel: "patched" min_launches: 1 } phase: ALL)");
  EXPECT_EQ(report.verdict(), AssertReport::FAIL);
  ASSERT_EQ(report.checks_size(), 2);
  EXPECT_EQ(report.checks(0).verdict(), AssertReport::PASS);
  EXPECT_EQ(report.checks(1).verdict(), AssertReport::FAIL);
  EXPECT_EQ(report.checks(1).pid(), 11u);
  EXPECT_THAT(report.notes(0), HasSubstr("pid 12"));
}

TEST(Assert, AnyAndSum) {
  EXPECT_EQ(
      Check(kTwoProcesses, R"(expect { kernel: "patched" launches: 12 processes: ANY } phase: ALL)")
          .verdict(),
      AssertReport::PASS);
  EXPECT_EQ(Check(kTwoProcesses, R"(expect { kernel: "." launches: 24 processes: SUM } phase: ALL)")
                .verdict(),
            AssertReport::PASS);
  EXPECT_EQ(Check(kTwoProcesses, R"(expect { kernel: "." launches: 12 processes: SUM } phase: ALL)")
                .verdict(),
            AssertReport::FAIL);
}

TEST(Assert, NumberOfProcesses) {
  EXPECT_EQ(Check(kTwoProcesses, "processes: 2").verdict(), AssertReport::PASS);
  EXPECT_EQ(Check(kTwoProcesses, "processes: 3").verdict(), AssertReport::FAIL);
  const std::string untraced =
      kTwoProcesses + "manifest { finished: true processes { pid: 77 gpu: true } }";
  EXPECT_EQ(Check(untraced, "processes: 3").verdict(), AssertReport::INCONCLUSIVE);
  EXPECT_EQ(Check(untraced, "processes: 1").verdict(), AssertReport::FAIL);
  EXPECT_EQ(Check(untraced, "processes: 2").verdict(), AssertReport::INCONCLUSIVE);
}

// Completeness and coverage as they reach the truth table.
struct Cell {
  const char* what;
  std::string run;
  AssertReport::Verdict reached, too_few, not_exceeded, exceeded, never_of_absent;
};

TEST(Assert, CompletenessAndCoverageDecideAsTheTableSays) {
  const std::string launches = R"(kernel { id: 1 name: "k" } site { id: 1 kernel_id: 1 }
                                  step { launch { site: 1 times: 10 } })";
  const std::string full = " manifest { finished: true processes { pid: 100 gpu: true } }";
  const std::string partial =
      " manifest { finished: true processes { pid: 100 gpu: true } processes { pid: 7 gpu: true } "
      "}";
  constexpr auto kP = AssertReport::PASS;
  constexpr auto kF = AssertReport::FAIL;
  constexpr auto kI = AssertReport::INCONCLUSIVE;
  const std::vector<Cell> cells = {
      {"COMPLETE", Trace(launches) + full, kP, kF, kP, kF, kP},
      {"COMPLETE, a file without manifest", Trace(launches), kP, kF, kP, kF, kP},
      {"COMPLETE, a GPU process without a trace", Trace(launches) + partial, kP, kI, kI, kF, kI},
      {"COMPLETE, run stopped early",
       Trace(launches) + " manifest { processes { pid: 100 gpu: true } }", kP, kI, kI, kF, kI},
      {"COUNTED", Trace("header { mode: MODE_COUNT }" + launches) + full, kP, kF, kP, kF, kP},
      {"COUNTED, a GPU process without a trace",
       Trace("header { mode: MODE_COUNT }" + launches) + partial, kP, kI, kI, kF, kI},
      {"LOWER_BOUND of times, counters intact",
       Trace(launches + "issue { kind: 0 } no_footer: true") + full, kP, kF, kP, kF, kP},
      {"LOWER_BOUND of counts", Trace(launches + "no_counter_file: true no_footer: true") + full,
       kP, kI, kI, kF, kI},
      {"LOWER_BOUND of counts, a GPU process without a trace",
       Trace(launches + "no_counter_file: true no_footer: true") + partial, kP, kI, kI, kF, kI},
      {"NOT_COLLECTED", Trace("problem { kind: PROBLEM_OTHER_SUBSCRIBER }") + full, kI, kI, kI, kI,
       kI},
      {"still running", Trace(launches) + " manifest { finished: true alive_pids: 100 }", kP, kI,
       kI, kF, kI},
  };
  for (const Cell& cell : cells) {
    auto verdict = [&](const std::string& bound) {
      return Check(cell.run, "expect { " + bound + " } phase: ALL").verdict();
    };
    EXPECT_EQ(verdict(R"(kernel: "k" min_launches: 10)"), cell.reached) << cell.what;
    EXPECT_EQ(verdict(R"(kernel: "k" min_launches: 11)"), cell.too_few) << cell.what;
    EXPECT_EQ(verdict(R"(kernel: "k" max_launches: 10)"), cell.not_exceeded) << cell.what;
    EXPECT_EQ(verdict(R"(kernel: "k" max_launches: 9)"), cell.exceeded) << cell.what;
    EXPECT_EQ(verdict(R"(kernel: "absent" max_launches: 0)"), cell.never_of_absent) << cell.what;
    // Exactly is both bounds together.
    EXPECT_EQ(verdict(R"(kernel: "k" launches: 10)"),
              analyzers::Both(cell.reached, cell.not_exceeded))
        << cell.what;
    // Times are decided only where every execution was observed.
    const bool complete = std::string(cell.what).starts_with("COMPLETE") && cell.too_few == kF;
    EXPECT_EQ(verdict(R"(kernel: "k" time_share: ">=0.5")"), complete ? kP : kI) << cell.what;
  }
}

TEST(Compile, ExpectationsThatAreNoneOrCouldNeverFail) {
  EXPECT_THAT(Error(""), HasSubstr("nothing is expected"));
  EXPECT_THAT(Error(R"(expect { kernel: "k" })"), HasSubstr("nothing is expected of kernel /k/"));
  EXPECT_THAT(Error("expect { min_launches: 0 }"), HasSubstr("can never fail"));
  EXPECT_THAT(Error(R"(expect { path: "custom" share: ">=0" })"), HasSubstr("can never fail"));
  EXPECT_THAT(Error(R"(expect { shape: "1x1" share: ">0.5" })"), HasSubstr("always 1"));
  EXPECT_THAT(Error(R"(expect { time_share: ">0.5" })"), HasSubstr("always 1"));
  EXPECT_THAT(Error(R"(expect { kernel: "k" device_code { cubin_hashes: 1 } launches: 1 })"),
              HasSubstr("give cubin_of"));
  EXPECT_THAT(Error("expect { launches: 1 } expect { launches: 1 min_launches: 1 }"),
              HasSubstr("expectation 2: launches excludes"));
  EXPECT_THAT(Error("expect { min_launches: 2 max_launches: 1 }"), HasSubstr("exclude each other"));
}

TEST(Compile, BadValuesSayWhatToWrite) {
  EXPECT_THAT(Error(R"(expect { kernel: "(" launches: 1 })"), HasSubstr("no RE2 pattern"));
  EXPECT_THAT(Error(R"(expect { path: "cutlas" launches: 1 })"), HasSubstr("one of: "));
  EXPECT_THAT(Error(R"(expect { kind: "matmul" launches: 1 })"), HasSubstr("one of: "));
  for (const char* shape : {"34816", "x", "0x5", "axb", "1x2x3", "-1x2"}) {
    EXPECT_THAT(Error("expect { shape: '" + std::string(shape) + "' launches: 1 }"),
                HasSubstr("NxK"))
        << shape;
  }
  for (const char* share : {"0.5", ">=", ">=x", "=>0.5", ">=1.5"}) {
    EXPECT_NE(Error("expect { path: 'custom' share: '" + std::string(share) + "' }"), "") << share;
  }
}

}  // namespace
}  // namespace hotproof::tests
