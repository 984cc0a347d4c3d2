// Masking loses no extent and no stride: arguments as each library lays them out, device addresses
// and tensor maps included, go through the tracer; beside them the bytes before masking. What is
// not an address comes back as it was, and the shape read from the trace is the one that was asked
// for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "analyzers/shape_evidence.h"
#include "catalog/classifier.h"
#include "cupti_tracer/core/sites.h"
#include "tests/tracer/fake_driver.h"

namespace hotproof::tracer {
namespace {

using analyzers::Provenance;
using analyzers::Shape;

struct Word {
  uint32_t offset;
  uint64_t value;
  uint32_t bytes = 4;
};

struct Library {
  const char* name;  // the kernel's
  std::vector<size_t> offsets, sizes;
  std::vector<uint32_t> pointers;     // offsets of device addresses
  std::vector<uint32_t> tensor_maps;  // offsets of maps (their dims are not used here)
  // The extents where the library puts them, and strides around them.
  std::vector<Word> (*place)(uint32_t m, uint32_t n, uint32_t k);
};

constexpr uint32_t kOne = 1;

const Library kLibraries[] = {
    {"_ZN9deep_gemm23sm90_fp8_gemm_1d2d_"
     "implILN4cute4UMMA5MajorE0ELj0ELj0ELj0ELj1ELj16ELj128ELj128EEEvPfPi",
     {0, 8, 16, 20, 24, 64, 192, 320, 448},
     {8, 8, 4, 4, 4, 128, 128, 128, 128},
     {0, 8},
     {64, 192, 320, 448},
     [](uint32_t m, uint32_t n, uint32_t k) {
       return std::vector<Word>{{16, m}, {20, n}, {24, k}};
     }},
    // mode, extents, a mainloop of pointers and 64-bit strides, an epilogue.
    {"void cutlass::device_kernel<vllm::cutlass_3x_gemm_fp8_blockwise<cutlass::bfloat16_t, 1, 128, "
     "128, cute::tuple<cute::C<128>, cute::C<128>, cute::C<128>>, cute::tuple<cute::C<1>, "
     "cute::C<1>, cute::C<1>>, E, cutlass::gemm::KernelTmaWarpSpecializedCooperativeFP8Blockwise, "
     "false>::GemmKernel>(P)",
     {0},
     {640},
     {24, 48, 72, 632},
     {128, 256},
     [](uint32_t m, uint32_t n, uint32_t k) {
       return std::vector<Word>{{0, 0},
                                {4, m},
                                {8, n},
                                {12, k},
                                {16, kOne},
                                {32, k, 8},
                                {40, uint64_t{m} * k, 8},
                                {56, k, 8},
                                {64, uint64_t{n} * k, 8},
                                {80, n, 8},
                                {88, uint64_t{m} * n, 8}};
     }},
    {"_ZN8hotproof6kernel27sm90_fp8_gemm_1x128_128x128ILi8ELb0EEEvNS0_10GemmParamsE",
     {0},
     {512},
     {64, 88, 112, 128},
     {256, 384},
     [](uint32_t m, uint32_t n, uint32_t k) {
       return std::vector<Word>{{0, m}, {4, n}, {8, k}, {120, k, 8}, {136, n, 8}};
     }},
    {"_w8a8_triton_block_scaled_mm",
     {0, 8, 16, 24, 32, 40, 44, 48, 52, 56, 60, 64, 68, 72, 76, 80, 88},
     {8, 8, 8, 8, 8, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 8, 8},
     {0, 8, 16, 24, 32},
     {},
     [](uint32_t m, uint32_t n, uint32_t k) {
       return std::vector<Word>{{40, m},
                                {44, n},
                                {48, k},
                                {52, 128},
                                {56, 128},
                                {60, k},
                                {64, k},
                                {68, n},
                                {72, (k + 127) / 128},
                                {76, (k + 127) / 128}};
     }},
    {"_ZN6marlin6MarlinILl1125899906909960ELl1125899907892224ELl1125899906909960ELl1125899906909960"
     "ELi256ELi1ELi8ELi8ELb0ELi4ELi8ELb0EEEvPK4int4",
     {0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 84, 88, 92, 96, 104, 112, 113, 114, 116},
     {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 4, 4, 4, 4, 4, 8, 1, 1, 1, 4},
     {0, 8, 16, 24, 32, 40, 104},
     {},
     [](uint32_t m, uint32_t n, uint32_t k) {
       return std::vector<Word>{{80, k / 128}, {84, m}, {88, n}, {92, k}, {96, k}};
     }},
    {"nvjet_sm90_tst_64x8_64x16_2x1_v_bz_TNT",
     {0},
     {1720},
     {176, 240, 328, 432, 496, 560, 624, 1704, 1712},
     {},
     [](uint32_t m, uint32_t n, uint32_t k) {
       return std::vector<Word>{{208, k - 1}, {212, n - 1}, {272, k - 1}, {276, m - 1},
                                {320, k},     {352, n},     {416, n - 1}, {420, m - 1},
                                {592, n - 1}, {596, m - 1}};
     }},
};

class MaskingTest : public ::testing::TestWithParam<Library> {
 protected:
  // Allocations as drivers place them: most from 0x7e.. on, some low.
  uint64_t NewAddress(std::mt19937_64& random) {
    const uint64_t base = random() % 4 == 0 ? (2 + random() % 200) << 32 : 0x7e0000000000;
    const uint64_t address = base + (random() % (1ull << 38)) / 256 * 256;
    state_.device_addresses.insert(address);
    return address;
  }

  FakeState& state_ = ResetFakeState();
};

TEST_P(MaskingTest, LosesNoExtentAndNoStride) {
  const Library& library = GetParam();
  const auto classifier = catalog::Classifier::Create();
  ASSERT_TRUE(classifier.ok());
  const catalog::KernelClass kernel_class = classifier->Classify(library.name);
  ASSERT_EQ(kernel_class.kind, catalog::Kind::kGemm);
  const auto layouts = classifier->LayoutsOf(library.name, kernel_class);
  ASSERT_FALSE(layouts.empty());

  std::mt19937_64 random(20261129);
  const size_t total = library.offsets.back() + library.sizes.back();
  struct Asked {
    Shape shape;
    std::vector<uint8_t> bytes;  // as passed
    uint32_t site;
  };
  std::vector<Asked> asked;
  ScratchTrace scratch;
  const Driver driver = FakeDriver();
  Sites sites(scratch.file(), driver);
  for (int launch = 0; launch < 600; ++launch) {
    const uint32_t m = 2 + random() % 4095, n = 16 * (1 + random() % 16000),
                   k = 128 * (2 + random() % 200);
    std::vector<uint8_t> bytes(total, 0);
    for (const Word& word : library.place(m, n, k)) {
      std::memcpy(bytes.data() + word.offset, &word.value, word.bytes);
    }
    // Worst case: wherever two words of a struct or two scalars could be read as one address, there
    // is an allocation.
    for (size_t at = 0; at + 8 <= total; at += 8) {
      uint64_t word;
      std::memcpy(&word, bytes.data() + at, sizeof word);
      if (word >> 32 != 0 && word >> 32 < 4096 && (word & 0xffffffff) < (1u << 24)) {
        state_.device_addresses.insert(word);
      }
    }
    for (const uint32_t at : library.pointers) {
      const uint64_t address = NewAddress(random);
      std::memcpy(bytes.data() + at, &address, sizeof address);
    }
    for (const uint32_t at : library.tensor_maps) {
      for (uint32_t i = 0; i < 128; ++i) bytes[at + i] = static_cast<uint8_t>(random());
      trace::TensorMapEntry entry;
      const uint64_t dims[] = {1};
      entry.global_dims = dims;
      sites.RememberTensorMap(bytes.data() + at, entry);
    }
    // A kernel of its own for every 40 launches: 64 argument sets of one are kept.
    void* const function = Handle<void*>(0x1000 + 8 * (launch / 40));
    state_.kernels[function] = {library.name + std::string(launch / 40, ' '), library.offsets,
                                library.sizes};
    std::vector<void*> params;
    for (const size_t offset : library.offsets) params.push_back(bytes.data() + offset);
    LaunchDescription d;
    d.function = static_cast<CUfunction>(function);
    d.grid[0] = d.grid[1] = d.grid[2] = d.block[0] = d.block[1] = d.block[2] = 1;
    d.kernel_params = params.data();
    const uint32_t site = sites.Resolve(d);
    asked.push_back({{m, n, k, Provenance::kArguments}, bytes, site});
  }

  const auto reader = scratch.Read();
  const trace::Tables& tables = reader->tables();
  for (const Asked& launch : asked) {
    const trace::Site& site = tables.sites.at(launch.site);
    ASSERT_EQ(site.arguments().size(), total);
    std::string expected(launch.bytes.begin(), launch.bytes.end());
    for (const uint32_t offset : site.masked_offsets()) {
      EXPECT_THAT(library.pointers, ::testing::Contains(offset)) << "masked, but no pointer";
      expected.replace(offset, 8, 8, '\0');
    }
    for (const uint32_t at : library.tensor_maps) expected.replace(at, 128, 128, '\0');
    EXPECT_EQ(site.arguments(), expected);
    std::string contradiction;
    const Shape shape = analyzers::ShapeOf(site, {kernel_class, layouts}, tables, &contradiction);
    EXPECT_EQ(shape, launch.shape) << contradiction;
  }
}

INSTANTIATE_TEST_SUITE_P(Libraries, MaskingTest, ::testing::ValuesIn(kLibraries));

}  // namespace
}  // namespace hotproof::tracer
