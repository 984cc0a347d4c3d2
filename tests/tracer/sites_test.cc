#include "cupti_tracer/core/sites.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <thread>

#include "cupti_tracer/core/callback_data.h"
#include "tests/tracer/fake_driver.h"

namespace hotproof::tracer {
namespace {

using ::testing::ElementsAre;

class SitesTest : public ::testing::Test {
 protected:
  SitesTest() : driver_(FakeDriver()), sites_(scratch_.file(), driver_) {}

  LaunchDescription Launch(void* function, const char* name, void** params, uint32_t grid = 1) {
    LaunchDescription d;
    d.function = static_cast<CUfunction>(function);
    d.symbol_name = name;
    d.grid[0] = grid;
    d.grid[1] = d.grid[2] = d.block[0] = d.block[1] = d.block[2] = 1;
    d.kernel_params = params;
    return d;
  }

  FakeState& state_ = ResetFakeState();
  void* const function_ = Handle<void*>(0x1000);
  ScratchTrace scratch_;
  Driver driver_;
  Sites sites_;
};

TEST_F(SitesTest, SameLaunchSameSiteDifferentGridAnother) {
  state_.kernels[function_] = {"k", {0}, {4}};
  int m = 8;
  void* params[] = {&m};
  const uint32_t first = sites_.Resolve(Launch(function_, "k", params));
  EXPECT_EQ(sites_.Resolve(Launch(function_, "k", params)), first);
  EXPECT_NE(sites_.Resolve(Launch(function_, "k", params, 2)), first);
  m = 9;
  EXPECT_NE(sites_.Resolve(Launch(function_, "k", params)), first);
}

TEST_F(SitesTest, DeviceAddressesAreMaskedInsideStructsTooScalarsKept) {
  struct Packed {
    uint64_t pointer;
    int32_t m, n;
  } packed{0x7f0000001000, 8, 34816};
  uint64_t pointer = 0x7f0000002000;
  state_.kernels[function_] = {"k", {0, 8}, {8, sizeof packed}};
  state_.device_addresses = {0x7f0000001000, 0x7f0000002000, 0x7f0000003000, 0x7f0000004000};
  void* params[] = {&pointer, &packed};
  const uint32_t first = sites_.Resolve(Launch(function_, "k", params));
  pointer = 0x7f0000003000;
  packed.pointer = 0x7f0000004000;
  EXPECT_EQ(sites_.Resolve(Launch(function_, "k", params)), first);
  const auto reader = scratch_.Read();
  const trace::Site& site = reader->tables().sites.at(first);
  EXPECT_THAT(site.masked_offsets(), ElementsAre(0, 8));
  ASSERT_EQ(site.arguments().size(), 24u);
  int32_t dims[2];
  std::memcpy(dims, site.arguments().data() + 16, sizeof dims);
  EXPECT_EQ(dims[0], 8);
  EXPECT_EQ(dims[1], 34816);
  EXPECT_EQ(site.arguments().substr(0, 16), std::string(16, '\0'));
}

TEST_F(SitesTest, ReadsPackedArgumentsOfLibraryKernels) {
  state_.kernels[function_] = {"nvjet", {0, 8}, {8, 4}, /*is_library_kernel=*/true};
  struct {
    uint64_t pointer = 0x7f0000001000;
    int32_t k = 5120;
  } packed;
  state_.device_addresses = {packed.pointer};
  size_t size = 12;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   CU_LAUNCH_PARAM_END};
  LaunchDescription d = Launch(function_, "nvjet", nullptr);
  d.extra = extra;
  const uint32_t id = sites_.Resolve(d);
  const auto reader = scratch_.Read();
  const trace::Site& site = reader->tables().sites.at(id);
  ASSERT_EQ(site.arguments().size(), 12u);
  int32_t k;
  std::memcpy(&k, site.arguments().data() + 8, sizeof k);
  EXPECT_EQ(k, 5120);
  EXPECT_THAT(site.masked_offsets(), ElementsAre(0));
}

TEST_F(SitesTest, TensorMapsInArgumentsAreReplacedByWhatTheyDescribe) {
  state_.kernels[function_] = {"tma", {48}, {128}};
  alignas(64) uint8_t map[128], same_dims_elsewhere[128];
  std::memset(map, 1, sizeof map);
  std::memset(same_dims_elsewhere, 2, sizeof same_dims_elsewhere);
  const uint64_t dims[] = {5120, 8}, strides[] = {5120};
  trace::TensorMapEntry entry;
  entry.global_dims = dims;
  entry.global_strides = strides;
  sites_.RememberTensorMap(map, entry);
  sites_.RememberTensorMap(same_dims_elsewhere, entry);
  void* params[] = {map};
  const uint32_t first = sites_.Resolve(Launch(function_, "tma", params));
  params[0] = same_dims_elsewhere;
  EXPECT_EQ(sites_.Resolve(Launch(function_, "tma", params)), first);
  const auto reader = scratch_.Read();
  const trace::Site& site = reader->tables().sites.at(first);
  ASSERT_EQ(site.tensor_maps_size(), 1);
  EXPECT_EQ(site.tensor_maps(0).argument_offset(), 48u);
  EXPECT_THAT(reader->tables().tensor_maps.at(site.tensor_maps(0).tensor_map_id()).global_dims(),
              ElementsAre(5120, 8));
}

TEST_F(SitesTest, SitesStayBoundedWhenAScalarChangesAtEveryLaunch) {
  state_.kernels[function_] = {"seeded", {0, 8}, {8, 8}};
  uint64_t seed = 0, step = 1ull << 40;
  void* params[] = {&seed, &step};
  uint32_t highest = 0;
  for (int i = 0; i < 1'000'000; ++i, seed += 0x9e3779b97f4a7c15u, ++step) {
    highest = std::max(highest, sites_.Resolve(Launch(function_, "seeded", params)));
  }
  constexpr size_t kMost = Sites::kMaxArgumentSets + Sites::kMaxArgumentHeads;
  EXPECT_LE(highest, kMost + 1);
  EXPECT_LE(state_.address_questions, 4 * kMost);
  const auto reader = scratch_.Read();
  ASSERT_EQ(reader->tables().problems.size(), 1u);
  EXPECT_EQ(reader->tables().problems[0].kind(), trace::PROBLEM_ARGUMENT_SETS_OVERFLOWED);
  EXPECT_TRUE(reader->tables().sites.at(highest).arguments_overflowed());
}

TEST_F(SitesTest, AllKernelsTogetherKeepABoundedNumberOfHeads) {
  uint64_t scalar = 0;
  void* params[] = {&scalar};
  uint32_t highest = 0;
  for (uint64_t kernel = 0; kernel < 20; ++kernel) {
    void* const function = Handle<void*>(0x2000 + 8 * kernel);
    const std::string name = "k" + std::to_string(kernel);
    state_.kernels[function] = {name, {0}, {8}};
    for (int i = 0; i < 2000; ++i, ++scalar) {
      highest = std::max(highest, sites_.Resolve(Launch(function, name.c_str(), params)));
    }
  }
  EXPECT_LE(highest, Sites::kMaxExtraEvidence + 20 * (Sites::kMaxArgumentSets + 1));
  EXPECT_GE(highest, Sites::kMaxExtraEvidence);
}

TEST_F(SitesTest, ARepeatedLaunchIsRecognisedWithoutBeingResolvedAgain) {
  struct Packed {
    uint64_t pointer;
    int32_t m, n;
  } packed{0x7f0000001000, 8, 34816};
  uint64_t pointer = 0x7f0000002000;
  int32_t k = 5120;
  state_.kernels[function_] = {"k", {0, 8, 24}, {8, sizeof packed, 4}};
  state_.device_addresses = {0x7f0000001000, 0x7f0000002000, 0x7f0000003000};
  void* params[] = {&pointer, &packed, &k};
  const auto launch = [&] { return Launch(function_, "k", params); };
  EXPECT_EQ(sites_.ResolveCached(launch()), Sites::kNotCached);
  const uint32_t first = sites_.Resolve(launch());
  EXPECT_EQ(sites_.ResolveCached(launch()), first);
  pointer = packed.pointer = 0x7f0000003000;
  EXPECT_EQ(sites_.ResolveCached(launch()), first) << "masked words are not compared";
  for (int32_t* scalar : {&packed.m, &packed.n, &k}) {
    ++*scalar;
    EXPECT_EQ(sites_.ResolveCached(launch()), Sites::kNotCached);
    --*scalar;
  }
  LaunchDescription other = launch();
  other.programmatic = true;
  EXPECT_EQ(sites_.ResolveCached(other), Sites::kNotCached);
  other = launch();
  other.cluster[1] = 2;
  EXPECT_EQ(sites_.ResolveCached(other), Sites::kNotCached);
  const trace::LibraryCallEntry call{.entry_point = "cublasGemmEx"};
  {
    const LibraryCallScope scope(call);
    EXPECT_EQ(sites_.ResolveCached(launch()), Sites::kNotCached);
  }
  EXPECT_EQ(sites_.ResolveCached(launch()), first);
  sites_.ForgetHandles();
  EXPECT_EQ(sites_.ResolveCached(launch()), Sites::kNotCached);
  EXPECT_EQ(sites_.Resolve(launch()), first);
}

TEST_F(SitesTest, ARepeatedLaunchIsRecognisedInAPackedBuffer) {
  state_.kernels[function_] = {"nvjet", {0, 16}, {12, 8}, /*is_library_kernel=*/true};
  uint32_t packed[] = {1, 2, 3, 0xdead, 5, 6};
  size_t size = sizeof packed;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   CU_LAUNCH_PARAM_END};
  LaunchDescription d = Launch(function_, "nvjet", nullptr);
  d.extra = extra;
  const uint32_t first = sites_.Resolve(d);
  packed[3] = 0xbeef;  // between two arguments
  EXPECT_EQ(sites_.ResolveCached(d), first);
  packed[5] = 7;
  EXPECT_EQ(sites_.ResolveCached(d), Sites::kNotCached);
  packed[5] = 6;
  size = 20;  // the second argument is given in part
  EXPECT_EQ(sites_.ResolveCached(d), Sites::kNotCached);
  EXPECT_NE(sites_.Resolve(d), first);
}

TEST_F(SitesTest, ARepeatedLaunchHasTheSameTensorMaps) {
  state_.kernels[function_] = {"tma", {0}, {128}};
  alignas(64) uint8_t maps[3][128];
  for (int i = 0; i < 3; ++i) std::memset(maps[i], i + 1, sizeof maps[i]);
  const uint64_t dims[] = {5120, 8}, other_dims[] = {5120, 16};
  trace::TensorMapEntry entry;
  entry.global_dims = dims;
  sites_.RememberTensorMap(maps[0], entry);
  sites_.RememberTensorMap(maps[1], entry);
  entry.global_dims = other_dims;
  sites_.RememberTensorMap(maps[2], entry);
  void* params[] = {maps[0]};
  const uint32_t first = sites_.Resolve(Launch(function_, "tma", params));
  params[0] = maps[1];
  EXPECT_EQ(sites_.ResolveCached(Launch(function_, "tma", params)), first);
  params[0] = maps[2];
  EXPECT_EQ(sites_.ResolveCached(Launch(function_, "tma", params)), Sites::kNotCached);
  EXPECT_NE(sites_.Resolve(Launch(function_, "tma", params)), first);
}

TEST_F(SitesTest, AKernelsLibraryCallsBeyondTheLimitShareASiteThatSaysSo) {
  state_.kernels[function_] = {"splitKreduce", {}, {}};
  state_.kernels[Handle<void*>(0x2000)] = {"other", {}, {}};
  std::set<uint32_t> sites;
  const auto launch_in_call = [&](uint64_t m, void* function, const char* name) {
    trace::LibraryCallEntry call{.entry_point = "cublasLtMatmul"};
    call.numbers.m = m;
    const LibraryCallScope scope(call);
    return sites_.Resolve(Launch(function, name, nullptr));
  };
  for (uint64_t m = 1; m <= Sites::kMaxCallsPerKernel + 1000; ++m) {
    sites.insert(launch_in_call(m, function_, "splitKreduce"));
  }
  EXPECT_EQ(sites.size(), Sites::kMaxCallsPerKernel + 1);
  const uint32_t told = launch_in_call(7, function_, "splitKreduce");
  const uint32_t many = launch_in_call(Sites::kMaxCallsPerKernel + 7, function_, "splitKreduce");
  const uint32_t outside = sites_.Resolve(Launch(function_, "splitKreduce", nullptr));
  const uint32_t of_other =
      launch_in_call(Sites::kMaxCallsPerKernel + 7, Handle<void*>(0x2000), "other");
  const auto reader = scratch_.Read();
  const auto& table = reader->tables().sites;
  EXPECT_EQ(table.at(told).library_call().m(), 7u);
  EXPECT_FALSE(table.at(told).library_calls_overflowed());
  EXPECT_FALSE(table.at(many).has_library_call());
  EXPECT_TRUE(table.at(many).library_calls_overflowed());
  EXPECT_NE(outside, many) << "a launch outside of any call is not one of them";
  EXPECT_FALSE(table.at(outside).library_calls_overflowed());
  EXPECT_TRUE(table.at(of_other).has_library_call()) << "the limit is each kernel's own";
  ASSERT_EQ(reader->tables().problems.size(), 1u);
  EXPECT_EQ(reader->tables().problems[0].kind(), trace::PROBLEM_ARGUMENT_SETS_OVERFLOWED);
  EXPECT_EQ(reader->tables().problems[0].detail(), "library calls of splitKreduce");
}

TEST_F(SitesTest, AHandleThatCameBackAfterAnUnloadIsAnotherKernel) {
  state_.kernels[function_] = {"old", {}, {}};
  const uint32_t before = sites_.Resolve(Launch(function_, "old", nullptr));
  state_.kernels[function_] = {"new", {}, {}};
  sites_.OnModuleUnloaded(nullptr, 1);
  const uint32_t after = sites_.Resolve(Launch(function_, "new", nullptr));
  EXPECT_NE(before, after);
  const auto reader = scratch_.Read();
  EXPECT_EQ(reader->tables().kernels.at(reader->tables().sites.at(after).kernel_id()).name(),
            "new");
}

TEST_F(SitesTest, AModuleIsBelievedOnlyWhenItsCallLoadedItAlone) {
  state_.kernels[function_] = {"k", {}, {}};
  state_.kernels[Handle<void*>(0x2000)] = {"l", {}, {}};
  state_.modules = {{function_, Handle<void*>(0xa)}, {Handle<void*>(0x2000), Handle<void*>(0xb)}};
  callback_thread.OnCallEntered();
  sites_.OnModuleLoaded(nullptr, 1, "first", 5);
  sites_.OnModuleLoaded(nullptr, 2, "second", 6);
  const uint32_t unsure = sites_.Resolve(Launch(function_, "k", nullptr));
  callback_thread.OnCallEntered();
  sites_.OnModuleLoaded(nullptr, 3, "third", 5);
  const uint32_t sure = sites_.Resolve(Launch(Handle<void*>(0x2000), "l", nullptr));
  const auto reader = scratch_.Read();
  const auto kernel_of = [&](uint32_t site) {
    return reader->tables().kernels.at(reader->tables().sites.at(site).kernel_id());
  };
  EXPECT_EQ(kernel_of(unsure).cubin_hash(), 0u);
  EXPECT_NE(kernel_of(sure).cubin_hash(), 0u);
  EXPECT_EQ(kernel_of(sure).module_id(), 3u);
}

TEST_F(SitesTest, AKernelsNameTellsItsModuleWhereItsCallDoesNot) {
  std::ifstream file(HOTPROOF_SOURCE_DIR "/tests/cli/device_code/sm_90a.cubin", std::ios::binary);
  const std::string cubin{std::istreambuf_iterator<char>(file), {}};
  const std::string name = "_Z22hotproof_fixture_scalePffi";
  state_.kernels[function_] = {name, {}, {}};
  state_.kernels[Handle<void*>(0x2000)] = {name, {}, {}};
  state_.kernels[Handle<void*>(0x3000)] = {"not_in_it", {}, {}};
  // Loaded some calls ago, beside another one.
  sites_.OnModuleLoaded(nullptr, 7, cubin.data(), cubin.size());
  sites_.OnModuleLoaded(nullptr, 8, "no cubin", 8);
  callback_thread.OnCallEntered();
  const uint32_t known = sites_.Resolve(Launch(function_, name.c_str(), nullptr));
  const uint32_t unknown = sites_.Resolve(Launch(Handle<void*>(0x3000), "not_in_it", nullptr));
  // Another cubin with this name.
  std::string changed = cubin;
  changed.back() ^= 1;
  sites_.OnModuleLoaded(nullptr, 9, changed.data(), changed.size());
  callback_thread.OnCallEntered();
  const uint32_t unsure = sites_.Resolve(Launch(Handle<void*>(0x2000), name.c_str(), nullptr));
  const auto reader = scratch_.Read();
  const auto kernel_of = [&](uint32_t site) {
    return reader->tables().kernels.at(reader->tables().sites.at(site).kernel_id());
  };
  EXPECT_EQ(kernel_of(known).module_id(), 7u);
  EXPECT_NE(kernel_of(known).cubin_hash(), 0u);
  EXPECT_EQ(kernel_of(known).architecture(), 90u);
  EXPECT_EQ(kernel_of(known).architecture_suffix(), "a");
  EXPECT_EQ(kernel_of(unknown).cubin_hash(), 0u);
  EXPECT_EQ(kernel_of(unsure).cubin_hash(), 0u);
}

struct Launcher {
  std::string path = "/lib/a.so";
  int asked = 0;
};
Launcher launcher;

std::string AskedLibrary() {
  ++launcher.asked;
  return launcher.path;
}

TEST_F(SitesTest, WhoLaunchesIsLookedUpOnceASite) {
  launcher = {};
  Sites sites(scratch_.file(), driver_, nullptr, AskedLibrary);
  state_.kernels[function_] = {"k", {}, {}};
  const uint32_t site = sites.Resolve(Launch(function_, "k", nullptr));
  launcher.path = "/lib/b.so";
  for (int i = 0; i < 100; ++i) EXPECT_EQ(sites.Resolve(Launch(function_, "k", nullptr)), site);
  // Neither for a thread that has not launched it yet, nor when handles may mean something else.
  std::thread([&] { EXPECT_EQ(sites.Resolve(Launch(function_, "k", nullptr)), site); }).join();
  sites.OnModuleUnloaded(nullptr, 5);
  EXPECT_EQ(sites.Resolve(Launch(function_, "k", nullptr)), site);
  EXPECT_EQ(launcher.asked, 1);
  const uint32_t other = sites.Resolve(Launch(function_, "k", nullptr, 2));
  EXPECT_EQ(launcher.asked, 2);
  const auto reader = scratch_.Read();
  EXPECT_EQ(reader->tables().sites.at(site).launching_library(), "/lib/a.so");
  EXPECT_EQ(reader->tables().sites.at(other).launching_library(), "/lib/b.so");
}

TEST_F(SitesTest, OneNameFromSeveralModulesIsToldApartByWhoLaunchesIt) {
  launcher = {};
  Sites sites(scratch_.file(), driver_, nullptr, AskedLibrary);
  std::ifstream file(HOTPROOF_SOURCE_DIR "/tests/cli/device_code/sm_90a.cubin", std::ios::binary);
  std::string cubin{std::istreambuf_iterator<char>(file), {}};
  const std::string name = "_Z22hotproof_fixture_scalePffi";
  void* const other = Handle<void*>(0x2000);
  void* const again = Handle<void*>(0x3000);
  for (void* function : {function_, other, again}) state_.kernels[function] = {name, {}, {}};
  // Two cubins with this name: which one a function is of, nothing tells.
  const auto load = [&](uint32_t id) {
    callback_thread.OnCallEntered();
    sites.OnModuleLoaded(nullptr, id, cubin.data(), cubin.size());
    callback_thread.OnCallEntered();
    cubin.back() ^= 1;
  };
  load(1);
  load(2);
  const auto launch = [&](void* function, const char* library) {
    launcher.path = library;
    return sites.Resolve(Launch(function, name.c_str(), nullptr));
  };
  const uint32_t of_a = launch(function_, "/lib/a.so"), of_b = launch(other, "/lib/b.so");
  EXPECT_NE(of_a, of_b);
  // The same library's after a reload is the same kernel, and so is another function of its.
  sites.OnModuleUnloaded(nullptr, 1);
  load(3);
  EXPECT_EQ(launch(again, "/lib/a.so"), of_a);
  EXPECT_EQ(launch(other, "/lib/b.so"), of_b);
  const auto reader = scratch_.Read();
  const trace::Tables& tables = reader->tables();
  EXPECT_EQ(tables.sites.at(of_a).launching_library(), "/lib/a.so");
  EXPECT_EQ(tables.sites.at(of_b).launching_library(), "/lib/b.so");
  EXPECT_NE(tables.sites.at(of_a).kernel_id(), tables.sites.at(of_b).kernel_id());
  for (const uint32_t site : {of_a, of_b}) {
    EXPECT_EQ(tables.kernels.at(tables.sites.at(site).kernel_id()).cubin_hash(), 0u);
  }
}

TEST_F(SitesTest, NameOfAHandMadeNodeComesFromTheDriver) {
  state_.kernels[function_] = {"by_hand", {}, {}};
  const uint32_t id = sites_.Resolve(Launch(function_, nullptr, nullptr));
  const auto reader = scratch_.Read();
  EXPECT_EQ(reader->tables().kernels.at(reader->tables().sites.at(id).kernel_id()).name(),
            "by_hand");
}

TEST_F(SitesTest, AnEagerSiteIsOnDiskBeforeItIsCounted) {
  state_.kernels[function_] = {"k", {}, {}};
  const uint64_t before = scratch_.file().writer_locked()->bytes_written();
  sites_.Resolve(Launch(function_, "k", nullptr));
  EXPECT_GT(scratch_.file().writer_locked()->bytes_written(), before);
}

TEST_F(SitesTest, ThreadsThatRepeatLaunchesSeeLayoutsChangeUnderThem) {
  // Fresh addresses publish masks, fresh scalars heads and then nothing, while others compare what
  // they had.
  state_.kernels[function_] = {"k", {0, 8}, {8, 64}};
  for (uint64_t i = 0; i < 64; ++i) state_.device_addresses.insert(0x7f0000000000 + i * 256);
  constexpr int kThreads = 4, kLaunches = 1500;
  std::vector<std::vector<std::pair<int32_t, uint32_t>>> seen(kThreads);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      uint64_t pointer = 0;
      int32_t packed[16] = {};
      void* params[] = {&pointer, packed};
      for (int i = 0; i < kLaunches; ++i) {
        pointer = 0x7f0000000000 + (i % 64) * 256;
        packed[0] = i % 7 == 0 ? 100000 * (thread + 1) + i : i % 5;
        packed[9] = i;
        const LaunchDescription launch = Launch(function_, "k", params);
        uint32_t site = sites_.ResolveCached(launch);
        if (site == Sites::kNotCached) site = sites_.Resolve(launch);
        seen[thread].emplace_back(packed[0], site);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto reader = scratch_.Read();
  for (const auto& launches : seen) {
    for (const auto& [scalar, id] : launches) {
      const trace::Site& site = reader->tables().sites.at(id);
      if (site.arguments_overflowed()) continue;
      int32_t stored = 0;
      ASSERT_GE(site.arguments().size(), 12u);
      std::memcpy(&stored, site.arguments().data() + 8, sizeof stored);
      ASSERT_EQ(stored, scalar);
    }
  }
}

TEST_F(SitesTest, ThreadsAgreeOnASite) {
  state_.kernels[function_] = {"k", {}, {}};
  std::vector<std::thread> threads;
  std::vector<uint32_t> ids(8);
  for (size_t t = 0; t < ids.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 1000; ++i) ids[t] = sites_.Resolve(Launch(function_, "k", nullptr));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (uint32_t id : ids) EXPECT_EQ(id, ids[0]);
}

}  // namespace
}  // namespace hotproof::tracer
