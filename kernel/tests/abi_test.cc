// The C ABI where no GPU need be: what it says without one, and what it refuses before looking for
// one.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "kernel/fp8_gemm.h"

namespace {

TEST(Abi, EveryStatusHasASentenceOfItsOwn) {
  std::set<std::string> sentences;
  for (int s = HOTPROOF_OK; s <= HOTPROOF_CUDA_ERROR; ++s) {
    sentences.insert(hotproof_status_string(static_cast<hotproof_status>(s)));
  }
  EXPECT_EQ(sentences.size(), 6u);
  EXPECT_STREQ(hotproof_status_string(static_cast<hotproof_status>(99)), "unknown status");
}

TEST(Abi, RefusesNullPointers) {
  EXPECT_EQ(hotproof_fp8_gemm(nullptr, nullptr), HOTPROOF_INVALID_ARGUMENT);
  EXPECT_EQ(hotproof_fp8_gemm_bf16(nullptr, nullptr), HOTPROOF_INVALID_ARGUMENT);
  EXPECT_EQ(hotproof_fp8_gemm_workspace(8, 128, 128, nullptr, nullptr), HOTPROOF_INVALID_ARGUMENT);
  EXPECT_EQ(hotproof_fp8_gemm_init_workspace(nullptr, 0, nullptr), HOTPROOF_OK);
  EXPECT_EQ(hotproof_fp8_gemm_init_workspace(nullptr, 1 << 20, nullptr), HOTPROOF_INVALID_ARGUMENT);
  EXPECT_EQ(hotproof_quantize_1x128(1, 128, nullptr, 128, nullptr, 128, nullptr, 1, 1, 0, nullptr),
            HOTPROOF_INVALID_ARGUMENT);
}

TEST(Abi, SaysClearlyWhenThereIsNoGpuItCanUse) {
  size_t bytes = 12345;
  const hotproof_status status = hotproof_fp8_gemm_workspace(8, 5120, 6144, &bytes, nullptr);
  switch (status) {
    case HOTPROOF_OK:  // a Hopper GPU: CTAs share tiles
      EXPECT_GT(bytes, 65536u);
      break;
    case HOTPROOF_CUDA_ERROR:  // no driver, no GPU
      EXPECT_NE(hotproof_last_cuda_error(), 0);
      EXPECT_EQ(bytes, 12345u);
      break;
    default:
      EXPECT_EQ(status, HOTPROOF_UNSUPPORTED_DEVICE);
      EXPECT_EQ(bytes, 12345u);
  }
}

}  // namespace
