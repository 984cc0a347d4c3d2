// What is kept of a kernel's arguments when there are more sets of them than are told apart
// (HeadsOf): the problem size in front and the tensor maps, and nothing that would be read as
// either.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <set>

#include "analyzers/shape_evidence.h"
#include "catalog/classifier.h"
#include "cupti_tracer/core/sites.h"
#include "tests/tracer/fake_driver.h"

namespace hotproof::tracer {
namespace {

using ::testing::ElementsAre;

class ArgumentHeadsTest : public ::testing::Test {
 protected:
  ArgumentHeadsTest() : driver_(FakeDriver()), sites_(scratch_.file(), driver_) {}

  LaunchDescription Launch(void* function, const char* name, void** params) {
    LaunchDescription d;
    d.function = static_cast<CUfunction>(function);
    d.symbol_name = name;
    d.grid[0] = d.grid[1] = d.grid[2] = d.block[0] = d.block[1] = d.block[2] = 1;
    d.kernel_params = params;
    return d;
  }

  FakeState& state_ = ResetFakeState();
  void* const function_ = Handle<void*>(0x1000);
  ScratchTrace scratch_;
  Driver driver_;
  Sites sites_;
};

TEST_F(ArgumentHeadsTest, AStructWhoseLeftoversChangeKeepsItsProblemSize) {
  // As CUTLASS's Params lie: mode, M, N, K, L, then leftovers of the stack; another argument
  // behind.
  constexpr uint32_t kOffset = 16, kBytes = 1792;
  state_.kernels[function_] = {"cutlass", {0, kOffset, kOffset + kBytes}, {8, kBytes, 4}};
  uint64_t scale = 1;
  alignas(8) int32_t params_struct[kBytes / 4] = {};
  int32_t behind = 0;
  void* params[] = {&scale, params_struct, &behind};
  std::map<uint32_t, int32_t> m_of_site;
  constexpr int kShapes = 500;
  for (int round = 0; round < 3; ++round) {
    for (int32_t m = 1; m <= kShapes; ++m) {
      const int32_t head[] = {0, m, 34816, 5120, 1};
      std::memcpy(params_struct, head, sizeof head);
      params_struct[8] = ++behind;
      const uint32_t site = sites_.Resolve(Launch(function_, "cutlass", params));
      EXPECT_EQ(m_of_site.try_emplace(site, m).first->second, m);
    }
  }
  EXPECT_LE(m_of_site.size(), Sites::kMaxArgumentSets + kShapes);
  const auto reader = scratch_.Read();
  EXPECT_TRUE(reader->tables().problems.empty());
  for (const auto& [id, m] : m_of_site) {
    const trace::Site& site = reader->tables().sites.at(id);
    EXPECT_FALSE(site.arguments_overflowed());
    ASSERT_GE(site.arguments().size(), kOffset + 20);
    int32_t read[5];
    std::memcpy(read, site.arguments().data() + kOffset, sizeof read);
    EXPECT_THAT(read, ElementsAre(0, m, 34816, 5120, 1));
    // What is not kept is not there, rather than zero.
    EXPECT_TRUE(site.arguments().size() == kOffset + 20 ||
                site.arguments().size() == kOffset + kBytes + 4);
  }
}

TEST_F(ArgumentHeadsTest, AHeadCutsNoAddressInHalf) {
  // Three pointers in front, as FlashAttention's Params: the third lies across the cut.
  state_.kernels[function_] = {"attention", {0}, {64}};
  uint64_t params_struct[8] = {};
  void* params[] = {params_struct};
  state_.device_addresses.clear();
  std::set<uint32_t> sites;
  for (uint64_t i = 0; i < 1000; ++i) {
    for (int pointer = 0; pointer < 3; ++pointer) {
      params_struct[pointer] = 0x7f0000000000 + (4096 * i + pointer) * 256;
      state_.device_addresses.insert(params_struct[pointer]);
    }
    params_struct[7] = i;  // leftovers
    sites.insert(sites_.Resolve(Launch(function_, "attention", params)));
  }
  EXPECT_EQ(sites.size(), Sites::kMaxArgumentSets + 1) << "one head for all";
  const auto reader = scratch_.Read();
  EXPECT_EQ(reader->tables().sites.at(*sites.rbegin()).arguments(), std::string(16, '\0'));
}

// CUTLASS 3's Params as vLLM's block-scaled kernels and Machete have them: the problem size, then
// pointers and leftovers of the stack with tensor maps among them.
constexpr char kWithMapsInside[] =
    "void cutlass::device_kernel<vllm::cutlass_3x_gemm_fp8_blockwise<cutlass::bfloat16_t, 1, 128, "
    "128, cute::tuple<cute::C<128>, cute::C<128>, cute::C<128>>, cute::tuple<cute::C<1>, "
    "cute::C<1>, cute::C<1>>, E, cutlass::gemm::KernelTmaWarpSpecializedCooperativeFP8Blockwise, "
    "false>::GemmKernel>(P)";

struct WithMapsInside {
  static constexpr uint32_t kBytes = 896, kHead = 20, kMaps[] = {128, 256, 512}, kCut = 640;
  static constexpr int32_t kN = 34816, kK = 5120, kShapes = 500;
  alignas(64) uint8_t bytes[kBytes] = {};

  static void FillMap(uint8_t* to, size_t map, int32_t m) {
    for (uint32_t i = 0; i < 128; ++i) to[i] = static_cast<uint8_t>(1 + i * 7 + map * 31);
    if (map != 1) std::memcpy(to + 64, &m, sizeof m);  // B's is the same for all
  }
  void Fill(int32_t m, uint64_t leftovers) {
    const int32_t head[] = {0, m, kN, kK, 1};
    std::memcpy(bytes, head, sizeof head);
    for (uint32_t at = kHead; at < kBytes; at += 4) {
      leftovers = leftovers * 6364136223846793005u + 1442695040888963407u;
      const uint32_t word = leftovers >> 60 < 4 ? 0 : static_cast<uint32_t>(leftovers >> 32);
      std::memcpy(bytes + at, &word, sizeof word);
    }
    for (size_t map = 0; map < 3; ++map) FillMap(bytes + kMaps[map], map, m);
  }
  static bool InAMap(uint32_t at) {
    return std::any_of(std::begin(kMaps), std::end(kMaps),
                       [at](uint32_t map) { return at >= map && at < map + 128; });
  }
};

TEST_F(ArgumentHeadsTest, AMillionFreshLeftoversAroundTensorMapsLoseNoShape) {
  using Params = WithMapsInside;
  state_.kernels[function_] = {kWithMapsInside, {0}, {Params::kBytes}};
  for (int32_t m = 1; m <= Params::kShapes; ++m) {
    const uint64_t rows = static_cast<uint64_t>(m), n = Params::kN, k = Params::kK;
    const uint64_t dims[3][2] = {{k, rows}, {k, n}, {n, rows}};
    for (size_t map = 0; map < 3; ++map) {
      uint8_t bytes[128];
      Params::FillMap(bytes, map, m);
      trace::TensorMapEntry entry;
      entry.global_dims = dims[map];
      entry.data_type = map == 2 ? 9 : 0;  // bf16 out of bytes
      sites_.RememberTensorMap(bytes, entry);
    }
  }
  Params given;
  void* params[] = {given.bytes};
  std::map<uint32_t, int32_t> m_of_site;
  for (uint64_t i = 0; i < 1'000'000; ++i) {
    // Shapes in no order, so that few launches repeat the one before.
    const int32_t m = static_cast<int32_t>(1 + i * 2654435761u % 1'000'003 % Params::kShapes);
    given.Fill(m, i);
    const uint32_t site = sites_.Resolve(Launch(function_, kWithMapsInside, params));
    ASSERT_EQ(m_of_site.try_emplace(site, m).first->second, m);
  }
  EXPECT_LE(m_of_site.size(), Sites::kMaxArgumentSets + Params::kShapes);

  const auto reader = scratch_.Read();
  const trace::Tables& tables = reader->tables();
  EXPECT_TRUE(tables.problems.empty());
  const auto classifier = catalog::Classifier::Create();
  ASSERT_TRUE(classifier.ok());
  const catalog::KernelClass kernel_class = classifier->Classify(kWithMapsInside);
  const auto layouts = classifier->LayoutsOf(kWithMapsInside, kernel_class);
  ASSERT_FALSE(layouts.empty());
  size_t heads = 0, maps = 0;
  for (const auto& [id, m] : m_of_site) {
    const trace::Site& site = tables.sites.at(id);
    maps += site.tensor_maps_size();
    std::string contradiction;
    const analyzers::Shape shape =
        analyzers::ShapeOf(site, {kernel_class, layouts}, tables, &contradiction);
    EXPECT_EQ(shape, (analyzers::Shape{static_cast<uint32_t>(m), Params::kN, Params::kK,
                                       analyzers::Provenance::kArguments}))
        << contradiction;
    if (site.arguments().size() == Params::kBytes) continue;
    ++heads;
    // Every word between the head and the last map is said to be hidden, none of the head is.
    ASSERT_EQ(site.arguments().size(), Params::kCut);
    for (const uint32_t at : site.masked_offsets()) EXPECT_GE(at, Params::kHead);
    for (uint32_t at = Params::kHead; at < Params::kCut; at += 4) {
      if (Params::InAMap(at)) continue;
      const std::vector<uint32_t> masked(site.masked_offsets().begin(),
                                         site.masked_offsets().end());
      EXPECT_TRUE(std::any_of(masked.begin(), masked.end(), [at](uint32_t word) {
        return word <= at && at + 4 <= word + 8;
      })) << at;
      EXPECT_EQ(site.arguments().substr(at, 4), std::string(4, '\0'));
    }
  }
  EXPECT_GE(maps, 3 * m_of_site.size() * 98 / 100) << "but for those that others overwrote";
  EXPECT_GE(heads, size_t{Params::kShapes} - Sites::kMaxArgumentSets);
}

// More sets of leftovers than are told apart.
class HeadsWithMapsTest : public ArgumentHeadsTest {
 protected:
  uint32_t LaunchUntilHeadsAreKept(WithMapsInside& given) {
    using Params = WithMapsInside;
    state_.kernels[function_] = {kWithMapsInside, {0}, {Params::kBytes}};
    const uint64_t dims[] = {Params::kK, 8};
    trace::TensorMapEntry entry;
    entry.global_dims = dims;
    for (size_t map = 0; map < 3; ++map) {
      uint8_t bytes[128];
      Params::FillMap(bytes, map, 8);
      sites_.RememberTensorMap(bytes, entry);
    }
    void* params[] = {given.bytes};
    uint32_t site = 0;
    for (uint64_t i = 0; i <= Sites::kMaxArgumentSets; ++i) {
      given.Fill(8, i);
      site = sites_.Resolve(Launch(function_, kWithMapsInside, params));
    }
    return site;
  }
};

TEST_F(HeadsWithMapsTest, ARepeatedHeadIsRecognisedWhateverIsLeftOverAroundItsMaps) {
  WithMapsInside given;
  void* params[] = {given.bytes};
  const uint32_t site = LaunchUntilHeadsAreKept(given);
  given.Fill(8, 1'000'000);
  EXPECT_EQ(sites_.ResolveCached(Launch(function_, kWithMapsInside, params)), site);
  for (const uint32_t at : {0u, 4u, 8u, 12u, 16u, 192u, 576u}) {  // the head, two maps
    given.bytes[at] ^= 0x40;
    EXPECT_EQ(sites_.ResolveCached(Launch(function_, kWithMapsInside, params)), Sites::kNotCached)
        << at;
    given.bytes[at] ^= 0x40;
  }
  EXPECT_EQ(sites_.ResolveCached(Launch(function_, kWithMapsInside, params)), site);
}

// Half of an old pointer left over behind the batch: with it the word across the head's end is an address.
TEST_F(HeadsWithMapsTest, AnAddressAcrossTheEndOfAHeadHidesNoneOfIt) {
  using Params = WithMapsInside;
  Params given;
  void* params[] = {given.bytes};
  LaunchUntilHeadsAreKept(given);
  given.Fill(9, 1'000'000);
  constexpr uint32_t kHighHalf = 0x7f12;
  std::memcpy(given.bytes + Params::kHead, &kHighHalf, sizeof kHighHalf);
  uint64_t across;
  std::memcpy(&across, given.bytes + Params::kHead - 4, sizeof across);
  state_.device_addresses.insert(across);
  const uint32_t site = sites_.Resolve(Launch(function_, kWithMapsInside, params));
  const auto reader = scratch_.Read();
  const trace::Site& kept = reader->tables().sites.at(site);
  for (const uint32_t at : kept.masked_offsets()) EXPECT_GE(at, Params::kHead);
  int32_t batch = 0;
  std::memcpy(&batch, kept.arguments().data() + Params::kHead - 4, sizeof batch);
  EXPECT_EQ(batch, 1);
}

TEST(HeadsOfTest, KeepsMapsInFrontAndTheWordsBehindThem) {
  ArgumentLayout whole;
  whole.readable = true;
  whole.offsets = {0, 8, 64, 832};
  whole.sizes = {8, 4, 700, 128};
  whole.total_bytes = 960;
  whole.tensor_maps = {64, 192, 832};
  whole.masked = {0, 336};
  const ArgumentLayout head = HeadsOf(whole);
  // The struct begins with two maps: its first words are behind them, and end before an address.
  EXPECT_THAT(head.offsets, ElementsAre(0, 8, 64, 832));
  EXPECT_THAT(head.sizes, ElementsAre(8, 4, 700, 128));
  EXPECT_EQ(head.total_bytes, 960u);
  EXPECT_THAT(head.tensor_maps, ElementsAre(64, 192, 832));
  ASSERT_EQ(head.masked.size(), 1 + (832 - 336) / 8u);
  EXPECT_EQ(head.masked[0], 0u);
  EXPECT_EQ(head.masked[1], 336u);
  EXPECT_EQ(head.masked.back(), 824u);

  // Without a map behind its first words nothing behind them is kept.
  whole.tensor_maps = {64, 192};
  const ArgumentLayout cut = HeadsOf(whole);
  EXPECT_THAT(cut.sizes, ElementsAre(8, 4, 336 - 64));
  EXPECT_EQ(cut.total_bytes, 336u);
  EXPECT_THAT(cut.masked, ElementsAre(0));
}

}  // namespace
}  // namespace hotproof::tracer
