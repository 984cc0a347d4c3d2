// Arguments of an H200 run as its tracer kept them, masked, beside the same launches' arguments as
// the program passed them (h200_arguments/, made by tests/device/shapes/make_pairs.py): masking
// loses no extent and no stride, in the run as it was and through the tracer of today.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "analyzers/shape_evidence.h"
#include "catalog/classifier.h"
#include "cupti_tracer/core/sites.h"
#include "tests/tracer/fake_driver.h"

namespace hotproof::tracer {
namespace {

using analyzers::Provenance;
using analyzers::Shape;

struct Asked {
  uint32_t m, n, k, batch;
};

class H200ArgumentsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto classifier = catalog::Classifier::Create();
    ASSERT_TRUE(classifier.ok());
    classifier_ = std::make_unique<catalog::Classifier>(*std::move(classifier));
    const std::string folder = std::string(HOTPROOF_SOURCE_DIR) + "/tests/tracer/h200_arguments/";
    auto masked = trace::TraceReader::Open(folder + "masked.hpt");
    auto raw = trace::TraceReader::Open(folder + "unmasked.hpt");
    ASSERT_TRUE(masked.ok() && raw.ok());
    masked_ = *std::move(masked);
    raw_ = *std::move(raw);
    ASSERT_EQ(Masked().sites.size(), Raw().sites.size());
    ASSERT_GT(Masked().sites.size(), 250u);
    std::ifstream file(folder + "asked.tsv");
    std::string library;
    Asked asked;
    while (file >> library >> asked.m >> asked.n >> asked.k >> asked.batch) {
      asked_[library].push_back(asked);
    }
  }

  const trace::Tables& Masked() const { return masked_->tables(); }
  const trace::Tables& Raw() const { return raw_->tables(); }

  Shape ShapeIn(const trace::Tables& tables, const trace::Site& site,
                std::string* contradiction = nullptr) const {
    const std::string& name = tables.kernels[site.kernel_id()].name();
    const catalog::KernelClass kernel_class = classifier_->Classify(name);
    if (kernel_class.kind != catalog::Kind::kGemm) return {};
    const auto layouts = classifier_->LayoutsOf(name, kernel_class);
    return analyzers::ShapeOf(site, {kernel_class, layouts}, tables, contradiction);
  }

  // Marlin's launches take a part of the rows each.
  bool WasAsked(const std::string& library, const Shape& shape) const {
    for (const Asked& asked : asked_.at(library)) {
      const bool rows = asked.m == shape.m || (library == "marlin" && *shape.m < asked.m);
      if (rows && asked.n == shape.n && asked.k == shape.k &&
          asked.batch == shape.batch.value_or(1)) {
        return true;
      }
    }
    return false;
  }

  // Where leftovers of a stack could lie in the arguments of site `id`: 4 bytes of its largest
  // argument behind a problem size, masked neither as an address nor as a map. 0: nowhere.
  uint32_t PlaceForLeftovers(uint32_t id) const {
    const trace::Site& site = Masked().sites[id];
    const trace::Kernel& kernel = Masked().kernels[site.kernel_id()];
    const auto is_hidden = [&site](uint32_t at) {
      for (const uint32_t word : site.masked_offsets()) {
        if (word < at + 4 && at < word + 8) return true;
      }
      for (const trace::TensorMapUse& use : site.tensor_maps()) {
        if (use.argument_offset() < at + 4 && at < use.argument_offset() + 128) return true;
      }
      return false;
    };
    for (int i = 0; i < kernel.parameter_sizes_size(); ++i) {
      const uint32_t begin = kernel.parameter_offsets(i), end = begin + kernel.parameter_sizes(i);
      for (uint32_t at = begin + 24; at + 4 <= end; at += 4) {
        if (!is_hidden(at)) return at;
      }
    }
    return 0;
  }

  // The launch of site `id` through the tracer of today, where `addresses` are device memory, after
  // `fresh` launches that differ from it in the 4 bytes at `place` alone.
  struct Traced {
    std::unique_ptr<trace::TraceReader> reader;
    trace::Site site;
  };
  Traced TraceAgain(uint32_t id, const std::set<uint64_t>& addresses, size_t fresh = 0,
                    uint32_t place = 0) const {
    const trace::Site &was = Masked().sites[id], &raw = Raw().sites[id];
    const trace::Kernel& kernel = Masked().kernels[was.kernel_id()];
    FakeState& state = ResetFakeState();
    state.device_addresses = addresses;
    void* const function = Handle<void*>(0x1000);
    state.kernels[function] = {
        kernel.name(),
        {kernel.parameter_offsets().begin(), kernel.parameter_offsets().end()},
        {kernel.parameter_sizes().begin(), kernel.parameter_sizes().end()}};
    std::string bytes = raw.arguments();
    std::vector<void*> params;
    for (const uint32_t offset : kernel.parameter_offsets())
      params.push_back(bytes.data() + offset);
    ScratchTrace scratch;
    const Driver driver = FakeDriver();
    uint32_t site;
    {
      Sites sites(scratch.file(), driver);
      for (const trace::TensorMapUse& use : was.tensor_maps()) {
        if (use.tensor_map_id() == 0) continue;
        const trace::TensorMap& map = Masked().tensor_maps[use.tensor_map_id()];
        const std::vector<uint64_t> dims(map.global_dims().begin(), map.global_dims().end());
        sites.RememberTensorMap(bytes.data() + use.argument_offset(),
                                {.data_type = map.data_type(), .global_dims = dims});
      }
      LaunchDescription d;
      d.function = static_cast<CUfunction>(function);
      d.grid[0] = was.grid_x();
      d.grid[1] = was.grid_y();
      d.grid[2] = was.grid_z();
      d.block[0] = was.block_x();
      d.block[1] = was.block_y();
      d.block[2] = was.block_z();
      d.kernel_params = params.data();
      const std::string passed = bytes;
      for (uint32_t i = 0; i < fresh; ++i) {
        const uint32_t leftovers = 0x40000000 + i;
        std::memcpy(bytes.data() + place, &leftovers, sizeof leftovers);
        sites.Resolve(d);
      }
      std::memcpy(bytes.data(), passed.data(), passed.size());
      site = sites.Resolve(d);
    }
    Traced traced{scratch.Read(), {}};
    traced.site = traced.reader->tables().sites.at(site);
    return traced;
  }

  uint64_t WordAt(uint32_t id, uint32_t offset) const {
    uint64_t word;
    std::memcpy(&word, Raw().sites[id].arguments().data() + offset, sizeof word);
    return word;
  }

  // Every byte that is not masked is as it was passed.
  void ExpectTheRestAsPassed(const trace::Site& site, uint32_t id) const {
    std::string expected = Raw().sites[id].arguments();
    for (const uint32_t offset : site.masked_offsets()) expected.replace(offset, 8, 8, '\0');
    for (const trace::TensorMapUse& use : site.tensor_maps()) {
      expected.replace(use.argument_offset(), 128, 128, '\0');
    }
    EXPECT_EQ(site.arguments(), expected) << id;
  }

  std::unique_ptr<catalog::Classifier> classifier_;
  std::unique_ptr<trace::TraceReader> masked_, raw_;
  std::map<std::string, std::vector<Asked>> asked_;
};

TEST_F(H200ArgumentsTest, MaskedAndUnmaskedTellTheSameShape) {
  std::map<std::string, int> told;
  for (uint32_t id = 1; id < Masked().sites.size(); ++id) {
    const trace::Site &masked = Masked().sites[id], &raw = Raw().sites[id];
    ExpectTheRestAsPassed(masked, id);
    std::string contradiction;
    const Shape shape = ShapeIn(Masked(), masked, &contradiction);
    EXPECT_EQ(contradiction, "") << id << " " << Masked().kernels[masked.kernel_id()].name();
    const Shape unmasked = ShapeIn(Raw(), raw);
    if (unmasked.provenance == Provenance::kArguments) {
      EXPECT_EQ(shape, unmasked) << id << " " << masked.launching_library();
    }
    if (!shape.complete()) continue;
    ++told[masked.launching_library()];
    EXPECT_TRUE(WasAsked(masked.launching_library(), shape))
        << id << " " << masked.launching_library() << " " << *shape.m << " x " << *shape.n << " x "
        << *shape.k << " " << Masked().kernels[masked.kernel_id()].name();
  }
  for (const char* library :
       {"cublaslt", "deep_gemm", "deep_gemm_grouped", "flashinfer", "machete", "marlin", "orders",
        "ours", "torch_cutlass", "vllm_cutlass", "vllm_experts", "vllm_more", "vllm_triton"}) {
    EXPECT_GE(told[library], 4) << library;
  }
  EXPECT_EQ(told["torch_grouped"], 0);
}

TEST_F(H200ArgumentsTest, TheTracerOfTodayMasksThemAsWell) {
  for (uint32_t id = 1; id < Masked().sites.size(); ++id) {
    const trace::Site& was = Masked().sites[id];
    std::set<uint64_t> addresses;
    for (const uint32_t offset : was.masked_offsets()) addresses.insert(WordAt(id, offset));
    const Traced traced = TraceAgain(id, addresses);
    ExpectTheRestAsPassed(traced.site, id);
    for (const uint32_t offset : traced.site.masked_offsets()) {
      EXPECT_TRUE(addresses.contains(WordAt(id, offset))) << id << " at " << offset;
    }
    EXPECT_EQ(ShapeIn(traced.reader->tables(), traced.site), ShapeIn(Masked(), was))
        << id << " " << was.launching_library();
  }
}

// More launches with other leftovers than are told apart: of what is then kept, nothing is made up,
// and structs that begin with their problem size keep it, whether tensor maps lie inside or not.
TEST_F(H200ArgumentsTest, HeadsOfStructsTellTheSameShapeOrNone) {
  std::map<std::string, std::pair<int, int>> told_and_lost;
  int with_maps_inside = 0;
  for (uint32_t id = 1; id < Masked().sites.size(); ++id) {
    const trace::Site& was = Masked().sites[id];
    const uint32_t place = PlaceForLeftovers(id);
    const Shape expected = ShapeIn(Masked(), was);
    if (place == 0 || !expected.complete()) continue;
    std::set<uint64_t> addresses;
    for (const uint32_t offset : was.masked_offsets()) addresses.insert(WordAt(id, offset));
    const Traced traced = TraceAgain(id, addresses, Sites::kMaxArgumentSets + 1, place);
    const std::string& kept = traced.site.arguments();
    const auto& masked = traced.site.masked_offsets();
    ASSERT_TRUE(place >= kept.size() || std::any_of(masked.begin(), masked.end(), [&](uint32_t at) {
      return at <= place && place + 4 <= at + 8;
    })) << id;
    EXPECT_EQ(traced.site.tensor_maps_size() > 0, was.tensor_maps_size() > 0) << id;
    with_maps_inside += was.tensor_maps_size() > 0 ? 1 : 0;
    const Shape shape = ShapeIn(traced.reader->tables(), traced.site);
    auto& [told, lost] = told_and_lost[was.launching_library()];
    if (shape.complete()) {
      EXPECT_EQ(shape, expected) << id << " " << was.launching_library();
      ++told;
    } else {
      ++lost;
    }
  }
  for (const char* library : {"machete", "ours", "vllm_cutlass", "vllm_more"}) {
    EXPECT_GE(told_and_lost[library].first, 4) << library;
    EXPECT_EQ(told_and_lost[library].second, 0) << library;
  }
  EXPECT_GE(with_maps_inside, 20);
}

// Wherever a word could be an address, there is an allocation: a shape may be lost, none is made
// up.
TEST_F(H200ArgumentsTest, NoShapeIsMadeUpWhereEveryWordIsAnAddress) {
  int told = 0, lost = 0;
  for (uint32_t id = 1; id < Masked().sites.size(); ++id) {
    const trace::Site& was = Masked().sites[id];
    std::set<uint64_t> addresses;
    for (uint32_t offset = 0; offset + 8 <= was.arguments().size(); offset += 8) {
      addresses.insert(WordAt(id, offset));
    }
    const Traced traced = TraceAgain(id, addresses);
    ExpectTheRestAsPassed(traced.site, id);
    const Shape shape = ShapeIn(traced.reader->tables(), traced.site);
    const Shape expected = ShapeIn(Masked(), was);
    if (!expected.complete()) continue;
    if (shape.complete()) {
      EXPECT_EQ(std::tie(shape.m, shape.n, shape.k), std::tie(expected.m, expected.n, expected.k))
          << id;
      ++told;
    } else {
      ++lost;
    }
  }
  EXPECT_GT(told, 4 * lost);
}

}  // namespace
}  // namespace hotproof::tracer
