// What a reader keeps of a trace's tables stays below a limit, and what it does not keep isn't counted.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "trace/limits.h"
#include "trace/table_builder.h"

namespace hotproof::trace {
namespace {

constexpr uint64_t kLimitBytes = 8 << 20;

class TableMemoryTest : public testing::Test {
 protected:
  bool Fold(Chunk head) { return builder_.Fold(head, head.ByteSizeLong(), 0); }

  Tables tables_;
  std::vector<ReadIssue> issues_;
  TableBuilder builder_{tables_, issues_, kLimitBytes};
};

Chunk Mark(uint64_t at) {
  Chunk head;
  Snapshot& snapshot = *head.add_snapshots();
  snapshot.set_reason(SNAPSHOT_REASON_MARK);
  snapshot.set_label("request");
  snapshot.set_correlation_id(at);
  for (int site = 0; site < 20; ++site) {
    snapshot.mutable_asked()->add_site_ids(1);
    snapshot.mutable_asked()->add_site_counts(1);
  }
  return head;
}

TEST_F(TableMemoryTest, MarksThatAreFlushedOneByOneDoNotAddUp) {
  constexpr uint64_t kMarks = 50'000;  // 20 MB and more as heads
  for (uint64_t i = 1; i <= kMarks; ++i) ASSERT_TRUE(Fold(Mark(i))) << i;
  builder_.Finish();
  uint64_t told = 0;
  for (const SnapshotTable& snapshot : tables_.snapshots) told += 1 + snapshot.repeats;
  EXPECT_EQ(told, kMarks);
  EXPECT_EQ(issues_.size(), 0u);
}

TEST_F(TableMemoryTest, TablesThatLaterFilesRepeatCountOnce) {
  Chunk head;
  for (uint32_t id = 1; id <= 1000; ++id) {
    Kernel& kernel = *head.add_kernels();
    kernel.set_id(id);
    kernel.set_name(std::string(1000, 'k'));
  }
  for (int file = 0; file < 100; ++file) ASSERT_TRUE(Fold(head)) << file;
  EXPECT_EQ(tables_.kernels.size(), 1001u);
}

TEST_F(TableMemoryTest, EntriesAboveTheLimitAreRefused) {
  Chunk head;
  for (uint32_t id = 1; id <= 10; ++id) {
    Kernel& kernel = *head.add_kernels();
    kernel.set_id(id);
    kernel.set_name(std::string(1 << 20, 'k'));
  }
  EXPECT_FALSE(Fold(head));
}

TEST_F(TableMemoryTest, EntriesOfManySmallHeadsAddUp) {
  uint32_t id = 0;
  for (bool fits = true; fits && id < 10'000;) {
    Chunk head;
    Kernel& kernel = *head.add_kernels();
    kernel.set_id(++id);
    kernel.set_name(std::string(4000, 'k'));
    fits = Fold(head);
  }
  EXPECT_GT(id, kLimitBytes / 4000 * 3 / 4);
  EXPECT_LE(id, kLimitBytes / 4000 + 1);
}

TEST_F(TableMemoryTest, ProblemsAboveTheLimitAreRefused) {
  Chunk head;
  for (int i = 0; i < 10; ++i) head.add_problems()->set_detail(std::string(1 << 20, 'p'));
  EXPECT_FALSE(Fold(head));
}

TEST_F(TableMemoryTest, GraphsThatRepeatOthersEdgesCountThem) {
  constexpr uint32_t kEdges = 100'000;  // 1.2 MB
  Chunk head;
  Graph& first = *head.add_graphs();
  first.set_id(1);
  first.add_node_ids(1);
  first.add_node_sites(0);
  first.set_edges_known(true);
  for (uint32_t i = 0; i < kEdges; ++i) {
    first.add_edge_from(0);
    first.add_edge_to(0);
  }
  ASSERT_TRUE(Fold(head));
  ASSERT_EQ(tables_.graphs.at(1).edges.size(), kEdges);
  Chunk copies;
  for (uint32_t id = 2; id < 100; ++id) {
    Graph& graph = *copies.add_graphs();
    graph.set_id(id);
    graph.add_node_ids(id);
    graph.add_node_sites(0);
    graph.set_surroundings_of(1);
  }
  EXPECT_FALSE(Fold(copies));
  size_t edges = 0;
  for (const GraphTable& graph : tables_.graphs) edges += graph.edges.size();
  EXPECT_LE(edges * sizeof(GraphTable::Edge), kLimitBytes);
}

TEST_F(TableMemoryTest, ALongLabelIsCutBetweenCharacters) {
  Chunk head = Mark(1);
  std::string label = "xx";
  while (label.size() < 10'000) label += "\u00e9";
  head.mutable_snapshots(0)->set_label(label);
  ASSERT_TRUE(Fold(head));
  builder_.Finish();
  EXPECT_EQ(tables_.snapshots.at(0).label, label.substr(0, kMaxLabelBytes - 1));
}

}  // namespace
}  // namespace hotproof::trace
