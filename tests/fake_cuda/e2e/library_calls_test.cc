// Calls into cuBLAS and cuBLASLt: each kernel, a workspace's fill too, is given the outermost call
// that launched or captured it, with what that call asked for; the calls' results and the program's
// output stay as they were.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/fake_cuda/e2e/traced_program.h"

namespace hotproof::e2e {
namespace {

class LibraryCallTest : public testing::TestWithParam<std::string> {};

TEST_P(LibraryCallTest, KernelsAreTheOutermostCalls) {
  const std::vector<std::string> command = {BLAS_PROGRAM, BLAS_USER, GetParam()};
  const RunResult plain = RunProgram(command, {.traced = false});
  ASSERT_TRUE(plain.exited);
  ASSERT_EQ(plain.code, 0) << plain.output << plain.errors;
  const std::string directory = NewDirectory();
  const RunResult traced = RunProgram(command, {.out_directory = directory});
  EXPECT_EQ(traced.code, 0) << traced.errors;
  EXPECT_EQ(plain.output, traced.output);
  EXPECT_EQ(plain.errors, traced.errors);
  const std::vector<TraceSummary> traces = ReadTraces(directory);
  ASSERT_EQ(1u, traces.size());
  const trace::Tables& tables = traces[0].tables;

  // (entry point, captured) -> kernels, each once.
  std::map<std::pair<std::string, bool>, std::vector<std::string>> kernels;
  std::map<std::string, trace::LibraryCall> calls;
  for (size_t id = 1; id < tables.sites.size(); ++id) {
    const trace::Site& site = tables.sites[id];
    const std::string& name = tables.kernels[site.kernel_id()].name();
    if (name == "probe_count") {
      EXPECT_FALSE(site.has_library_call());
      EXPECT_THAT(site.launching_library(), testing::EndsWith("blas_program"));
      continue;
    }
    ASSERT_TRUE(site.has_library_call()) << name;
    const trace::LibraryCall& call = site.library_call();
    kernels[{call.entry_point(), site.captured()}].push_back(name.substr(0, 5));
    calls[call.entry_point()] = call;
  }
  ASSERT_EQ(calls.size(), 9u);
  for (const auto& [entry, call] : calls) {
    for (const bool captured : {false, true}) {
      EXPECT_THAT((kernels[{entry, captured}]),
                  testing::UnorderedElementsAre("clear", "nvjet", "_ZN8c"))
          << entry << captured;
    }
  }

  const trace::LibraryCall& matmul = calls["cublasLtMatmul"];
  EXPECT_EQ(matmul.m(), 96u);
  EXPECT_EQ(matmul.n(), 8u);
  EXPECT_EQ(matmul.k(), 5120u);
  EXPECT_EQ(matmul.operation_a(), 1u);
  EXPECT_EQ(matmul.a_type(), 29u);
  EXPECT_EQ(matmul.d_type(), 15u);
  EXPECT_EQ(matmul.compute_type(), 68u);
  EXPECT_EQ(matmul.epilogue(), 4u);
  EXPECT_EQ(matmul.a_scale_mode(), 6u);
  EXPECT_EQ(matmul.b_scale_mode(), 5u);
  EXPECT_EQ(matmul.d_scale_mode(), 0u);  // this version has no such attribute
  const trace::LibraryCall& ex = calls["cublasGemmEx"];
  EXPECT_EQ(ex.m(), 1024u);
  EXPECT_EQ(ex.n(), 16u);
  EXPECT_EQ(ex.k(), 4096u);
  EXPECT_EQ(ex.b_type(), 15u);
  const trace::LibraryCall& batched = calls["cublasGemmStridedBatchedEx_64"];
  EXPECT_EQ(batched.batch(), 12u);
  EXPECT_EQ(batched.stride_d(), 8192u);
  EXPECT_EQ(batched.lda(), 128u);
  EXPECT_EQ(calls["cublasSgemm_v2"].a_type(), 1u);
  EXPECT_EQ(calls["cublasSgemm_v2"].k(), 3u);
  const trace::LibraryCall& grouped = calls["cublasGemmGroupedBatchedEx"];
  EXPECT_EQ(grouped.groups(), 2u);
  EXPECT_EQ(grouped.batch(), 5u);
  EXPECT_EQ(grouped.m(), 64u);
  EXPECT_EQ(grouped.n(), 0u);  // differs from group to group
  const trace::LibraryCall& mixed = calls["cublasSgemmGroupedBatched"];
  EXPECT_EQ(mixed.m(), 64u);
  EXPECT_EQ(mixed.n() + mixed.k(), 0u);
  EXPECT_EQ(mixed.a_type(), 1u);
  const trace::LibraryCall& empty = calls["cublasCgemm3mEx_64"];
  EXPECT_EQ(empty.m(), 1u);
  EXPECT_EQ(empty.k(), 0u);
  EXPECT_EQ(empty.ldd(), 4096u);
  EXPECT_EQ(empty.operation_b(), 2u);
  EXPECT_EQ(empty.a_type(), 5u);
  // A vector is a product of one column: y long, x deep.
  for (const char* vector : {"cublasSgemv_v2", "cublasHSSgemvStridedBatched"}) {
    EXPECT_EQ(calls[vector].m(), 96u) << vector;
    EXPECT_EQ(calls[vector].n(), 1u) << vector;
    EXPECT_EQ(calls[vector].k(), 5120u) << vector;
  }
  EXPECT_EQ(calls["cublasSgemv_v2"].operation_a(), 1u);
  EXPECT_EQ(calls["cublasHSSgemvStridedBatched"].lda(), 128u);
  EXPECT_EQ(calls["cublasHSSgemvStridedBatched"].batch(), 6u);
  EXPECT_EQ(calls["cublasHSSgemvStridedBatched"].a_type(), 3u);
  EXPECT_EQ(calls["cublasHSSgemvStridedBatched"].d_type(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Opened, LibraryCallTest, testing::Values("local", "global"));

}  // namespace
}  // namespace hotproof::e2e
