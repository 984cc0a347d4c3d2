// A number of launches a replay: of which graphs it is asked, and what is said to have run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/analyzers/assert_helpers.h"

namespace hotproof::tests {
namespace {

using testing::HasSubstr;

TEST(PerReplay, OfEachGraphWithAGemm) {
  const auto per_replay = [](const std::string& run, const std::string& expectation) {
    const AssertReport report = Check(run, "expect { " + expectation + " }");
    EXPECT_EQ(report.checks_size(), 1);
    return report.checks(0);
  };
  const std::string run = Trace(kServer);
  const report::Check two = per_replay(run, "path: 'flashinfer' launches_per_replay: 2");
  EXPECT_EQ(two.verdict(), AssertReport::PASS);
  EXPECT_EQ(two.got(), "2 in each of 128 replays of 1 graph") << "graph 2 was not replayed";
  EXPECT_EQ(two.got_value(), 2);
  EXPECT_EQ(per_replay(run, "path: 'flashinfer' launches_per_replay: 1").verdict(),
            AssertReport::FAIL);
  EXPECT_EQ(per_replay(run, "path: 'custom' launches_per_replay: 2").verdict(), AssertReport::FAIL);
  // Launches outside of graphs are others.
  EXPECT_EQ(per_replay(Trace(kUnknownShape), "path: 'flashinfer' launches_per_replay: 2").verdict(),
            AssertReport::PASS);
  // A graph with GEMMs, but none of these, is one that lost them.
  const std::string fallback = Trace(std::string(kServer) +
                                     "site { id: 5 kernel_id: 3 captured: true } graph { id: 3 "
                                     "node_site: 5 } step { launch { graph: 3 } }");
  const report::Check lost = per_replay(fallback, "path: 'flashinfer' launches_per_replay: 2");
  EXPECT_EQ(lost.verdict(), AssertReport::FAIL);
  EXPECT_EQ(lost.got(), "2 in each of 128 replays of 1 graph, 0 in each of 1 replays of 1 graph");
  EXPECT_FALSE(lost.has_got_value());
  // One without GEMMs is not.
  const std::string copies = Trace(std::string(kServer) + "step { launch { graph: 2 } }");
  EXPECT_EQ(per_replay(copies, "path: 'flashinfer' launches_per_replay: 2").verdict(),
            AssertReport::PASS);
  EXPECT_EQ(per_replay(copies, "kernel: 'captured_only' launches_per_replay: 1").verdict(),
            AssertReport::FAIL)
      << "not in the graph of GEMMs";
}

TEST(PerReplay, WhatRanIsOfTheReplaysAlone) {
  // The same kernels eagerly, more of them, and in a graph that has no GEMM.
  const std::string run =
      Trace(std::string(kServer) +
            "site { id: 5 kernel_id: 1 } step { launch { site: 5 times: 9000 } } "
            "step { launch { site: 3 times: 5000 } } step { launch { site: 2 times: 7 } } "
            "step { launch { graph: 2 times: 3 } }");
  const auto ran = [&](const std::string& expectation, const char* phase) {
    const report::Check check =
        Check(run, absl::StrCat(phase, " expect { ", expectation, " }")).checks(0);
    EXPECT_EQ(check.verdict(), AssertReport::FAIL) << expectation;
    std::string names;
    for (const report::Near& near : check.near())
      absl::StrAppend(&names, near.name().substr(0, 5), ":", near.launches(), "+",
                      near.warmup_launches(), " ");
    return names;
  };
  for (const char* phase : {"", "phase: ALL"}) {
    EXPECT_EQ(ran("path: 'flashinfer' launches_per_replay: 1", phase), "deep_:256+0 ")
        << "too many";
    EXPECT_EQ(ran("path: 'flashinfer' launches_per_replay: 3", phase), "deep_:256+0 ") << "too few";
    EXPECT_EQ(ran("kernel: 'my_fp8' launches_per_replay: 1", phase), "deep_:256+0 ")
        << "never in a graph";
    EXPECT_EQ(ran("kernel: 'captured_only' launches_per_replay: 2", phase),
              "captu:3+0 deep_:256+0 ")
        << "a graph is looked at for what is selected, too";
  }
}

TEST(PerReplay, NeedsReplays) {
  const std::string eager = Trace(R"(kernel { id: 1 name: "other_gemm" } site { id: 1 kernel_id: 1 }
                                     step { snapshot { reason: SNAPSHOT_REASON_MARK label: "steady" } }
                                     step { launch { site: 1 times: 3 } })");
  const std::string two = R"(expect { kernel: "other_gemm" launches_per_replay: 2 })";
  const AssertReport report = Check(eager, two);
  EXPECT_EQ(report.verdict(), AssertReport::INCONCLUSIVE);
  EXPECT_THAT(report.checks(0).reason(), HasSubstr("no graph with a GEMM was replayed"));
  const std::string lower = Trace(std::string(kServer) + "no_counter_file: true no_footer: true");
  EXPECT_EQ(Check(lower, R"(expect { path: "flashinfer" launches_per_replay: 2 })").verdict(),
            AssertReport::INCONCLUSIVE);
  EXPECT_THAT(Error("expect { kernel: 'k' launches_per_replay: 2 processes: SUM }"),
              HasSubstr("of each process"));
}

}  // namespace
}  // namespace hotproof::tests
