// The fast ways of reading against the plain ones: blocks of varints, runs against columns, heads
// alone against whole files.
#include <gtest/gtest.h>

#include "tests/tools/synthetic_workload.h"
#include "tests/trace/trace_files.h"
#include "trace/varint.h"
#include "trace/varint_block.h"
#include "trace/varint_column.h"

namespace hotproof::trace {
namespace {

using tools::Random;

// Entries of up to `most_bits`, as a column with what a decoder may read behind it.
std::string Column(Random& random, size_t count, uint32_t most_bits,
                   std::vector<int64_t>& entries) {
  std::string column;
  uint8_t bytes[kMaxVarintBytes];
  for (size_t i = 0; i < count; ++i) {
    const uint64_t code = random.Next() >> (64 - 1 - random.Below(most_bits));
    entries.push_back(static_cast<int64_t>(UnZigZag64(code)));
    column.append(reinterpret_cast<char*>(bytes), PutVarint(bytes, code) - bytes);
  }
  return column;
}

TEST(VarintBlockTest, BlocksHoldWhatTheColumnsHold) {
  Random random(1);
  for (int round = 0; round < 400; ++round) {
    const size_t count = random.Below(3 * kBlockEntries);
    const uint32_t bits[] = {7, 8, 14, 15, 32, 64};
    std::vector<int64_t> want[2];
    std::string columns[2];
    for (const int c : {0, 1}) {
      columns[c] = Column(random, count, bits[random.Below(std::size(bits))], want[c]);
      EXPECT_EQ(VarintColumn(columns[c]).Count(), count);
      columns[c].append(16, static_cast<char>(random.Next()));
    }
    const bool left_out = random.Below(4) == 0;
    if (left_out) want[0].assign(count, 0);
    for (const auto decode : {DecodeBlock, DecodeBlockPortably}) {
      ZigZagCursor cursors[2];
      for (const int c : {0, 1}) {
        cursors[c].at = reinterpret_cast<const uint8_t*>(columns[c].data());
      }
      if (left_out) cursors[0].at = nullptr;
      ZigZagBlock block;
      for (size_t done = 0; done < count;) {
        const size_t part = std::min(count - done, kBlockEntries - random.Below(500));
        decode(cursors, part, block);
        for (const int c : {0, 1}) {
          for (size_t i = 0; i < part; ++i) {
            const int64_t got = block.wide ? block.entries[c][i] : block.narrow[c][i];
            ASSERT_EQ(got, want[c][done + i]) << done + i;
          }
        }
        done += part;
      }
    }
  }
}

TEST(VarintBlockTest, RunsOfAByteAreCounted) {
  Random random(2);
  for (int round = 0; round < 400; ++round) {
    std::vector<uint64_t> want;
    std::string column;
    uint8_t bytes[kMaxVarintBytes];
    for (uint64_t entries = 1 + random.Below(8); entries > 0; --entries) {
      const uint64_t value = random.Below(5) == 0 ? random.Next() : random.Below(2);
      for (uint64_t times = random.Below(40); times > 0; --times) {
        want.push_back(value);
        column.append(reinterpret_cast<char*>(bytes), PutVarint(bytes, value) - bytes);
      }
    }
    const size_t size = column.size();
    column.append(16, '\0');
    RunColumn runs(std::string_view(column).substr(0, size));
    for (size_t i = 0; i < want.size();) {
      ASSERT_EQ(runs.Take(), want[i]);
      ++i;
      size_t repeats = 0;
      while (i + repeats < want.size() && want[i + repeats] == 1) ++repeats;
      ASSERT_EQ(runs.Repeats(1), repeats) << i;
      const size_t skipped = random.Below(repeats + 1);
      runs.Skip(skipped);
      i += skipped;
    }
  }
  EXPECT_EQ(RunColumn("").Take(), 0u);
  EXPECT_GE(RunColumn("").Repeats(0), kMaxPendingEntries);
}

class FastReadingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(
        tools::WriteSyntheticTrace(
            {.launches = 20'000, .trace_path = path_, .chunk_entries = 2000, .eager_percent = 30}),
        "");
  }
  ScratchFolder folder_;
  std::string path_ = folder_.File("a.hpt");
};

TEST_F(FastReadingTest, ColumnsAsRunsAreTheSameRecords) {
  const auto reader = TraceReader::Open(path_);
  ASSERT_TRUE(reader.ok());
  const Tables& tables = (*reader)->tables();
  size_t records = 0, run_count = 0, overlapping_count = 0;
  for (size_t chunk = 0; chunk < (*reader)->chunk_count(); ++chunk) {
    ChunkColumns columns, again;
    ChunkRuns runs;
    ASSERT_TRUE((*reader)->ReadChunk(chunk, columns).ok());
    Collapse(columns, tables, runs);
    records += columns.start_ns.size();
    run_count += runs.runs.size();
    Expand(runs, tables, again);
    EXPECT_EQ(again.correlation_id, columns.correlation_id);
    EXPECT_EQ(again.target, columns.target);
    EXPECT_EQ(again.node, columns.node);
    EXPECT_EQ(again.site, columns.site);
    EXPECT_EQ(again.stream, columns.stream);
    EXPECT_EQ(again.start_ns, columns.start_ns);
    EXPECT_EQ(again.end_ns, columns.end_ns);
    std::vector<uint32_t> overlapping;
    for (uint32_t i = 1; i < columns.start_ns.size(); ++i) {
      if (columns.start_ns[i] < columns.end_ns[i - 1]) overlapping.push_back(i);
    }
    ChunkRuns decoded;
    ASSERT_TRUE((*reader)->ReadRuns(chunk, decoded).ok());
    EXPECT_EQ(decoded.overlapping, overlapping);
    EXPECT_EQ(runs.overlapping, overlapping);
    EXPECT_EQ(decoded.last_end_ns, runs.last_end_ns);
    overlapping_count += overlapping.size();
  }
  EXPECT_LT(run_count, records / 2);  // it does find them
  EXPECT_GT(overlapping_count, 100u);
}

TEST_F(FastReadingTest, HeadsAloneGiveTheSameTablesAndNoColumnIsDecoded) {
  const auto whole = TraceReader::Open(path_);
  const auto heads = TraceReader::Open(path_, {.verify_columns = false});
  ASSERT_TRUE(whole.ok() && heads.ok());
  EXPECT_EQ((*heads)->tables().asked.sites, (*whole)->tables().asked.sites);
  EXPECT_EQ((*heads)->tables().asked.graphs, (*whole)->tables().asked.graphs);
  EXPECT_EQ((*heads)->tables().site_records, (*whole)->tables().site_records);
  EXPECT_EQ((*heads)->columns_decoded(), 0u);
  EXPECT_EQ((*whole)->columns_decoded(), 0u);
  ChunkRuns runs;
  size_t last = (*heads)->chunk_count() - 1;
  ASSERT_TRUE((*heads)->ReadRuns(last, runs).ok());
  EXPECT_EQ((*heads)->columns_decoded(), 1u);
}

TEST_F(FastReadingTest, SumsBySiteAreThoseOfTheRecordsThatCanBeRead) {
  std::string bytes = ReadWhole(path_);
  for (const bool damaged : {false, true}) {
    if (damaged) {
      bytes[bytes.size() / 2] ^= 0x10;
      WriteWhole(path_, bytes);
    }
    for (const int threads : {1, 3}) {
      const auto reader = TraceReader::Open(path_, {.threads = threads});
      ASSERT_TRUE(reader.ok());
      EXPECT_EQ((*reader)->issues().empty(), !damaged);
      const Tables& tables = (*reader)->tables();
      std::vector<uint64_t> records(tables.sites.size()), durations_ns(tables.sites.size());
      ChunkColumns c;
      for (size_t chunk = 0; chunk < (*reader)->chunk_count(); ++chunk) {
        ASSERT_TRUE((*reader)->ReadChunk(chunk, c).ok());
        for (size_t i = 0; i < c.site.size(); ++i) {
          ++records[c.site[i]];
          durations_ns[c.site[i]] += c.end_ns[i] - c.start_ns[i];
        }
      }
      EXPECT_EQ(tables.site_records, records);
      EXPECT_EQ(tables.site_duration_ns, durations_ns);
    }
  }
}

}  // namespace
}  // namespace hotproof::trace
