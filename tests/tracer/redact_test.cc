#include "trace/redact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hotproof::trace {
namespace {

using ::testing::ElementsAre;

TEST(RedactArgumentsTest, KeepsWhatSaysWhichCodeRuns) {
  const std::vector<std::string> arguments = {
      "python3", "-m", "vllm.entrypoints.openai.api_server", "--model", "/models/qwen",
      "--max-num-batched-tokens", "2048", "--kv-cache-dtype=fp8", "--skip-tokenizer-init"};
  EXPECT_EQ(RedactArguments(arguments), arguments);
}

TEST(RedactArgumentsTest, HidesValuesOfSecretFlagsAndSecretLookingValues) {
  EXPECT_THAT(RedactArguments({"serve", "--api-key", "abc", "--hf-token=def", "--password", "p"}),
              ElementsAre("serve", "--api-key", "<redacted>", "--hf-token=<redacted>", "--password",
                          "<redacted>"));
  EXPECT_THAT(RedactArguments({"x", "hf_abcdefghijklmnopqrst"}), ElementsAre("x", "<redacted>"));
  EXPECT_THAT(RedactArguments({"https://user:pw@host/x"}), ElementsAre("<redacted>"));
  EXPECT_THAT(RedactArguments({"https://host/x@y"}), ElementsAre("https://host/x@y"));
}

TEST(RedactArgumentsTest, LeavesCodeOut) {
  EXPECT_THAT(RedactArguments({"python3", "-c", "key='x'", "tail"}),
              ElementsAre("python3", "-c", "<code>", "tail"));
}

TEST(RedactArgumentsTest, AFlagAfterASecretFlagIsAFlag) {
  EXPECT_THAT(RedactArguments({"--auth", "--port", "80"}), ElementsAre("--auth", "--port", "80"));
}

TEST(AllowedEnvironmentTest, KeepsListedNamesWithoutSecrets) {
  EXPECT_THAT(AllowedEnvironment({"HOME=/root", "VLLM_USE_DEEP_GEMM=1", "VLLM_API_KEY=abc",
                                  "CUDA_VISIBLE_DEVICES=0", "AWS_SECRET_ACCESS_KEY=z", "LD_PRELOAD=x.so"}),
              ElementsAre("CUDA_VISIBLE_DEVICES=0", "LD_PRELOAD=x.so", "VLLM_API_KEY=<redacted>",
                          "VLLM_USE_DEEP_GEMM=1"));
}

}  // namespace
}  // namespace hotproof::trace
