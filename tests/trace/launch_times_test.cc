// When launch calls were made: what the writer is given is what the reader gives back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tools/synthetic_workload.h"
#include "tests/trace/trace_files.h"

namespace hotproof::trace {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::SizeIs;

class LaunchTimesTest : public ::testing::Test {
 protected:
  std::unique_ptr<TraceReader> Write(const std::vector<std::vector<LaunchEntry>>& chunks) {
    {
      Writer writer(CreateFile(folder_.File("a.hpt")));
      writer.AddHeader({});
      const std::vector<uint64_t> none = {0};
      for (const auto& launches : chunks) {
        for (const LaunchEntry& launch : launches) writer.AddLaunch(launch);
        EXPECT_EQ(writer.Flush({none, none}), WriteResult::kOk);
      }
    }
    auto reader = TraceReader::Open(folder_.File("a.hpt"));
    EXPECT_TRUE(reader.ok()) << reader.status();
    return std::move(*reader);
  }
  // A trace of these columns alone.
  std::unique_ptr<TraceReader> Read(const Launches& launches) {
    Chunk head, columns;
    head.mutable_header()->set_format_major(1);
    head.mutable_statistics()->set_launch_count(launches.correlation_ids_size());
    *columns.mutable_launches() = launches;
    const std::string frame = CompressFrame(columns.SerializeAsString());
    head.mutable_columns_frame()->set_size_bytes(frame.size());
    head.mutable_columns_frame()->set_hash(HashFrame(frame));
    WriteWhole(folder_.File("b.hpt"), CompressFrame(head.SerializeAsString()) + frame);
    auto reader = TraceReader::Open(folder_.File("b.hpt"));
    EXPECT_TRUE(reader.ok()) << reader.status();
    return std::move(*reader);
  }
  ScratchFolder folder_;
};

TEST_F(LaunchTimesTest, AnyTimesComeBack) {
  tools::Random random(3);
  std::vector<std::vector<LaunchEntry>> chunks(3);
  for (auto& launches : chunks) {
    for (int i = 0; i < 2000; ++i) {
      launches.push_back({random.Next(), Target::FromWire(1 + random.Below(3) * kPredictedLaunchTargets),
                          1, random.Next() >> random.Below(64),
                          static_cast<uint32_t>(random.Next() >> (32 + random.Below(32)))});
    }
  }
  const auto reader = Write(chunks);
  ChunkLaunchTimes times;
  for (size_t chunk = 0; chunk < chunks.size(); ++chunk) {
    ASSERT_TRUE(reader->ReadLaunchTimes(chunk, times).ok());
    EXPECT_EQ(times.sequence, chunk);
    ASSERT_THAT(times.enter_ns, SizeIs(chunks[chunk].size()));
    for (size_t i = 0; i < chunks[chunk].size(); ++i) {
      EXPECT_EQ(times.enter_ns[i], chunks[chunk][i].enter_ns);
      EXPECT_EQ(times.call_ns[i], chunks[chunk][i].call_ns);
    }
  }
  EXPECT_FALSE(reader->ReadLaunchTimes(chunks.size(), times).ok());
}

// As in a trace of version 1.0.
TEST_F(LaunchTimesTest, TimesThatWereNotRecordedAreZero) {
  const auto reader = Write({{{1, Target::Site(1), 1}, {2, Target::Site(1), 1}}});
  ChunkLaunchTimes times;
  ASSERT_TRUE(reader->ReadLaunchTimes(0, times).ok());
  EXPECT_THAT(times.enter_ns, ElementsAre(0, 0));
  EXPECT_THAT(times.call_ns, Each(0));
}

TEST_F(LaunchTimesTest, ColumnsOfEarlierVersionsAreRead) {
  Launches launches;
  for (const int step : {5, 1}) launches.add_correlation_ids(step);
  for (const int step : {700, -50}) launches.add_enter_ns(step);
  for (const uint32_t call : {30u, 4294967295u}) launches.add_call_ns(call);
  const auto reader = Read(launches);
  ChunkLaunchTimes times;
  ASSERT_TRUE(reader->ReadLaunchTimes(0, times).ok());
  EXPECT_THAT(times.enter_ns, ElementsAre(700, 650));
  EXPECT_THAT(times.call_ns, ElementsAre(30, 4294967295u));
}

TEST_F(LaunchTimesTest, AColumnOfAnotherLengthContradicts) {
  void (*const adders[])(Launches&) = {
      [](Launches& l) { l.add_enter_ns(7); }, [](Launches& l) { l.add_call_ns(7); },
      [](Launches& l) { l.add_enter_gaps_ns(7); }, [](Launches& l) { l.add_call_high(7); },
      [](Launches& l) { l.add_call_low(7); }};
  for (const auto add : adders) {
    Launches launches;
    launches.add_correlation_ids(5);
    for (int i = 0; i < 2; ++i) add(launches);
    ChunkLaunchTimes times;
    EXPECT_FALSE(Read(launches)->ReadLaunchTimes(0, times).ok());
  }
}

}  // namespace
}  // namespace hotproof::trace
