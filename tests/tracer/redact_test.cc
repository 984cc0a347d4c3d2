#include "trace/redact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hotproof::trace {
namespace {

using ::testing::ElementsAre;

TEST(RedactArgumentsTest, KeepsWhatSaysWhichCodeRuns) {
  const std::vector<std::string> arguments = {"python3",
                                              "-u",
                                              "-m",
                                              "vllm.entrypoints.openai.api_server",
                                              "--max-num-batched-tokens",
                                              "2048",
                                              "--kv-cache-dtype=fp8",
                                              "--skip-tokenizer-init",
                                              "--gpu-memory-utilization",
                                              "0.9",
                                              "-tp",
                                              "8",
                                              "--quantization",
                                              "compressed-tensors",
                                              "-O3",
                                              "--enable-prefix-caching=false",
                                              "--cuda-graph-sizes",
                                              "1",
                                              "2",
                                              "4",
                                              "--max-model-len",
                                              "16k",
                                              "--seed",
                                              "-1"};
  EXPECT_EQ(RedactArguments(arguments), arguments);
}

TEST(RedactArgumentsTest, KeepsTheLastComponentOfModelsAndPrograms) {
  EXPECT_THAT(RedactArguments({"/home/ann/bin/vllm", "serve", "/data/ann/Qwen3.5-27B-FP8/",
                               "--tokenizer", "Qwen/Qwen3.5-27B", "--served-model-name=ann/mine"}),
              ElementsAre("vllm", "serve", "Qwen3.5-27B-FP8", "--tokenizer", "Qwen3.5-27B",
                          "--served-model-name=mine"));
  EXPECT_THAT(RedactArguments({"python", "/home/ann/serve.py", "/home/ann/notes.txt"}),
              ElementsAre("python", "serve.py", "<redacted>"));
}

TEST(RedactArgumentsTest, LeavesOutWhatIsOnNoList) {
  EXPECT_THAT(
      RedactArguments({"x", "--uploads", "ann@host:/x", "--name=Ann", "-pAnn", "letters"}),
      ElementsAre("x", "--uploads", "<redacted>", "--name=<redacted>", "<redacted>", "<redacted>"));
  EXPECT_THAT(RedactArguments({"x", "--odd name", "--account", "1234567890123456"}),
              ElementsAre("x", "<redacted>", "--account", "<redacted>"));
}

TEST(RedactArgumentsTest, HidesValuesOfSecretOptionsAndSecretLookingValues) {
  EXPECT_THAT(RedactArguments({"serve", "--api-key", "123", "--hf-token=true", "--password", "p"}),
              ElementsAre("serve", "--api-key", "<redacted>", "--hf-token=<redacted>", "--password",
                          "<redacted>"));
  EXPECT_THAT(RedactArguments({"x", "--model", "hf_abcdefghijklmnopqrst"}),
              ElementsAre("x", "--model", "<redacted>"));
  EXPECT_THAT(RedactArguments({"x", "--model", "https://host/a/x?token=abc#d"}),
              ElementsAre("x", "--model", "x"));
  EXPECT_THAT(RedactArguments({"x", "--model", "https://user:pw@host/x"}),
              ElementsAre("x", "--model", "<redacted>"));
}

TEST(RedactArgumentsTest, LeavesCodeOut) {
  EXPECT_THAT(RedactArguments({"python3", "-c", "key='x'", "7"}),
              ElementsAre("python3", "-c", "<code>", "7"));
  EXPECT_THAT(RedactArguments({"python3", "-c", "-x"}), ElementsAre("python3", "-c", "<code>"));
}

TEST(RedactArgumentsTest, AnOptionAfterASecretOptionIsAnOption) {
  EXPECT_THAT(RedactArguments({"x", "--auth", "--port", "80"}),
              ElementsAre("x", "--auth", "--port", "80"));
}

TEST(AllowedEnvironmentTest, KeepsListedNamesWithoutSecrets) {
  EXPECT_THAT(
      AllowedEnvironment({"HOME=/root", "VLLM_USE_DEEP_GEMM=1", "VLLM_API_KEY=abc",
                          "CUDA_VISIBLE_DEVICES=0", "AWS_SECRET_ACCESS_KEY=z", "LD_PRELOAD=x.so"}),
      ElementsAre("CUDA_VISIBLE_DEVICES=0", "LD_PRELOAD=x.so", "VLLM_API_KEY=<redacted>",
                  "VLLM_USE_DEEP_GEMM=1"));
}

}  // namespace
}  // namespace hotproof::trace
