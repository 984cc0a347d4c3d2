// Operations (memory copies, memsets, synchronizations, event records): what the writer is given is
// what the reader gives back, sorted, late ones counted, with statistics that sum it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "tests/tools/synthetic_workload.h"
#include "tests/trace/trace_files.h"
#include "trace/limits.h"

namespace hotproof::trace {
namespace {

using ::testing::ElementsAre;

auto Tie(const OperationEntry& e) {
  return std::tie(e.correlation_id, e.start_ns, e.end_ns, e.operation_class, e.stream, e.node_id,
                  e.amount, e.detail);
}

bool IsTimed(const OperationEntry& e) { return e.start_ns != 0 && e.end_ns >= e.start_ns; }

class OperationsTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kClasses = 5, kStreams = 3;

  OperationsTest() : writer_(std::make_unique<Writer>(CreateFile(folder_.File("a.hpt")))) {
    writer_->AddHeader({});
    for (uint32_t id = 1; id <= kStreams; ++id) writer_->AddStream({.id = id});
    for (uint32_t id = 1; id <= kClasses; ++id) {
      writer_->AddOperationClass({.id = id, .kind = 1 + (id - 1) % 4});
    }
  }

  void Flush() { ASSERT_EQ(writer_->Flush({none_, none_}), WriteResult::kOk); }

  void Open() {
    writer_.reset();
    auto reader = TraceReader::Open(folder_.File("a.hpt"));
    ASSERT_TRUE(reader.ok()) << reader.status();
    reader_ = std::move(*reader);
    EXPECT_TRUE(reader_->issues().empty());
  }

  std::vector<OperationEntry> Read(size_t chunk) {
    ChunkOperations c;
    const absl::Status status = reader_->ReadOperations(chunk, c);
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(c.sequence, chunk);
    late_count_ = c.late_count;
    std::vector<OperationEntry> entries;
    for (size_t i = 0; i < c.operation_class.size(); ++i) {
      entries.push_back({c.correlation_id[i], c.start_ns[i], c.end_ns[i], c.operation_class[i],
                         c.stream[i], c.node_id[i], c.amount[i], c.detail[i]});
      EXPECT_EQ(IsTimed(entries.back()), i < c.timed_count);
    }
    return entries;
  }

  ScratchFolder folder_;
  const std::vector<uint64_t> none_ = {0};
  std::unique_ptr<Writer> writer_;
  std::unique_ptr<TraceReader> reader_;
  uint64_t late_count_ = 0;
};

TEST_F(OperationsTest, AnyValuesComeBackInOrderWithTheirSums) {
  tools::Random random(7);
  std::vector<std::vector<OperationEntry>> chunks;
  for (int chunk = 0; chunk < 4; ++chunk) {
    std::vector<OperationEntry>& entries = chunks.emplace_back();
    for (int i = 0; i < 3000; ++i) {
      // Times far apart and equal ones; ids over the whole range.
      OperationEntry entry{random.Next() >> random.Below(64),
                           1 + (random.Next() >> (1 + random.Below(63))),
                           0,
                           static_cast<uint32_t>(1 + random.Below(kClasses)),
                           static_cast<uint32_t>(random.Below(kStreams + 1)),
                           random.Next() >> random.Below(64),
                           random.Next() >> random.Below(64),
                           random.Next() >> random.Below(64)};
      entry.end_ns = entry.start_ns + (random.Next() >> (2 + random.Below(62)));
      if (random.Below(10) == 0) entry.start_ns = 0;                // no time
      if (random.Below(10) == 0) entry.end_ns = entry.start_ns / 2;  // an end before its start
      writer_->AddOperation(entry);
      entries.push_back(entry);
    }
    Flush();
  }
  Open();
  uint64_t last_start_ns = 0;
  for (size_t chunk = 0; chunk < chunks.size(); ++chunk) {
    std::vector<OperationEntry>& want = chunks[chunk];
    const auto untimed = std::stable_partition(want.begin(), want.end(), IsTimed);
    std::stable_sort(want.begin(), untimed,
                     [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
    for (auto it = untimed; it != want.end(); ++it) it->start_ns = it->end_ns = 0;
    const std::vector<OperationEntry> got = Read(chunk);
    ASSERT_EQ(got.size(), want.size());
    std::map<uint32_t, std::tuple<uint64_t, uint64_t, uint64_t>> sums;
    uint64_t late = 0, last_end_ns = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(Tie(got[i]), Tie(want[i])) << chunk << " " << i;
      auto& [count, duration_ns, bytes] = sums[want[i].operation_class];
      ++count;
      duration_ns += want[i].end_ns - want[i].start_ns;
      if ((want[i].operation_class - 1) % 4 < 2) bytes += want[i].amount;
      late += IsTimed(want[i]) && want[i].start_ns < last_start_ns;
      last_end_ns = std::max(last_end_ns, want[i].end_ns);
    }
    EXPECT_EQ(late_count_, late);
    last_start_ns = std::max(last_start_ns, (untimed - 1)->start_ns);
    const OperationStatistics& statistics =
        reader_->tables().chunk_statistics[chunk].operations();
    EXPECT_EQ(statistics.count(), want.size());
    EXPECT_EQ(statistics.untimed_count(), static_cast<uint64_t>(want.end() - untimed));
    EXPECT_EQ(statistics.first_start_ns(), want.front().start_ns);
    EXPECT_EQ(statistics.last_end_ns(), last_end_ns);
    ASSERT_EQ(statistics.class_ids_size(), static_cast<int>(sums.size()));
    uint32_t id = 0;
    for (int i = 0; i < statistics.class_ids_size(); ++i) {
      id += static_cast<uint32_t>(statistics.class_ids(i));
      EXPECT_EQ(std::tuple(statistics.class_counts(i), statistics.class_duration_ns(i),
                           statistics.class_bytes(i)),
                sums[id]);
    }
  }
}

TEST_F(OperationsTest, AreNoRecordsOfKernels) {
  writer_->AddOperation({1, 10, 20, 1, 1, 0, 64, 1});
  EXPECT_EQ(writer_->pending_operations(), 1u);
  EXPECT_EQ(writer_->pending_records(), 0u);
  Flush();
  EXPECT_EQ(writer_->pending_operations(), 0u);
  EXPECT_EQ(writer_->records_written(), 0u);
  Open();
  EXPECT_EQ(reader_->tables().chunk_statistics[0].record_count(), 0u);
  ChunkColumns columns;
  EXPECT_TRUE(reader_->ReadChunk(0, columns).ok());
  EXPECT_TRUE(columns.start_ns.empty());
}

// A reader of version 1.0 takes a frame for columns if it has launches or records: without them, it
// would take it for a head whose tables are gone.
TEST_F(OperationsTest, ColumnsWithOperationsAloneAreStillTakenForColumns) {
  writer_->AddOperation({1, 10, 20, 1, 1, 0, 64, 1});
  Flush();
  const std::vector<std::string> messages = DecompressFrames(ReadWhole(folder_.File("a.hpt")));
  ASSERT_EQ(messages.size(), 2u);
  Chunk columns;
  ASSERT_TRUE(columns.ParseFromString(messages[1]));
  EXPECT_TRUE(columns.has_launches());
  EXPECT_EQ(columns.operations().classes_size(), 1);
}

TEST_F(OperationsTest, AChunkWithoutAnyHasNone) {
  writer_->AddLaunch({1, Target::Site(1), 1});
  Flush();
  Open();
  EXPECT_FALSE(reader_->tables().chunk_statistics[0].has_operations());
  EXPECT_THAT(Read(0), ::testing::IsEmpty());
  ChunkOperations c;
  EXPECT_FALSE(reader_->ReadOperations(1, c).ok());
}

TEST_F(OperationsTest, MoreThanTheLimitIsAnError) {
  for (size_t i = 0; i < kMaxPendingOperations; ++i) writer_->AddOperation({1, 1, 1, 1, 1});
  Flush();
  for (size_t i = 0; i <= kMaxPendingOperations; ++i) writer_->AddOperation({1, 1, 1, 1, 1});
  EXPECT_EQ(writer_->Flush({none_, none_}), WriteResult::kRecordLost);
  writer_->AddOperation({1, 1, 1, kClasses + 1, 1});  // of no class
  EXPECT_EQ(writer_->Flush({none_, none_}), WriteResult::kRecordLost);
}

// Chunks as other writers could make them.
class ContradictionTest : public OperationsTest {
 protected:
  // Writes one chunk with these columns and returns what reading its operations says.
  absl::Status ReadChanged(void (*change)(OperationStatistics&, Operations&)) {
    Chunk head, columns;
    head.mutable_header()->set_format_major(1);
    head.add_operation_classes()->set_id(1);
    OperationStatistics& statistics = *head.mutable_statistics()->mutable_operations();
    statistics.set_count(2);
    statistics.set_first_start_ns(10);
    columns.mutable_launches();
    Operations& operations = *columns.mutable_operations();
    for (int i = 0; i < 2; ++i) operations.add_classes(i == 0 ? 1 : 0);
    for (int i = 0; i < 2; ++i) operations.add_start_gaps_ns(static_cast<uint64_t>(i));
    change(statistics, operations);
    const std::string frame = CompressFrame(columns.SerializeAsString());
    head.mutable_columns_frame()->set_size_bytes(frame.size());
    head.mutable_columns_frame()->set_hash(HashFrame(frame));
    WriteWhole(folder_.File("b.hpt"), CompressFrame(head.SerializeAsString()) + frame);
    auto reader = TraceReader::Open(folder_.File("b.hpt"));
    if (!reader.ok()) return reader.status();
    ChunkOperations c;
    return (*reader)->ReadOperations(0, c);
  }
};

TEST_F(ContradictionTest, IsNamed) {
  using S = OperationStatistics;
  using O = Operations;
  EXPECT_TRUE(ReadChanged([](S&, O&) {}).ok());
  EXPECT_FALSE(ReadChanged([](S& s, O&) { s.set_count(3); }).ok());
  EXPECT_FALSE(ReadChanged([](S& s, O&) { s.set_untimed_count(3); }).ok());
  EXPECT_FALSE(ReadChanged([](S& s, O&) { s.set_untimed_count(1); }).ok());  // a time too many
  EXPECT_FALSE(ReadChanged([](S& s, O&) { s.set_late_count(3); }).ok());
  EXPECT_FALSE(ReadChanged([](S&, O& o) { o.add_amounts(1); }).ok());
  EXPECT_FALSE(ReadChanged([](S&, O& o) { o.set_start_gaps_ns(1, ~uint64_t{0}); }).ok());
  EXPECT_FALSE(ReadChanged([](S&, O& o) { o.set_classes(1, -2); }).ok());
  EXPECT_FALSE(ReadChanged([](S&, O& o) { o.set_classes(1, 1 << 30); }).ok());
}

TEST_F(ContradictionTest, AClassWhoseEntryIsLostReadsAsUnknown) {
  EXPECT_TRUE(ReadChanged([](OperationStatistics&, Operations& o) { o.set_classes(1, 6); }).ok());
  auto reader = TraceReader::Open(folder_.File("b.hpt"));
  ASSERT_TRUE(reader.ok());
  ChunkOperations c;
  ASSERT_TRUE((*reader)->ReadOperations(0, c).ok());
  EXPECT_THAT(c.operation_class, ElementsAre(1, 0));
}

TEST(SmallTraceOperationsTest, ComeBack) {
  ScratchFolder folder;
  const SmallTrace want = WriteSmallTrace(folder.File("a.hpt"));
  auto reader = TraceReader::Open(folder.File("a.hpt"));
  ASSERT_TRUE(reader.ok());
  ChunkOperations c;
  ASSERT_TRUE((*reader)->ReadOperations(2, c).ok());
  ASSERT_EQ(c.operation_class.size(), want.operations.size());
  for (size_t i = 0; i < want.operations.size(); ++i) {
    EXPECT_EQ(Tie(want.operations[i]),
              std::tie(c.correlation_id[i], c.start_ns[i], c.end_ns[i], c.operation_class[i],
                       c.stream[i], c.node_id[i], c.amount[i], c.detail[i]));
  }
  EXPECT_EQ((*reader)->tables().operation_classes[1].kind(), OPERATION_MEMCPY);
}

}  // namespace
}  // namespace hotproof::trace
