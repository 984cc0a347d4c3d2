// Expectations held to runs that a test writes.
#pragma once

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "analyzers/expectations.h"
#include "tests/analyzers/fake_trace.h"

namespace hotproof::tests {

using report::AssertReport;

// A process that serves with FlashInfer's GEMM in steady replays after two eager warm-up launches
// of the custom kernel; one captured node of another kernel is never replayed.
inline const char* const kServer = R"trace(
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
inline const std::string kUnknownShape =
    std::string(kServer) + "step { launch { site: 3 times: 5 } }";

inline std::string Trace(const std::string& text) { return "trace { " + text + " }"; }

inline AssertReport Check(const std::string& run, const std::string& expectations) {
  expectations::Expectations source;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(expectations, &source));
  const auto compiled = analyzers::CompileExpectations(source);
  EXPECT_TRUE(compiled.ok()) << compiled.status();
  const AnalysedRun analysed = Analyse(ParseRun(run));
  return analyzers::CheckExpectations(*compiled, analysed.processes, analysed.coverage);
}

inline std::string Error(const std::string& expectations) {
  expectations::Expectations source;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(expectations, &source));
  const auto compiled = analyzers::CompileExpectations(source);
  return compiled.ok() ? "" : std::string(compiled.status().message());
}

}  // namespace hotproof::tests
