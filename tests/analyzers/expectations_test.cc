// What `assert` says of whole runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/analyzers/assert_helpers.h"

namespace hotproof::tests {
namespace {

using testing::HasSubstr;

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
  EXPECT_THAT(
      never.notes(),
      testing::Contains(HasSubstr("no GEMM, but kernels of kind norm (7 launches): --kind norm")));
  const AssertReport any =
      Check(norm, R"(expect { path: "flashinfer" kind: "any" launches: 7 } phase: ALL)");
  EXPECT_EQ(any.verdict(), AssertReport::PASS);
  EXPECT_THAT(any.notes(), testing::Not(testing::Contains(HasSubstr("no GEMM"))));
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
  const AssertReport many = Check(kRanges, in + "'attention' max_launches: 0 }");
  EXPECT_EQ(many.verdict(), AssertReport::INCONCLUSIVE);
  EXPECT_THAT(many.checks(0).reason(), HasSubstr("1 more launches may belong to it: not all is kept"));
  EXPECT_THAT(many.checks(0).advice(), HasSubstr("docs/ranges.md"));
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
  EXPECT_THAT(never.checks(0).advice(), HasSubstr("hotproof_range_push"));
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

// What is known of it decides; where the text ends because no more was kept, it may go on.
TEST(Assert, RangesAreInWhatIsKnownOfThem) {
  const std::string cut = "layers.3 " + std::string(245, 'n');
  const auto with = [](const std::string& paths, const std::string& pattern) {
    return Check("trace { kernel { id: 1 name: 'k' } " + paths +
                     " site { id: 1 kernel_id: 1 range_path: 1 } step { launch { site: 1 } } }",
                 "phase: ALL expect { kernel: 'k' range: '" + pattern + "' min_launches: 1 }")
        .verdict();
  };
  const std::string name = "range_path { id: 1 name: '" + cut + "' }";
  EXPECT_EQ(with(name, "^layers[.]3"), AssertReport::PASS);
  EXPECT_EQ(with(name, "n$"), AssertReport::INCONCLUSIVE);
  EXPECT_EQ(with(name, "n\\\\b"), AssertReport::INCONCLUSIVE);
  EXPECT_EQ(with(name, "n{246}"), AssertReport::INCONCLUSIVE);
  const std::string payload =
      "range_path { id: 1 parent: 2 name: 'mlp' } "
      "range_path { id: 2 name: 'step' payload_kind: PAYLOAD_VARIES }";
  EXPECT_EQ(with(payload, "mlp$"), AssertReport::PASS);
  EXPECT_EQ(with(payload, "^step"), AssertReport::PASS);
  EXPECT_EQ(with(payload, "^mlp"), AssertReport::INCONCLUSIVE);
  EXPECT_EQ(with(payload, "many"), AssertReport::INCONCLUSIVE);
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
  EXPECT_EQ(got("kernel: 'k_quantize' share: '>=0.5'"), "not known") << "it is no GEMM";
  EXPECT_EQ(got("kernel: 'live' kind: 'any' share: '<0.3'"), "0.3158 (12 of 38 launches)");
}

TEST(Assert, AShareLeavesTheOtherBoundsAlone) {
  const std::string run = Trace(std::string(kServer) + "step { launch { site: 2 times: 64 } }");
  const AssertReport both =
      Check(run, R"(expect { kernel: "my_fp8" max_launches: 0 share: "<=0.5" })");
  EXPECT_EQ(both.verdict(), AssertReport::FAIL);
  ASSERT_EQ(both.checks_size(), 2);
  EXPECT_EQ(both.checks(0).got(), "64");
  EXPECT_EQ(both.checks(0).near(0).name(), "my_fp8_splitk_kernel");
  EXPECT_EQ(both.checks(1).verdict(), AssertReport::INCONCLUSIVE);
  EXPECT_THAT(both.checks(1).reason(),
              HasSubstr("64 of the selected launches are not known to be GEMMs"));
  EXPECT_THAT(both.checks(1).advice(), HasSubstr("--kind any"));
  EXPECT_FALSE(both.checks(1).has_got_value());
  EXPECT_EQ(Check(run, R"(expect { kernel: "my_fp8" min_launches: 64 kind: "any" share: "<=0.5" })")
                .verdict(),
            AssertReport::PASS);
  // Some of them are GEMMs, and the others could not change it.
  const AssertReport mixed =
      Check(run, R"(expect { kernel: "swapAB|my_fp8" launches: 320 share: ">=0.9" })");
  EXPECT_EQ(mixed.verdict(), AssertReport::PASS);
  EXPECT_EQ(mixed.checks(1).got(), "1.0000 (256 of 256 GEMMs; 64 more of other kinds)");
}

TEST(Assert, AFailureOfTooManyShowsWhatWasCounted) {
  const std::string run = Trace(kUnknownShape);
  const auto near = [&](const std::string& expectation) {
    const AssertReport report = Check(run, "expect { " + expectation + " }");
    EXPECT_EQ(report.verdict(), AssertReport::FAIL) << expectation;
    std::string names;
    for (const report::Near& one : report.checks(0).near())
      absl::StrAppend(&names, one.name().substr(0, 5), ":", one.launches(), " ");
    return names;
  };
  EXPECT_EQ(near("path: 'cublaslt' max_launches: 0"), "nvjet:5 ");
  EXPECT_EQ(near("kind: 'gemm' launches: 260"), "deep_:256 nvjet:5 ");
  EXPECT_EQ(near("path: 'flashinfer' launches_per_replay: 1"), "deep_:256 ");
  EXPECT_EQ(near("path: 'flashinfer' share: '<0.5'"), "deep_:256 ");
  EXPECT_EQ(near("path: 'flashinfer' share: '>=0.99'"), "nvjet:5 ") << "the rest";
}

TEST(Assert, AShapeTheWrongWayRoundIsSaid) {
  const auto notes = [](const std::string& expectation) {
    return Check(Trace(kServer), "expect { " + expectation + " }").warnings();
  };
  const auto said = testing::Contains(HasSubstr("34816x5120 ran 256 times"));
  EXPECT_THAT(notes("shape: '5120x34816' max_launches: 0"), said);
  EXPECT_THAT(notes("shape: '34816x5120' min_launches: 1"), testing::Not(said));
  EXPECT_THAT(notes("shape: '64x64' max_launches: 0"), testing::Not(said));
}

TEST(Assert, WhatIsNotKnownIsNotZero) {
  const AssertReport blind = Check(Trace("problem { kind: PROBLEM_OTHER_SUBSCRIBER }"),
                                   R"(expect { kernel: "k" max_launches: 0 } phase: ALL)");
  EXPECT_EQ(blind.checks(0).got(), "not known");
  EXPECT_FALSE(blind.checks(0).has_steady_launches());
  EXPECT_FALSE(blind.checks(0).has_unphased_launches());
}

TEST(Assert, UnknownRangesSayWhatToDo) {
  const AssertReport report =
      Check(Trace(kServer), R"(expect { range: "mlp" min_launches: 1 })");
  EXPECT_EQ(report.verdict(), AssertReport::INCONCLUSIVE);
  EXPECT_THAT(report.checks(0).advice(), HasSubstr("--torch-ops"));
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
  for (const char* share : {"0.5", ">=", ">=x", "=>0.5", ">=1.5", "==0.5"}) {
    EXPECT_NE(Error("expect { path: 'custom' share: '" + std::string(share) + "' }"), "") << share;
  }
}

}  // namespace
}  // namespace hotproof::tests
