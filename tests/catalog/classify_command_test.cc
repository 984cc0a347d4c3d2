// The subcommand's options, formats and exit codes. tests/cli/ runs it as part of the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "CLI/CLI.hpp"
#include "cli/classify.h"

namespace hotproof::cli {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

struct Result {
  int exit_code = -1;
  std::string out, err;
};

Result Call(std::vector<std::string> arguments) {
  CLI::App app;
  Result result;
  AddClassify(app, result.exit_code);
  arguments.insert(arguments.begin(), "classify");
  std::reverse(arguments.begin(), arguments.end());
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError&) {
    result.exit_code = 2;
  }
  result.out = ::testing::internal::GetCapturedStdout();
  result.err = ::testing::internal::GetCapturedStderr();
  return result;
}

constexpr char kSwapAb[] =
    "void deep_gemm::fp8_gemm_kernel_swapAB<34816u, 5120u, 64u, 16u, 128u, 1u, 8u>(float*)";

TEST(Classify, WritesJsonWhereThereIsNoTerminal) {
  const Result result = Call({kSwapAb});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(
      result.out,
      std::string("{\"name\":\"") + kSwapAb +
          "\",\"path\":\"flashinfer\",\"kind\":\"gemm\",\"aDtype\":\"e4m3\",\"bDtype\":\"e4m3\","
          "\"scaling\":\"block\",\"tile\":\"64x16x128\",\"n\":34816,\"k\":5120,\"arch\":\"sm90\","
          "\"rule\":\"flashinfer.fp8_blockscale\"}\n");
}

TEST(Classify, WritesATable) {
  const Result result = Call({"--format", "table", kSwapAb, "unheard_of"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, StartsWith("PATH "));
  EXPECT_THAT(result.out, AllOf(HasSubstr("flashinfer  gemm "), HasSubstr("34816"),
                                HasSubstr("deep_gemm::fp8_gemm_kernel_swapAB<34816u, ")));
  EXPECT_THAT(result.out, EndsWith("unheard_of\n"));
}

TEST(Classify, EscapesWhatJsonCannotHold) {
  const Result result = Call({"a\"\\\n\x01\xff\xc3\xa9"});
  EXPECT_THAT(
      result.out,
      StartsWith("{\"name\":\"a\\\"\\\\\\u000a\\u0001\\ufffd\xc3\xa9\",\"path\":\"unknown\""));
  EXPECT_THAT(result.out, Not(HasSubstr("\"m\"")));
}

TEST(Classify, RefusesWhatItCannotUse) {
  EXPECT_EQ(Call({}).exit_code, 2);
  EXPECT_EQ(Call({"--format", "xml", "f"}).exit_code, 2);
  const Result result = Call({"--rules", "/nowhere.textproto", "f"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err,
              AllOf(StartsWith("hotproof: /nowhere.textproto: cannot read"), EndsWith("\n")));
  EXPECT_THAT(Call({"--rules", "/dev/null", "f"}).err, HasSubstr("/dev/null: is empty"));
}

TEST(Classify, TakesRulesFromAPipe) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const std::string rules = "# nothing but a comment\n";
  ASSERT_EQ(write(ends[1], rules.data(), rules.size()), static_cast<ssize_t>(rules.size()));
  close(ends[1]);
  const Result result =
      Call({"--rules", "/dev/fd/" + std::to_string(ends[0]), "--format", "json", "f"});
  close(ends[0]);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\"name\":\"f\""));
}

}  // namespace
}  // namespace hotproof::cli
