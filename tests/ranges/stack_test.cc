// Stacks of ranges, and their paths in the trace, without NVTX.
#include "cupti_tracer/ranges/range_stack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "cupti_tracer/interpose/nvtx_names.h"
#include "cupti_tracer/ranges/range_domains.h"
#include "cupti_tracer/ranges/range_paths.h"
#include "tests/tracer/fake_driver.h"

namespace hotproof::tracer {
namespace {

int Pop(uint32_t domain = kDefaultDomain) { return PopRange(RangeSource::kPushPop, domain); }

class RangesTest : public testing::Test {
 protected:
  RangesTest() : paths_(scratch_.file()) {
    while (Pop() >= 0) {
    }
  }
  static std::string Text(const trace::Tables& tables, uint32_t id) {
    std::string text;
    for (; id != 0; id = tables.range_paths[id].parent()) {
      const trace::RangePath& path = tables.range_paths[id];
      text = "/" + (path.many() ? "MANY" : path.name()) + text;
    }
    return text;
  }

  ScratchTrace scratch_;
  RangePaths paths_;
};

TEST_F(RangesTest, NothingIsInterned) {
  EXPECT_EQ(paths_.Current(), RangeIds());
  PushRange({"never launched in"});
  Pop();
  EXPECT_EQ(paths_.Current(), RangeIds());
  EXPECT_EQ(scratch_.Read()->tables().range_paths.size(), 1u);
}

TEST_F(RangesTest, APathIsFoundAgainWithoutTheLock) {
  PushRange({"a"});
  RangeIds ids;
  EXPECT_FALSE(paths_.FindCurrent(ids));
  const RangeIds a = paths_.Current();
  EXPECT_TRUE(paths_.FindCurrent(ids));
  EXPECT_EQ(ids, a);
  PushRange({"b"});
  EXPECT_FALSE(paths_.FindCurrent(ids));
  const RangeIds b = paths_.Current();
  EXPECT_NE(a, b);
  Pop();
  EXPECT_TRUE(paths_.FindCurrent(ids));
  EXPECT_EQ(ids, a);
  PushRange({"b"});
  EXPECT_EQ(paths_.Current(), b);
  std::thread([&] {
    PushRange({"a"});
    PushRange({"b"});
    EXPECT_EQ(paths_.Current(), b);  // the same name is the same range, in any thread
  }).join();
}

TEST_F(RangesTest, AMiddleRangeEnds) {
  const uint32_t x = RangeDomainOf("x");
  PushRange({"a"});
  PushRange({"b", x});
  PushRange({"c"});
  const uint32_t abc = paths_.Current().thread;
  EXPECT_EQ(Pop(x), 0);
  EXPECT_EQ(Pop(x), -1);
  const uint32_t ac = paths_.Current().thread;
  EXPECT_EQ(Pop(), 1);
  EXPECT_EQ(Pop(), 0);
  const auto reader = scratch_.Read();
  EXPECT_EQ(Text(reader->tables(), abc), "/a/b/c");
  EXPECT_EQ(Text(reader->tables(), ac), "/a/c");
}

TEST_F(RangesTest, EachTraceHasItsOwnPaths) {
  PushRange({"a"});
  paths_.Current();
  ScratchTrace other;
  RangePaths paths(other.file());
  PushRange({"b"});
  const uint32_t id = paths.Current().thread;
  EXPECT_EQ(Text(other.Read()->tables(), id), "/a/b");
}

TEST_F(RangesTest, FreshNamesStayBounded) {
  constexpr int kNames = 1'000'000;
  PushRange({"loop"});
  uint32_t last = 0;
  for (int i = 0; i < kNames; ++i) {
    PushRange({std::to_string(i), kDefaultDomain, RangeSource::kPushPop, PayloadKind::kUnsigned, 1});
    last = paths_.Current().thread;
    Pop();
  }
  EXPECT_LE(paths_.payload_counters(), RangePaths::kMaxChildren);
  const auto reader = scratch_.Read();
  EXPECT_EQ(reader->tables().range_paths.size(), RangePaths::kMaxChildren + 3);
  EXPECT_EQ(Text(reader->tables(), last), "/loop/MANY");
}

TEST_F(RangesTest, PathsStayBounded) {
  for (int i = 0; i < 400; ++i) {
    PushRange({std::to_string(i)});
    for (int j = 0; j < 400; ++j) {
      PushRange({std::to_string(j)});
      paths_.Current();
      Pop();
    }
    Pop();
  }
  const auto reader = scratch_.Read();
  EXPECT_GT(reader->tables().range_paths.size(), RangePaths::kMaxPaths);
  EXPECT_LE(reader->tables().range_paths.size(), 2 * RangePaths::kMaxPaths);
}

TEST_F(RangesTest, PayloadsStayBounded) {
  std::vector<uint32_t> ids;
  for (uint64_t i = 0; i < 40; ++i) {
    PushRange({"a", kDefaultDomain, RangeSource::kPushPop, PayloadKind::kUnsigned, i});
    ids.push_back(paths_.Current().thread);
    Pop();
  }
  const auto reader = scratch_.Read();
  const auto& paths = reader->tables().range_paths;
  EXPECT_EQ(paths.size(), 1 + RangePaths::kMaxPayloads + 1);
  EXPECT_EQ(paths[ids[3]].payload(), 3u);
  EXPECT_EQ(paths[ids[39]].payload_kind(), trace::PAYLOAD_VARIES);
  EXPECT_EQ(ids[39], ids[38]);
}

TEST_F(RangesTest, OpenRangesOfTheProcessStayBounded) {
  const uint64_t kept = ProcessRanges::NewId();
  ProcessRanges::Start(kept, {"kept"});
  std::vector<uint64_t> ids;
  for (size_t i = 0; i < 2 * ProcessRanges::kMaxOpen; ++i) {
    ids.push_back(ProcessRanges::NewId());
    ProcessRanges::Start(ids.back(), {"leaked"});
  }
  EXPECT_EQ(ProcessRanges::Get(1).others, 2 * ProcessRanges::kMaxOpen);
  const uint32_t many = paths_.Current().process;
  for (const uint64_t id : ids) ProcessRanges::End(id);
  EXPECT_EQ(ProcessRanges::Get(1).others, 0u);
  const uint32_t one = paths_.Current().process;
  ProcessRanges::End(kept);
  EXPECT_EQ(paths_.Current(), RangeIds());
  const auto reader = scratch_.Read();
  EXPECT_EQ(Text(reader->tables(), many).substr(0, 12), "/kept/leaked");
  EXPECT_EQ(Text(reader->tables(), one), "/kept");
}

TEST_F(RangesTest, ManyThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 300; ++i) {
        const uint64_t id = ProcessRanges::NewId();
        ProcessRanges::Start(id, {"open"});
        PushRange({"thread", RangeDomainOf("d" + std::to_string(i % 7))});
        PushRange({std::to_string(t)});
        EXPECT_NE(paths_.Current().thread, 0u);
        const void* const string = NvtxNames::AddString(nullptr, std::to_string(i));
        EXPECT_EQ(NvtxNames::Find(string)->text, std::to_string(i));
        EXPECT_EQ(Pop(), 0);
        EXPECT_EQ(Pop(RangeDomainOf("d" + std::to_string(i % 7))), 0);
        ProcessRanges::End(id);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(paths_.Current(), RangeIds());
}

TEST_F(RangesTest, RangesBeyondTheLimitEndByWhatTheyAre) {
  const auto push_ours = [] { return PushRange({"ours", kDefaultDomain, RangeSource::kHotproof}); };
  const auto pop_ours = [] { return PopRange(RangeSource::kHotproof, kDefaultDomain); };
  PushRange({"a"});
  for (int i = 0; i < 64; ++i) EXPECT_EQ(push_ours(), i);
  const uint32_t deep = paths_.Current().thread;
  EXPECT_EQ(Pop(), 0);  // of "a", from below all others
  EXPECT_EQ(Pop(), -1);
  const uint32_t without_a = paths_.Current().thread;
  EXPECT_EQ(PushRange({"b"}), 0);  // not kept: it is inside one that is not
  EXPECT_EQ(paths_.Current().thread, without_a);
  EXPECT_EQ(pop_ours(), 63);
  EXPECT_EQ(Pop(), 0);
  for (int i = 62; i >= 0; --i) EXPECT_EQ(pop_ours(), i);
  EXPECT_EQ(paths_.Current(), RangeIds());
  PushRange({"c"});
  const uint32_t c = paths_.Current().thread;
  for (int i = 0; i < 1000; ++i) PushRange({"c"});
  for (int i = 0; i < 1000; ++i) Pop();
  EXPECT_EQ(paths_.Current().thread, c);
  const auto reader = scratch_.Read();
  EXPECT_EQ(Text(reader->tables(), deep).substr(0, 7), "/a/ours");
  EXPECT_EQ(Text(reader->tables(), without_a).substr(0, 10), "/ours/ours");
  EXPECT_TRUE(reader->tables().range_paths[deep].many());
  EXPECT_TRUE(reader->tables().range_paths[without_a].many());
  EXPECT_EQ(Text(reader->tables(), c), "/c");
}

TEST_F(RangesTest, NamesAreCutBetweenCharacters) {
  PushRange({std::string(254, 'a') + "\u00e9"});
  const uint32_t id = paths_.Current().thread;
  EXPECT_EQ(scratch_.Read()->tables().range_paths[id].name(), std::string(254, 'a'));
}

TEST_F(RangesTest, NamesThatAreNotKeptAreAProblem) {
  PushRange({"a", kMaxDomains});
  paths_.Current();
  Pop(kMaxDomains);
  EXPECT_EQ(Pop(), -1);  // it is not the default domain's
  PushRange({NvtxNames::kMany});
  paths_.Current();
  Pop();
  EXPECT_EQ(RangeDomainName(kMaxDomains), "(many domains)");
  const auto reader = scratch_.Read();
  ASSERT_EQ(reader->tables().problems.size(), 1u);
  EXPECT_EQ(reader->tables().problems[0].kind(), trace::PROBLEM_RANGES_NOT_KEPT);
}

TEST(NvtxNamesTest, HandlesOfAChainedToolMayComeAgain) {
  const int tool = 0;
  EXPECT_EQ(NvtxNames::AddDomain(&tool, "one"), &tool);
  const uint32_t one = NvtxNames::Find(&tool)->domain;
  EXPECT_EQ(NvtxNames::AddDomain(&tool, "two"), &tool);
  EXPECT_NE(NvtxNames::Find(&tool)->domain, one);
  EXPECT_EQ(RangeDomainName(one), "one");
  EXPECT_EQ(NvtxNames::Find(&one), nullptr);
  // Ours: the same text is the same handle, so that a loop that registers stays bounded.
  EXPECT_EQ(NvtxNames::AddString(nullptr, "s"), NvtxNames::AddString(nullptr, "s"));
}

TEST(NvtxNamesTest, OfAModulesDictionaryTheModuleIsKept) {
  EXPECT_EQ(KeptOfPushed("{'Module': 'model.layers.3.mlp', 'Inputs': [[8, 5120]]}"), "model.layers.3.mlp");
  EXPECT_EQ(KeptOfPushed("{'Module': 'Model'}"), "Model");
  EXPECT_EQ(KeptOfPushed("{'Module': 'cut off"), "cut off");
  EXPECT_EQ(KeptOfPushed("{'Other': 'x', 'Module': 'y'}"), "{'Other': 'x', 'Module': 'y'}");
}

TEST(NvtxNamesTest, TorchsNumbersAreNoNames) {
  EXPECT_EQ(KeptOfPushed("aten::mm, seq = 12, op_id = 34"), "aten::mm");
  EXPECT_EQ(KeptOfPushed("aten::mm, op_id = 34"), "aten::mm");
  EXPECT_EQ(KeptOfPushed("aten::mm, seq = 1"), "aten::mm");
  for (const char* name : {"", "1", "layer 12", ", seq = ", "x, op_id = ", "x, seq = 1, sizes = [2]"}) {
    EXPECT_EQ(KeptOfPushed(name), name);
  }
}

}  // namespace
}  // namespace hotproof::tracer
