// What a driver makes of a tensor map, learnt from it and read back: on the bytes of an H200, on a
// driver that puts the same bits elsewhere, and not on one whose bytes hold what nothing tells.
#include "cupti_tracer/core/tensor_map_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <string>

#include "cupti_tracer/core/sites.h"
#include "tests/fake_cuda/driver/tensor_map_bits.h"
#include "tests/tracer/fake_driver.h"

namespace hotproof::tracer {
namespace {

using ::testing::ElementsAre;

// What the driver under test does to the bytes of an H200's.
enum class Driving {
  kAsH200,
  kBitsElsewhere,
  kSetsAnotherBit,
  kDimsDependOnAddress,
  kNoContext,
  kOld
};
Driving driving = Driving::kAsH200;
uint64_t encodings = 0;

const std::array<unsigned, 1024>& Elsewhere() {
  static const auto places = [] {
    std::array<unsigned, 1024> permutation;
    std::iota(permutation.begin(), permutation.end(), 0u);
    std::shuffle(permutation.begin(), permutation.end(), std::mt19937(5));
    return permutation;
  }();
  return places;
}

void PutElsewhere(CUtensorMap* map) {
  uint8_t from[128], to[128] = {};
  std::memcpy(from, map, sizeof from);
  for (unsigned bit = 0; bit < 1024; ++bit) {
    const unsigned place = Elsewhere()[bit];
    if (from[bit / 8] >> bit % 8 & 1) to[place / 8] |= static_cast<uint8_t>(1u << place % 8);
  }
  std::memcpy(map, to, sizeof to);
}

CUresult Encode(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                const cuuint64_t* dims, const cuuint64_t* strides, const cuuint32_t* box,
                const cuuint32_t* steps, CUtensorMapInterleave interleave,
                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                CUtensorMapFloatOOBfill fill) {
  ++encodings;
  if (driving == Driving::kNoContext) return CUDA_ERROR_INVALID_CONTEXT;
  if (driving == Driving::kOld) return CUDA_ERROR_NOT_SUPPORTED;
  const CUresult result = fake_cuda::EncodeTiledTensorMap(
      map, type, rank, address, dims, strides, box, steps, interleave, swizzle, promotion, fill);
  if (result != CUDA_SUCCESS) return result;
  auto* bytes = reinterpret_cast<uint8_t*>(map);
  if (driving == Driving::kBitsElsewhere) PutElsewhere(map);
  if (driving == Driving::kSetsAnotherBit) bytes[8] |= 2;
  if (driving == Driving::kDimsDependOnAddress) {
    for (int i = 0; i < 4; ++i) bytes[32 + i] ^= bytes[i] ^ bytes[4];
  }
  return CUDA_SUCCESS;
}

CUresult EncodeMap(const TiledTensorMap& map, uint8_t (&bytes)[128]) {
  CUtensorMap encoded = {};
  const CUresult result = Encode(
      &encoded, static_cast<CUtensorMapDataType>(map.data_type), map.rank,
      reinterpret_cast<void*>(map.address), reinterpret_cast<const cuuint64_t*>(map.dims.data()),
      reinterpret_cast<const cuuint64_t*>(map.strides.data()), map.box.data(),
      map.element_strides.data(), CU_TENSOR_MAP_INTERLEAVE_NONE,
      static_cast<CUtensorMapSwizzle>(map.swizzle),
      static_cast<CUtensorMapL2promotion>(map.l2_promotion),
      static_cast<CUtensorMapFloatOOBfill>(map.oob_fill));
  std::memcpy(bytes, &encoded, sizeof bytes);
  return result;
}

std::unique_ptr<const TensorMapLayout> Learn(Driving how) {
  driving = how;
  CUresult result;
  auto layout = TensorMapLayout::Learn(&Encode, result);
  EXPECT_EQ(result, how == Driving::kNoContext ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS);
  return layout;
}

// An operand of a GEMM, as libraries describe it.
TiledTensorMap Operand(uint64_t address, uint64_t inner, uint64_t outer) {
  return {.data_type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
          .rank = 2,
          .swizzle = CU_TENSOR_MAP_SWIZZLE_128B,
          .l2_promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
          .address = address,
          .dims = {inner, outer},
          .strides = {(inner * 2 + 15) / 16 * 16},
          .box = {64, 128},
          .element_strides = {1, 1}};
}

TiledTensorMap RandomMap(std::mt19937_64& random) {
  constexpr unsigned kBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  TiledTensorMap map;
  map.data_type = random() % 13;
  map.rank = 1 + random() % 5;
  map.swizzle = random() % 2 == 0 ? CU_TENSOR_MAP_SWIZZLE_NONE : CU_TENSOR_MAP_SWIZZLE_128B;
  map.l2_promotion = random() % 4;
  map.oob_fill = map.data_type >= CU_TENSOR_MAP_DATA_TYPE_FLOAT16 ? random() % 2 : 0;
  map.address = (1 + random() % (uint64_t{1} << 43)) * 16;
  for (uint32_t i = 0; i < map.rank; ++i) {
    map.dims[i] = 1 + random() % (uint64_t{1} << (1 + random() % 32));
    if (i + 1 < map.rank) map.strides[i] = (1 + random() % ((uint64_t{1} << 36) - 1)) * 16;
    map.box[i] = i == 0 ? 16 / kBytes[map.data_type] * (1 + random() % 8) : 1 + random() % 6;
    map.element_strides[i] = random() % 4 == 0 ? 1 + random() % 8 : 1;
  }
  return map;
}

// Maps as an H200 made them (driver 580.159.04); zeros at the end are left out.
struct Made {
  TiledTensorMap map;
  const char* hex;
};
const Made kMade[] = {
    {{5, 1, 3, 3, 0, 0x32c63386bc80, {{789}}, {{}}, {{16}}, {{1}}},
     "80bc8633c6320000806206000000000000000000000000000000000000000000140300000000000000000000"
     "00000000000000000000000f000000000000000080000000000000000004"},
    {{9,
      5,
      3,
      3,
      1,
      0x148113db6600,
      {{3846, 4, 2, 428, 30}},
      {{8384, 34544, 69328, 29673120}},
      {{56, 36, 7, 2, 4}},
      {{1, 1, 1, 1, 1}}},
     "0066db138114000040e506000c0200006f080000ed1000006a4c1c0000000000050f00000300000001000000"
     "ab0100001d00000000000037230601030000000000720300000000000004"},
    {{2,
      3,
      1,
      2,
      0,
      0x4b5e09c8b00,
      {{2791103, 244, 362}},
      {{11165392, 2724355824}},
      {{8, 58, 56}},
      {{1, 1, 1}}},
     "008b9ce0b504000020210400eda50a00ef25260a000000000000000000000000be962a00f300000069010000"
     "000000000000000000000007393700000000000000960100000000000001"},
    {{7,
      3,
      3,
      3,
      1,
      0x618ecd2c880,
      {{45504, 5309, 17}},
      {{182336, 968022688}},
      {{4, 11, 52}},
      {{1, 1, 1}}},
     "80c8d2ec18060000a0e30600842c0000aa2d9b03000000000000000000000000bfb10000bc14000010000000"
     "0000000000000000000000030a33000000000000c0230000000000000004"},
    {{4,
      5,
      3,
      1,
      0,
      0xccb0eb2f280,
      {{12, 12, 108, 1922, 2213}},
      {{688, 8688, 938880, 1804527920}},
      {{6, 49, 47, 3, 2}},
      {{1, 1, 1, 4, 1}}},
     "80f2b20ecb0c0000406202002b0000001f02000038e5000093eeb806000000000b0000000b0000006b000000"
     "81070000a408000000060005302e02010000000000000000000000000004"},
    {{1, 2, 1, 2, 0, 0x38c2df0a9300, {{7228, 5}}, {{15136}}, {{16, 18}}, {{1, 1}}},
     "00930adfc238000090200400b2030000000000000000000000000000000000003b1c00000400000000000000"
     "00000000000000000000000f110000000000000040020000000000000001"},
    {{0, 1, 2, 2, 0, 0x140b6123f880, {{40155}}, {{}}, {{16}}, {{1}}},
     "80f823610b140000004004000000000000000000000000000000000000000000da9c00000000000000000000"
     "00000000000000000000000f000000000000000010000000000000000002"},
    {{6, 2, 1, 1, 1, 0x3325a9d42580, {{4025, 387}}, {{8576}}, {{16, 47}}, {{1, 2}}},
     "8025d4a92533000010a302001802000000000000000000000000000000000000b80f00008201000000000000"
     "00000000000000000800000f2e00000000000000e0020000000000000001"},
    {{12,
      3,
      0,
      1,
      1,
      0x30766d9e7300,
      {{2, 1531, 2397}},
      {{464, 710608}},
      {{4, 30, 47}},
      {{1, 1, 3}}},
     "00739e6d76300000208403001d0000007dad000000000000000000000000000001000000fa0500005c090000"
     "0000000000000000800000031d2e000000000000201c00000000000010"},
    {{11, 2, 0, 1, 1, 0x1a6ed84e7600, {{145102, 771}}, {{581184}}, {{4, 4}}, {{1, 1}}},
     "00764ed86e1a000090830300e48d000000000000000000000000000000000000cd3602000203000000000000"
     "0000000000000000000000030300000000000000400000000000000010"},
    {{3,
      4,
      0,
      2,
      0,
      0x1924137a3980,
      {{1, 50, 463, 443}},
      {{176, 9088, 4207824}},
      {{8, 43, 35, 4}},
      {{1, 1, 1, 1}}},
     "80397a1324190000b00104000b000000380200004d03040000000000000000000000000031000000ce010000"
     "ba01000000000000000000072a2203000000000080f002000000000010"},
    {{8,
      4,
      1,
      0,
      1,
      0x2721fe6efa00,
      {{45, 804, 2, 32}},
      {{912, 733728, 1468160}},
      {{4, 63, 27, 3}},
      {{1, 1, 1, 1}}},
     "00fa6efe21270000b0a400003900000022b300007066010000000000000000002c0000002303000001000000"
     "1f00000000000000000000033e1a020000000000e07d0200000000000001"},
    {{10, 1, 0, 0, 0, 0x13e099574300, {{3127651}}, {{}}, {{4}}, {{1}}},
     "00435799e013000000040000000000000000000000000000000000000000000062b92f000000000000000000"
     "0000000000000000000000030000000000000000100000000000000010"},
};

TEST(TensorMapLayoutTest, ReadsTheBytesOfAnH200) {
  const auto layout = Learn(Driving::kAsH200);
  ASSERT_NE(layout, nullptr);
  for (const Made& made : kMade) {
    uint8_t expected[128] = {}, bytes[128];
    for (size_t i = 0; made.hex[2 * i] != '\0'; ++i) {
      expected[i] = static_cast<uint8_t>(std::stoi(std::string(made.hex + 2 * i, 2), nullptr, 16));
    }
    ASSERT_EQ(EncodeMap(made.map, bytes), CUDA_SUCCESS);
    EXPECT_EQ(std::memcmp(bytes, expected, sizeof bytes), 0)
        << "the stand-in is no H200: " << made.hex;
    EXPECT_EQ(layout->Decode(expected), made.map) << made.hex;
  }
}

TEST(TensorMapLayoutTest, ReadsEveryMapOfADriverWhoseBitsItLearnt) {
  for (const Driving how : {Driving::kAsH200, Driving::kBitsElsewhere, Driving::kSetsAnotherBit}) {
    const auto layout = Learn(how);
    ASSERT_NE(layout, nullptr);
    std::mt19937_64 random(1);
    for (int i = 0; i < 2000; ++i) {
      const TiledTensorMap map = RandomMap(random);
      uint8_t bytes[128];
      ASSERT_EQ(EncodeMap(map, bytes), CUDA_SUCCESS);
      ASSERT_EQ(layout->Decode(bytes), map) << i;
    }
  }
}

TEST(TensorMapLayoutTest, RefusesWhatTheDriverWouldNotMakeSo) {
  const auto layout = Learn(Driving::kAsH200);
  ASSERT_NE(layout, nullptr);
  const TiledTensorMap map = Operand(0x7f0000010000, 5120, 14336);
  uint8_t bytes[128];
  ASSERT_EQ(EncodeMap(map, bytes), CUDA_SUCCESS);
  ASSERT_EQ(layout->Decode(bytes), map);
  // Any one bit changed makes another map or none, never the same one.
  int others = 0;
  for (unsigned bit = 0; bit < 1024; ++bit) {
    uint8_t changed[128], again[128];
    std::memcpy(changed, bytes, sizeof changed);
    changed[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
    const auto decoded = layout->Decode(changed);
    if (!decoded) continue;
    ++others;
    ASSERT_EQ(EncodeMap(*decoded, again), CUDA_SUCCESS);
    EXPECT_EQ(std::memcmp(changed, again, sizeof again), 0) << bit;
  }
  EXPECT_GT(others, 100);  // dims, strides, address
  // A flag that this driver never sets, with dims that look right: cuBLASLt's own maps have it.
  bytes[8] |= 2;
  EXPECT_EQ(layout->Decode(bytes), std::nullopt);
  const uint8_t zeros[128] = {};
  EXPECT_EQ(layout->Decode(zeros), std::nullopt);
  std::mt19937_64 random(2);
  for (int i = 0; i < 10000; ++i) {
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    ASSERT_EQ(layout->Decode(bytes), std::nullopt);
  }
  // Learnt of one driver, the bytes of another.
  driving = Driving::kBitsElsewhere;
  ASSERT_EQ(EncodeMap(map, bytes), CUDA_SUCCESS);
  EXPECT_EQ(layout->Decode(bytes), std::nullopt);
}

TEST(TensorMapLayoutTest, DoesNotLearnWhatItDoesNotUnderstand) {
  EXPECT_EQ(Learn(Driving::kDimsDependOnAddress), nullptr);
  EXPECT_EQ(Learn(Driving::kOld), nullptr);
  EXPECT_EQ(Learn(Driving::kNoContext), nullptr);
  CUresult result;
  EXPECT_EQ(TensorMapLayout::Learn(nullptr, result), nullptr);
}

TEST(TensorMapLayoutTest, WaitsForAContextAndAsksAnOldDriverOnce) {
  LearntTensorMaps maps(&Encode);
  driving = Driving::kNoContext;
  EXPECT_EQ(maps.Get(), nullptr);
  driving = Driving::kAsH200;
  EXPECT_NE(maps.Get(), nullptr);

  LearntTensorMaps of_old(&Encode);
  driving = Driving::kOld;
  EXPECT_EQ(of_old.Get(), nullptr);
  encodings = 0;
  EXPECT_EQ(of_old.Get(), nullptr);
  EXPECT_EQ(encodings, 0u);
}

class UnseenMapsTest : public ::testing::Test {
 protected:
  UnseenMapsTest() {
    driving = Driving::kAsH200;
    driver_ = FakeDriver();
    driver_.TensorMapEncodeTiled = &Encode;
    // As the driver places them: a struct's maps at 64 bytes from 16 on.
    state_.kernels[function_] = {"k", {0, 48, 176}, {4, 128, 200}};
    for (uint64_t i = 1; i <= 4; ++i) state_.device_addresses.insert(0x7f0000000000 + i * 0x10000);
  }
  uint32_t Launch(Sites& sites, uint64_t a, uint64_t b, uint64_t tokens) {
    EXPECT_EQ(EncodeMap(Operand(a, 5120, tokens), a_), CUDA_SUCCESS);
    EXPECT_EQ(EncodeMap(Operand(b, 5120, 14336), *reinterpret_cast<uint8_t(*)[128]>(b_)),
              CUDA_SUCCESS);
    encodings = 0;
    int scalar = 7;
    void* params[] = {&scalar, a_, b_};
    LaunchDescription d;
    d.function = static_cast<CUfunction>(function_);
    d.grid[0] = d.grid[1] = d.grid[2] = d.block[0] = d.block[1] = d.block[2] = 1;
    d.kernel_params = params;
    return sites.Resolve(d);
  }

  FakeState& state_ = ResetFakeState();
  void* const function_ = Handle<void*>(0x1000);
  ScratchTrace scratch_;
  Driver driver_;
  uint8_t a_[128], b_[200] = {};
};

TEST_F(UnseenMapsTest, TellTheirDimsAndSayHowThatIsKnown) {
  Sites sites(scratch_.file(), driver_);
  const uint32_t first = Launch(sites, 0x7f0000010000, 0x7f0000020000, 8);
  EXPECT_GT(encodings, 0u);
  // The same again: nothing is encoded.
  EXPECT_EQ(Launch(sites, 0x7f0000010000, 0x7f0000020000, 8), first);
  EXPECT_EQ(encodings, 0u);
  // Another address is another map of the same description: two encodings to make sure of two maps.
  EXPECT_EQ(Launch(sites, 0x7f0000030000, 0x7f0000040000, 8), first);
  EXPECT_EQ(encodings, 2u);
  const uint32_t other = Launch(sites, 0x7f0000030000, 0x7f0000040000, 9);
  EXPECT_NE(other, first);

  const auto reader = scratch_.Read();
  const trace::Tables& tables = reader->tables();
  for (const auto& [site, tokens] : {std::pair(first, 8u), std::pair(other, 9u)}) {
    const auto& uses = tables.sites.at(site).tensor_maps();
    ASSERT_EQ(uses.size(), 2);
    EXPECT_EQ(uses[0].argument_offset(), 48u);
    EXPECT_EQ(uses[1].argument_offset(), 176u);
    const trace::TensorMap& a = tables.tensor_maps.at(uses[0].tensor_map_id());
    EXPECT_THAT(a.global_dims(), ElementsAre(5120, tokens));
    EXPECT_THAT(a.global_strides(), ElementsAre(10240));
    EXPECT_THAT(a.box_dims(), ElementsAre(64, 128));
    EXPECT_THAT(a.element_strides(), ElementsAre(1, 1));
    EXPECT_EQ(a.data_type(), CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
    EXPECT_EQ(a.swizzle(), CU_TENSOR_MAP_SWIZZLE_128B);
    EXPECT_TRUE(a.learnt());
    EXPECT_THAT(tables.tensor_maps.at(uses[1].tensor_map_id()).global_dims(),
                ElementsAre(5120, 14336));
  }
}

// A CUTLASS problem, a few small numbers among zeros, was the bytes of a map on an H200.
TEST_F(UnseenMapsTest, AreNoMapsOfWhatIsNoMemory) {
  Sites sites(scratch_.file(), driver_);
  const uint32_t site = Launch(sites, 0x7f0000010000, 0x178000000000, 8);
  const auto reader = scratch_.Read();
  const auto& uses = reader->tables().sites.at(site).tensor_maps();
  ASSERT_EQ(uses.size(), 1);
  EXPECT_EQ(uses[0].argument_offset(), 48u);
}

TEST_F(UnseenMapsTest, AreBytesWhereNothingWasLearnt) {
  driving = Driving::kDimsDependOnAddress;
  state_.device_addresses.clear();  // nothing of it is masked
  Sites sites(scratch_.file(), driver_);
  const uint32_t site = Launch(sites, 0x7f0000010000, 0x7f0000020000, 8);
  EXPECT_EQ(Launch(sites, 0x7f0000010000, 0x7f0000020000, 8), site);
  EXPECT_EQ(encodings, 0u);
  const auto reader = scratch_.Read();
  EXPECT_EQ(reader->tables().sites.at(site).tensor_maps_size(), 0);
  EXPECT_EQ(reader->tables().sites.at(site).arguments().substr(48, 128),
            std::string(reinterpret_cast<const char*>(a_), sizeof a_));
}

TEST_F(UnseenMapsTest, AreNotLearntForKernelsWithoutRoomForThem) {
  state_.kernels[function_] = {"k", {0, 8, 16}, {4, 8, 100}};
  Sites sites(scratch_.file(), driver_);
  Launch(sites, 0x7f0000010000, 0x7f0000020000, 8);
  EXPECT_EQ(encodings, 0u);
}

}  // namespace
}  // namespace hotproof::tracer
