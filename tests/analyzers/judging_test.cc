// What the evidence allows `assert` to say: phases, completeness, coverage, processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/analyzers/assert_helpers.h"

namespace hotproof::tests {
namespace {

using testing::HasSubstr;
using testing::Not;

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
  EXPECT_THAT(steady.checks(0).reason(), HasSubstr("unphased: "));
  EXPECT_THAT(steady.checks(0).advice(), HasSubstr("--phase all"));
  EXPECT_FALSE(steady.checks(0).has_steady_launches());
  EXPECT_EQ(steady.checks(0).unphased_launches(), 3);
  EXPECT_EQ(steady.checks(0).warmup_launches(), 0) << "they are of no phase";
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
      {"COMPLETE, a GPU process without a trace", Trace(launches) + partial, kI, kF, kI, kF, kI},
      {"COMPLETE, run stopped early",
       Trace(launches) + " manifest { processes { pid: 100 gpu: true } }", kI, kF, kI, kF, kI},
      {"COMPLETE, a process without a GPU ran on",
       Trace(launches) +
           " manifest { finished: true processes { pid: 100 gpu: true } processes { pid: 7 } alive_pids: 7 }",
       kP, kF, kI, kF, kI},
      {"COMPLETE, run stopped early, a process without a GPU ran on",
       Trace(launches) + " manifest { processes { pid: 100 gpu: true } processes { pid: 7 } alive_pids: 7 }",
       kI, kF, kI, kF, kI},
      {"COUNTED", Trace("header { mode: MODE_COUNT }" + launches) + full, kP, kF, kP, kF, kP},
      {"COUNTED, a GPU process without a trace",
       Trace("header { mode: MODE_COUNT }" + launches) + partial, kI, kF, kI, kF, kI},
      {"LOWER_BOUND of times, counters intact",
       Trace(launches + "issue { kind: 0 } no_footer: true") + full, kP, kF, kP, kF, kP},
      {"LOWER_BOUND of counts", Trace(launches + "no_counter_file: true no_footer: true") + full,
       kP, kI, kI, kF, kI},
      {"LOWER_BOUND of counts, a GPU process without a trace",
       Trace(launches + "no_counter_file: true no_footer: true") + partial, kI, kI, kI, kF, kI},
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
    const bool complete = std::string(cell.what).starts_with("COMPLETE") && cell.reached == kP;
    EXPECT_EQ(verdict(R"(kernel: "k" time_share: ">=0.5")"), complete ? kP : kI) << cell.what;
  }
}

// A worker that lost its tracer may be the one that runs another kernel.
TEST(Assert, AGpuProcessWithoutATraceIsOneOfThem) {
  const std::string run = Trace(kServer) +
                          "manifest { finished: true processes { pid: 100 gpu: true } "
                          "processes { pid: 7 gpu: true executable: '/opt/worker' } }";
  const std::string launched = R"(expect { path: "flashinfer" min_launches: 1 })";
  const AssertReport every = Check(run, launched);
  EXPECT_EQ(every.verdict(), AssertReport::INCONCLUSIVE);
  ASSERT_EQ(every.checks_size(), 2);
  EXPECT_EQ(every.checks(0).verdict(), AssertReport::PASS);
  EXPECT_EQ(every.checks(1).pid(), 7u);
  EXPECT_EQ(every.checks(1).process(), "worker");
  EXPECT_THAT(every.checks(1).reason(), HasSubstr("without a trace"));
  EXPECT_THAT(every.checks(1).advice(), HasSubstr("--processes any"));
  // The same question by the same name, with its numbers.
  EXPECT_EQ(every.checks(1).expectation(), every.checks(0).expectation());
  EXPECT_EQ(every.checks(1).expected(), "at least 1");
  EXPECT_EQ(every.checks(1).expected_min(), 1);
  EXPECT_FALSE(every.checks(1).has_expected_max());
  EXPECT_FALSE(every.checks(1).has_got_value());
  const AssertReport several =
      Check(run, R"(expect { path: "flashinfer" launches_per_replay: 2 share: ">=0.5" time_share: "<0.9" })");
  ASSERT_EQ(several.checks_size(), 6);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(several.checks(3 + i).expectation(), several.checks(i).expectation());
    EXPECT_EQ(several.checks(3 + i).expected(), several.checks(i).expected());
    EXPECT_EQ(several.checks(3 + i).expected_min(), several.checks(i).expected_min());
    EXPECT_EQ(several.checks(3 + i).expected_max(), several.checks(i).expected_max());
    EXPECT_EQ(several.checks(3 + i).verdict(), AssertReport::INCONCLUSIVE);
  }
  EXPECT_THAT(every.warnings(), testing::Contains(HasSubstr("pid 7")));
  EXPECT_EQ(Check(run, R"(expect { path: "flashinfer" launches: 1 })").verdict(),
            AssertReport::FAIL)
      << "what the other did is known";
  for (const char* processes : {"ANY", "SUM"}) {
    const auto with = [&](const std::string& bounds) {
      return Check(run, absl::StrCat("expect { path: 'flashinfer' ", bounds,
                                     " processes: ", processes, " }"))
          .verdict();
    };
    EXPECT_EQ(with("min_launches: 1"), AssertReport::PASS) << processes;
    EXPECT_EQ(with("min_launches: 257"), AssertReport::INCONCLUSIVE) << processes;
  }
}

TEST(Assert, ReasonsAreSentencesWithAdvice) {
  const AssertReport report =
      Check(Trace(std::string(kServer) + "no_counter_file: true no_footer: true"),
            R"(expect { path: "flashinfer" launches: 256 })");
  const report::Check& check = report.checks(0);
  EXPECT_EQ(check.verdict(), AssertReport::INCONCLUSIVE);
  EXPECT_THAT(check.reason(), HasSubstr("LOWER BOUND: the counter file is missing"));
  EXPECT_THAT(check.advice(), HasSubstr("keep the .hpc file"));
  EXPECT_THAT(check.reason_ids(), testing::Contains("counters_from_chunks"));
}

// A chunk that is gone may have held the snapshot that steady begins with: the whole run's counts are exact
// all the same.
TEST(Assert, AnExactCountWhosePhaseIsNotKnownSaysSo) {
  const std::string run = Trace(std::string(kServer) + "issue { kind: 1 }");  // kCorruptFrame
  const std::string exactly = "expect { path: 'flashinfer' launches: 256 ";
  const report::Check check = Check(run, exactly + "}").checks(0);
  EXPECT_EQ(check.verdict(), AssertReport::INCONCLUSIVE);
  EXPECT_THAT(check.reason(), testing::StartsWith("the launches of the whole run are known, not which of them "
                                                  "were while serving: a chunk"));
  EXPECT_THAT(check.advice(), HasSubstr("use --phase all"));
  EXPECT_EQ(Check(run, exactly + "} phase: ALL").verdict(), AssertReport::PASS);
  EXPECT_EQ(Check(run, "expect { path: 'flashinfer' launches: 255 } phase: ALL").verdict(), AssertReport::FAIL);
}

TEST(Assert, NoAdviceThatWasFollowedOrDoesNotHelp) {
  const auto not_all_again = testing::Not(HasSubstr("--phase all"));
  // Times of a damaged trace are lower bounds in any phase.
  const std::string damaged = Trace(std::string(kServer) + "issue { kind: 1 }");
  const std::string share = "expect { path: 'flashinfer' time_share: '>=0.5' }";
  for (const char* phase : {"", " phase: ALL"}) {
    const report::Check check = Check(damaged, share + phase).checks(0);
    EXPECT_EQ(check.verdict(), AssertReport::INCONCLUSIVE);
    EXPECT_THAT(check.advice(), testing::AllOf(HasSubstr("copy the trace again"), not_all_again));
  }
  // So are counts where the counters are gone, too.
  const std::string uncounted =
      Trace(std::string(kServer) + "issue { kind: 1 } no_counter_file: true no_footer: true");
  EXPECT_THAT(Check(uncounted, "expect { path: 'flashinfer' launches: 256 }").checks(0).advice(), not_all_again);
  // Exact counts are no reason.
  const std::string unknown = Trace(kUnknownShape + "issue { kind: 1 }");
  const report::Check shape =
      Check(unknown, "expect { shape: '34816x5120' max_launches: 256 } phase: ALL").checks(0);
  EXPECT_EQ(shape.verdict(), AssertReport::INCONCLUSIVE);
  EXPECT_THAT(shape.reason(), testing::StartsWith("5 more launches of unknown shape"));
  const std::string per_replay = "expect { kernel: 'my_fp8' launches_per_replay: 2 }";
  const std::string eager = Trace(R"(kernel { id: 1 name: "my_fp8" } site { id: 1 kernel_id: 1 }
                                     step { launch { site: 1 times: 3 } })");
  const report::Check replay = Check(eager, per_replay + " phase: ALL").checks(0);
  EXPECT_THAT(replay.advice(), testing::AllOf(HasSubstr("ask for --launches"), not_all_again));
}

TEST(Assert, APhaseInWhichNothingRanSaysNothing) {
  const std::string run = Trace(R"(kernel { id: 1 name: "k" } site { id: 1 kernel_id: 1 }
                                   step { launch { site: 1 times: 3 } }
                                   step { snapshot { reason: SNAPSHOT_REASON_MARK label: "steady" } })");
  const AssertReport never = Check(run, R"(expect { kernel: "absent" max_launches: 0 })");
  EXPECT_EQ(never.verdict(), AssertReport::INCONCLUSIVE);
  EXPECT_THAT(never.checks(0).reason(), HasSubstr("no kernel at all"));
  EXPECT_THAT(never.checks(0).advice(), HasSubstr("--phase all"));
  EXPECT_EQ(Check(run, R"(expect { kernel: "k" min_launches: 1 })").verdict(), AssertReport::FAIL);
  EXPECT_EQ(Check(run, R"(expect { kernel: "absent" max_launches: 0 } phase: ALL)").verdict(),
            AssertReport::PASS);
}

TEST(Assert, WhatMayBeMeantAndIsNotKnownIsSaid) {
  const auto warnings = [](const std::string& run, const std::string& expectation) {
    const AssertReport report = Check(Trace(run), "expect { " + expectation + " }");
    return absl::StrJoin(report.warnings(), "; ");
  };
  const char* const per_replay = "kernel: 'swapAB' launches_per_replay: 2";
  EXPECT_THAT(warnings(kServer, per_replay), Not(HasSubstr("replays of")));
  EXPECT_THAT(warnings(std::string(kServer) + "step { launch { graph: 2 times: 90 } }", per_replay),
              HasSubstr("90 replays of 1 graph were not looked at"));
  const std::string own = std::string(kServer) + R"(
    kernel { id: 5 name: "my_fp8_gemm" } site { id: 5 kernel_id: 5 } step { launch { site: 5 times: 40 } })";
  EXPECT_THAT(warnings(own, "path: 'custom' max_launches: 0"), HasSubstr("40 launches of GEMMs are of path unknown"));
  EXPECT_THAT(warnings(kServer, "path: 'custom' max_launches: 0"), Not(HasSubstr("path unknown")));
  EXPECT_THAT(warnings(own, "kernel: 'absent' max_launches: 0"), Not(HasSubstr("path unknown")));
}

TEST(Assert, KernelsOfUnknownKindAreSaidNotToBeGemms) {
  const std::string run = Trace(std::string(kServer) + "step { launch { site: 2 times: 64 } }");
  const auto notes = [&](const std::string& expectation) {
    return Check(run, expectation).notes();
  };
  const auto said = testing::Contains(HasSubstr("64 launches of kernels of unknown kind"));
  EXPECT_THAT(notes("expect { shape: '4096x4096' max_launches: 0 }"), said);
  EXPECT_THAT(notes("expect { path: 'flashinfer' share: '>=0.99' }"), said);
  EXPECT_THAT(notes("expect { path: 'flashinfer' time_share: '<=0.5' }"), said);
  EXPECT_THAT(notes("expect { kind: 'gemm' time_share: '<=0.5' }"), said);
  EXPECT_THAT(notes("expect { path: 'flashinfer' min_launches: 1 }"), testing::Not(said));
}

TEST(Assert, NumbersAreNumbers) {
  const AssertReport report =
      Check(Trace(kServer),
            R"(expect { name: "decode" path: "flashinfer" min_launches: 1 share: ">=0.99" })");
  ASSERT_EQ(report.checks_size(), 2);
  EXPECT_EQ(report.checks(0).expected_min(), 1);
  EXPECT_FALSE(report.checks(0).has_expected_max());
  EXPECT_EQ(report.checks(0).got_value(), 256);
  EXPECT_EQ(report.checks(1).expected_min(), 0.99);
  EXPECT_EQ(report.checks(1).got_value(), 1);
  EXPECT_EQ(report.checks(0).expectation(), "decode: GEMM launches of path flashinfer");
}

// Served, then captured anew: what ran before is warm-up, and that is said.
TEST(Judging, WhatRanBeforeALateCaptureIsSaidToBeLeftOut) {
  const auto check = [](int before, const std::string& what) {
    return Check("trace { kernel { id: 1 name: 'good' } kernel { id: 2 name: 'bad' } site { id: 1 kernel_id: 1 captured: true }"
                 "  site { id: 2 kernel_id: 2 } graph { id: 1 node_site: 1 } graph { id: 2 node_site: 1 }"
                 "  step { snapshot { reason: SNAPSHOT_REASON_END_CAPTURE } }"
                 "  step { snapshot { reason: SNAPSHOT_REASON_FIRST_REPLAY graph_id: 1 } }"
                 "  step { launch { graph: 1 times: " + std::to_string(before) + " } } step { launch { site: 2 times: 5 } }"
                 "  step { snapshot { reason: SNAPSHOT_REASON_END_CAPTURE } }"
                 "  step { snapshot { reason: SNAPSHOT_REASON_REPLAY_AFTER_CAPTURE graph_id: 2 } }"
                 "  step { launch { graph: 2 times: 2 } } } manifest { finished: true processes { pid: 100 gpu: true } }",
                 "expect { kernel: 'bad' max_launches: 0 } " + what);
  };
  const AssertReport late = check(100, "");
  EXPECT_EQ(late.verdict(), AssertReport::PASS);
  EXPECT_THAT(late.warnings(),
              testing::ElementsAre(HasSubstr("behind a capture that came after 100 replays: 105 launches before it")));
  EXPECT_THAT(late.notes(), testing::Contains(late.warnings(0)));
  EXPECT_THAT(check(3, "").warnings(), testing::IsEmpty()) << "a graph that was tried out";
  EXPECT_THAT(check(100, "phase: ALL").warnings(), testing::IsEmpty());
}

TEST(Judging, ASumSaysWhoHasNoPartInIt) {
  const std::string server =
      "kernel { id: 1 name: 'k' } site { id: 1 kernel_id: 1 } graph { id: 1 node_site: 1 } step { launch { site: 1 times: 4 } }"
      "  step { snapshot { reason: SNAPSHOT_REASON_MARK label: 'steady' } }";
  const std::string run = "trace { header { pid: 1 } " + server + " step { launch { site: 1 } } } trace { header { pid: 2 } " + server + " }";
  const auto notes = [&](const std::string& processes) {
    return Check(run, "expect { kernel: 'other' max_launches: 0 processes: " + processes + " }").notes();
  };
  EXPECT_THAT(notes("SUM"), testing::Contains(HasSubstr("launched nothing in phase steady")));
  EXPECT_THAT(notes("SUM"), testing::Contains(HasSubstr("pid 2")));
  EXPECT_THAT(notes("ANY"), testing::Not(testing::Contains(HasSubstr("launched nothing in phase steady"))));
}

}  // namespace
}  // namespace hotproof::tests
