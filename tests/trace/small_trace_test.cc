// The small trace read back: every column, statistic and counter of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trace/trace_files.h"

namespace hotproof::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class SmallTraceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    expected_ = WriteSmallTrace(folder_.File("a.hpt"));
    auto reader = TraceReader::Open(folder_.File("a.hpt"));
    ASSERT_TRUE(reader.ok()) << reader.status();
    reader_ = std::move(*reader);
  }
  ScratchFolder folder_;
  SmallTrace expected_;
  std::unique_ptr<TraceReader> reader_;
};

TEST_F(SmallTraceTest, HasNoIssues) {
  EXPECT_THAT(reader_->issues(), IsEmpty());
  EXPECT_EQ(reader_->chunk_count(), 3u);
  EXPECT_EQ(reader_->file_bytes(), ReadWhole(folder_.File("a.hpt")).size());
}

TEST_F(SmallTraceTest, Columns) {
  ChunkColumns columns;
  for (size_t chunk = 0; chunk < 3; ++chunk) {
    const auto status = reader_->ReadChunk(chunk, columns);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(columns.sequence, chunk);
    ASSERT_EQ(columns.launch_correlation_id.size(), expected_.launches[chunk].size());
    for (size_t i = 0; i < expected_.launches[chunk].size(); ++i) {
      const LaunchEntry& want = expected_.launches[chunk][i];
      EXPECT_EQ(columns.launch_correlation_id[i], want.correlation_id);
      EXPECT_EQ(columns.launch_target[i], want.target);
      EXPECT_EQ(columns.launch_stream[i], want.stream);
    }
    ASSERT_EQ(columns.start_ns.size(), expected_.timed[chunk].size());
    for (size_t i = 0; i < expected_.timed[chunk].size(); ++i) {
      const RecordEntry& want = expected_.timed[chunk][i];
      EXPECT_EQ(columns.correlation_id[i], want.correlation_id);
      EXPECT_EQ(columns.target[i], want.target);
      EXPECT_EQ(columns.node[i], want.node);
      EXPECT_EQ(columns.site[i], want.site != 0 ? want.site : want.default_site);
      EXPECT_EQ(columns.stream[i], want.stream);
      EXPECT_EQ(columns.attributes[i], want.attributes);
      EXPECT_EQ(columns.start_ns[i], want.start_ns);
      EXPECT_EQ(columns.end_ns[i], want.end_ns);
    }
    ASSERT_EQ(columns.untimed_node.size(), expected_.untimed[chunk].size());
    for (size_t i = 0; i < expected_.untimed[chunk].size(); ++i) {
      const RecordEntry& want = expected_.untimed[chunk][i];
      EXPECT_EQ(columns.untimed_correlation_id[i], want.correlation_id);
      EXPECT_EQ(columns.untimed_target[i], want.target);
      EXPECT_EQ(columns.untimed_node[i], want.node);
      EXPECT_EQ(columns.untimed_site[i], want.default_site);
      EXPECT_EQ(columns.untimed_attributes[i], want.attributes);
    }
  }
  EXPECT_EQ(columns.late_count, 1u);
  EXPECT_FALSE(reader_->ReadChunk(3, columns).ok());
}

TEST_F(SmallTraceTest, Statistics) {
  ASSERT_EQ(reader_->tables().chunk_statistics.size(), 3u);
  std::vector<ChunkStatistics> statistics;
  for (size_t chunk = 0; chunk < 3; ++chunk) {
    statistics.push_back(*reader_->ReadStatistics(chunk));
    // What does not grow with the number of sites is at hand.
    ChunkStatistics kept = statistics.back();
    kept.clear_asked();
    kept.clear_site_ids();
    kept.clear_site_records();
    kept.clear_site_duration_ns();
    EXPECT_EQ(reader_->tables().chunk_statistics[chunk].SerializeAsString(),
              kept.SerializeAsString());
  }
  EXPECT_EQ(statistics[0].record_count(), 0u);
  EXPECT_EQ(statistics[1].first_start_ns(), 5000u);
  EXPECT_EQ(statistics[1].last_end_ns(), 7300u);
  EXPECT_EQ(statistics[1].record_count(), 4u);
  EXPECT_EQ(statistics[1].launch_count(), 2u);
  EXPECT_THAT(statistics[1].site_ids(), ElementsAre(1, 1, 1));  // 1, 2, 3
  EXPECT_THAT(statistics[1].site_records(), ElementsAre(1, 2, 1));
  EXPECT_THAT(statistics[1].site_duration_ns(), ElementsAre(1000, 600, 600));
  EXPECT_EQ(statistics[2].record_count(), 4u);
  EXPECT_EQ(statistics[2].untimed_count(), 1u);
  EXPECT_EQ(statistics[2].late_count(), 1u);
  EXPECT_THAT(statistics[2].site_ids(), ElementsAre(2, 2));  // 2, 4
  EXPECT_THAT(statistics[2].site_records(), ElementsAre(2, 2));
  EXPECT_THAT(statistics[2].site_duration_ns(), ElementsAre(100, 341));
  EXPECT_THAT(reader_->tables().site_records, ElementsAre(0, 1, 4, 1, 2));
  EXPECT_THAT(reader_->tables().site_duration_ns, ElementsAre(0, 1000, 700, 600, 341));
}

TEST_F(SmallTraceTest, AskedComesFromTheChunks) {
  const Tables& tables = reader_->tables();
  EXPECT_EQ(tables.asked_source, CounterSource::kChunks);
  EXPECT_THAT(tables.asked.sites, ElementsAre(0, 1, 0, 0, 0));
  EXPECT_THAT(tables.asked.graphs, ElementsAre(0, 2));
  EXPECT_EQ(tables.LaunchesOfSite(1, tables.asked), 1u);
  EXPECT_EQ(tables.LaunchesOfSite(2, tables.asked), 4u);
  EXPECT_THAT(tables.LaunchesBySite(tables.asked), ElementsAre(0, 1, 4, 2, 0));
  EXPECT_THAT(tables.site_attributes, ElementsAre(0, 1, 2, 1, 2));
}

}  // namespace
}  // namespace hotproof::trace
