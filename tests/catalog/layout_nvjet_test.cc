// Problem sizes from argument bytes of cuBLASLt's nvjet kernels, whose structs say each of them several times.
#include <gtest/gtest.h>

#include <string>

#include "tests/catalog/layout_reading.h"

namespace hotproof::catalog {
namespace {

TEST_F(LayoutTest, NvjetNeedsEveryPlaceToAgree) {
  const std::string name = "nvjet_sm90_tst_64x8_64x16_2x1_v_bz_splitK_TNT";
  // Of an H200 run: 8 x 96 x 5120 in three parts.
  Launch launch{{1720},
                {{416, 95},
                 {420, 7},
                 {208, 5119},
                 {212, 95},
                 {272, 5119},
                 {276, 7},
                 {592, 95},
                 {596, 7},
                 {352, 96},
                 {320, 1728}},
                {}};
  Expect("cublaslt.nvjet_tn", {8, 96, 5120}, name, launch);
  for (size_t i = 0; i < 8; ++i) {
    Launch other = launch;
    other.words[i].second += 1;
    EXPECT_TRUE(Read(classifier_, name, other)->contradiction) << i;
  }
  // A part is K in whole tiles where there is one, and never more.
  Launch ragged = launch;
  ragged.words[2].second = ragged.words[4].second = 392 - 1;
  ragged.words[9].second = 448;
  Expect("cublaslt.nvjet_tn", {8, 96, 392}, name, ragged);
  ragged.words[9].second = 449;
  EXPECT_TRUE(Read(classifier_, name, ragged)->contradiction);
  Launch batched = launch;
  batched.words.push_back({216, 3});
  EXPECT_TRUE(Read(classifier_, name, batched)->contradiction);
  // Another version's struct, a batch by pointers, whose number the struct does not tell: nothing
  // is read.
  launch.sizes[0] = 1728;
  EXPECT_FALSE(Read(classifier_, name, launch).has_value());
  launch.sizes[0] = 1720;
  EXPECT_FALSE(
      Read(classifier_, "nvjet_sm90_tst_64x40_64x16_1x2_h_bz_ptrBatch_TNT", launch).has_value());
  // Another order than the name's: the extents are exchanged.
  for (const char* other : {"nvjet_sm90_tst_64x8_64x16_2x1_v_bz_splitK_NNT",
                            "nvjet_sm90_tst_64x8_64x16_2x1_v_bz_splitK_NTN",
                            "nvjet_sm90_tst_64x8_64x16_2x1_v_bz_splitK_TTT"}) {
    EXPECT_TRUE(Read(classifier_, other, launch)->contradiction) << other;
  }
}

// Of an H200 run.
TEST_F(LayoutTest, NvjetWhoseOperandsHaveKOutside) {
  const std::string name = "nvjet_sm90_tst_96x64_64x8_1x4_h_bz_NNN";
  const Launch batched{{1720},
                       {{416, 71},
                        {420, 188},
                        {208, 71},
                        {212, 151},
                        {216, 27},
                        {272, 151},
                        {276, 188},
                        {280, 27},
                        {592, 71},
                        {596, 188},
                        {600, 27},
                        {352, 72},
                        {320, 152}},
                       {}};
  Expect("cublaslt.nvjet_nn", {189, 72, 152}, name, batched);
  EXPECT_EQ(Read(classifier_, name, batched)->batch, 28);
  for (size_t i = 0; i < 11; ++i) {
    Launch other = batched;
    other.words[i].second += 1;
    EXPECT_TRUE(Read(classifier_, name, other)->contradiction) << i;
  }
  const Launch transposed{{1720},
                          {{416, 263},
                           {420, 3775},
                           {208, 263},
                           {212, 4},
                           {272, 3775},
                           {276, 4},
                           {592, 263},
                           {596, 3775},
                           {352, 264},
                           {320, 5}},
                          {}};
  Expect("cublaslt.nvjet_nt", {3776, 264, 5}, "nvjet_sm90_tst_96x128_64x6_4x2_h_bz_NTN",
         transposed);
}

TEST_F(LayoutTest, NvjetWhoseSecondOperandAloneHasKOutside) {
  Expect("cublaslt.nvjet_tt", {4080, 1984, 456}, "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TTT",
         {{1720},
          {{416, 1983},
           {420, 4079},
           {208, 455},
           {212, 1983},
           {272, 4079},
           {276, 455},
           {592, 1983},
           {596, 4079},
           {352, 1984},
           {320, 512}},
          {}});
}

}  // namespace
}  // namespace hotproof::catalog
