// Damaged, foreign and newer files: what can be read is read, what is lost is said, nothing
// crashes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "proto/trace.pb.h"
#include "tests/tools/synthetic_workload.h"
#include "tests/trace/trace_files.h"
#include "zstd.h"

namespace hotproof::trace {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Kind = ReadIssue::Kind;

auto Is(Kind kind) { return Field("kind", &ReadIssue::kind, kind); }

class DamageTest : public ::testing::Test {
 protected:
  DamageTest() {
    WriteSmallTrace(path_);
    whole_ = ReadWhole(path_);
    for (size_t at = 0; at < whole_.size();) {
      frames_.push_back(at);
      at += ZSTD_findFrameCompressedSize(whole_.data() + at, whole_.size() - at);
    }
    // Head 0; head 1 and its columns; head 2 and its columns.
    EXPECT_EQ(frames_.size(), 5u);
    frames_.push_back(whole_.size());
  }

  std::unique_ptr<TraceReader> Open(const std::string& bytes) {
    WriteWhole(path_, bytes);
    auto reader = TraceReader::Open(path_);
    EXPECT_TRUE(reader.ok()) << reader.status();
    return reader.ok() ? std::move(*reader) : nullptr;
  }
  std::string FlipIn(size_t frame) const {
    std::string bytes = whole_;
    bytes[(frames_[frame] + frames_[frame + 1]) / 2] ^= 0x20;
    return bytes;
  }
  static size_t ReadableRecords(const TraceReader& reader) {
    size_t records = 0;
    ChunkColumns columns;
    for (size_t i = 0; i < reader.chunk_count(); ++i) {
      EXPECT_TRUE(reader.ReadChunk(i, columns).ok());
      records += columns.start_ns.size() + columns.untimed_node.size();
    }
    return records;
  }

  ScratchFolder folder_;
  std::string path_ = folder_.File("a.hpt");
  std::string whole_;
  std::vector<size_t> frames_;
};

TEST_F(DamageTest, TornAtEveryByte) {
  for (size_t size = 0; size < whole_.size(); ++size) {
    SCOPED_TRACE(size);
    auto reader = Open(whole_.substr(0, size));
    ASSERT_NE(reader, nullptr);
    // A cut between frames leaves a whole trace, unless a head waits for its columns.
    const bool between = size == frames_[1] || size == frames_[3];
    size_t records = size >= frames_[3] ? 4 : 0;
    EXPECT_EQ(ReadableRecords(*reader), records);
    if (between) {
      EXPECT_THAT(reader->issues(), IsEmpty());
    } else {
      ASSERT_THAT(reader->issues(), ElementsAre(Is(Kind::kTornTail)));
      const ReadIssue& issue = reader->issues()[0];
      EXPECT_EQ(issue.offset_bytes + issue.lost_bytes, size);
      EXPECT_TRUE(std::count(frames_.begin(), frames_.end(), issue.offset_bytes));
    }
    // A head whose columns are torn still gives its tables and counts.
    EXPECT_EQ(reader->tables().kernels.size(), size >= frames_[1] ? 3u : 1u);
    EXPECT_EQ(reader->tables().sites.size(), size >= frames_[4]   ? 5u
                                             : size >= frames_[1] ? 4u
                                                                  : 1u);
    if (size >= frames_[2]) {
      EXPECT_EQ(reader->tables().asked.graphs[1], size >= frames_[4] ? 2u : 1u);
    }
  }
}

TEST_F(DamageTest, CorruptColumnsLoseTheirRecordsAlone) {
  auto reader = Open(FlipIn(2));
  ASSERT_THAT(reader->issues(), ElementsAre(Is(Kind::kCorruptColumns)));
  EXPECT_EQ(reader->issues()[0].offset_bytes, frames_[2]);
  EXPECT_EQ(reader->issues()[0].lost_bytes, frames_[3] - frames_[2]);
  EXPECT_EQ(reader->chunk_count(), 2u);
  EXPECT_EQ(reader->tables().chunk_statistics.size(), 2u);
  EXPECT_EQ(ReadableRecords(*reader), 4u);
  EXPECT_EQ(reader->tables().asked.graphs[1], 2u);
}

TEST_F(DamageTest, ACorruptHeadLosesItsChunk) {
  auto reader = Open(FlipIn(1));
  ASSERT_THAT(reader->issues(), ElementsAre(Is(Kind::kCorruptFrame), Is(Kind::kMissingChunk)));
  EXPECT_EQ(reader->issues()[0].offset_bytes, frames_[1]);
  EXPECT_EQ(reader->issues()[0].lost_bytes, frames_[3] - frames_[1]);
  EXPECT_EQ(ReadableRecords(*reader), 4u);
  EXPECT_EQ(reader->tables().asked.graphs[1], 1u);  // a lower bound now
}

TEST_F(DamageTest, ACorruptByteAnywhereIsNoticed) {
  for (size_t at = 0; at < whole_.size(); ++at) {
    std::string bytes = whole_;
    bytes[at] ^= 0x01;
    WriteWhole(path_, bytes);
    auto reader = TraceReader::Open(path_);
    if (!reader.ok()) {
      EXPECT_LT(at, 4u) << reader.status();  // no zstd magic at the start
      continue;
    }
    if (!(*reader)->issues().empty()) {
      ReadableRecords(**reader);
      continue;
    }
    // A bit that zstd does not use; the checksum proves that nothing was changed by it.
    const std::vector<std::string> got = DecompressFrames(bytes);
    EXPECT_EQ(got, DecompressFrames(whole_)) << "byte " << at;
  }
}

TEST_F(DamageTest, AMissingChunkIsNoticedAndLaterSnapshotsAreNotExact) {
  std::string bytes = whole_.substr(0, frames_[1]) + whole_.substr(frames_[3]);
  Chunk late;
  late.set_sequence(3);
  late.add_snapshots()->set_reason(SNAPSHOT_REASON_MARK);
  auto reader = Open(bytes + CompressFrame(late.SerializeAsString()));
  ASSERT_THAT(reader->issues(), ElementsAre(Is(Kind::kMissingChunk)));
  EXPECT_THAT(reader->issues()[0].detail, HasSubstr("1 to 1"));
  ASSERT_EQ(reader->tables().snapshots.size(), 2u);
  EXPECT_TRUE(reader->tables().snapshots[0].asked_exact);
  EXPECT_FALSE(reader->tables().snapshots[1].asked_exact);
}

TEST_F(DamageTest, GarbageBetweenChunksIsSkipped) {
  const std::string garbage(100'000, '\x5A');
  auto reader = Open(whole_.substr(0, frames_[3]) + garbage + whole_.substr(frames_[3]));
  ASSERT_THAT(reader->issues(), ElementsAre(Is(Kind::kCorruptFrame)));
  EXPECT_EQ(reader->issues()[0].lost_bytes, garbage.size());
  EXPECT_EQ(ReadableRecords(*reader), 8u);
}

TEST_F(DamageTest, AChunkThatComesTwiceCountsOnce) {
  auto reader = Open(whole_ + whole_.substr(frames_[3]));
  ASSERT_THAT(reader->issues(), ElementsAre(Is(Kind::kMalformedChunk)));
  EXPECT_EQ(ReadableRecords(*reader), 8u);
  EXPECT_EQ(reader->tables().asked.graphs[1], 2u);
}

TEST_F(DamageTest, AllChunksThatComeTwiceAreOneIssue) {
  auto reader = Open(whole_ + whole_);
  ASSERT_THAT(reader->issues(), ElementsAre(Is(Kind::kMalformedChunk)));
  EXPECT_THAT(reader->issues()[0].detail, HasSubstr("chunks 0 to 2 come a second time"));
  EXPECT_EQ(ReadableRecords(*reader), 8u);
}

TEST_F(DamageTest, ATraceOfAnotherProcessBehindIsNotRead) {
  Chunk first;
  ASSERT_TRUE(first.ParseFromString(DecompressFrames(whole_.substr(0, frames_[1]))[0]));
  first.mutable_header()->set_boot_id("this");
  first.mutable_header()->set_start_realtime_ns(1);
  const Header same = first.header();
  Chunk other = first;
  const auto open_behind =
      [&] {  // of the first only chunk 0 is there, 1 and 2 come behind the other's
        return Open(CompressFrame(first.SerializeAsString()) +
                    CompressFrame(other.SerializeAsString()) + whole_.substr(frames_[1]));
      };
  EXPECT_EQ(ReadableRecords(*open_behind()), 8u);
  for (const auto& change : std::vector<std::function<void(Header&)>>{
           [](Header& header) { header.set_pid(header.pid() + 1); },
           [](Header& header) { header.set_process_start_ticks(header.process_start_ticks() + 1); },
           [](Header& header) { header.set_boot_id("another"); },
           [](Header& header) { header.set_start_realtime_ns(header.start_realtime_ns() + 1); }}) {
    *other.mutable_header() = same;
    change(*other.mutable_header());
    auto reader = open_behind();
    ASSERT_THAT(reader->issues(), ElementsAre(Is(Kind::kMalformedChunk)));
    EXPECT_THAT(reader->issues()[0].detail, HasSubstr("another process's trace begins here"));
    EXPECT_EQ(ReadableRecords(*reader), 0u);
    EXPECT_EQ(reader->tables().header.pid(), same.pid());
  }
}

TEST_F(DamageTest, NotATrace) {
  for (const std::string& bytes : {std::string("PK\3\4 something else"), std::string("x"),
                                   CompressFrame("hello hello"), CompressFrame(std::string())}) {
    WriteWhole(path_, bytes);
    auto reader = TraceReader::Open(path_);
    ASSERT_FALSE(reader.ok());
    EXPECT_THAT(std::string(reader.status().message()), HasSubstr("not a hotproof trace"));
  }
  EXPECT_FALSE(TraceReader::Open(folder_.File("absent.hpt")).ok());
  EXPECT_FALSE(TraceReader::Open(folder_.path()).ok());
}

TEST_F(DamageTest, ANewerMajorVersionIsRefused) {
  Chunk chunk;
  chunk.mutable_header()->set_format_major(kFormatMajor + 1);
  WriteWhole(path_, CompressFrame(chunk.SerializeAsString()));
  auto reader = TraceReader::Open(path_);
  ASSERT_FALSE(reader.ok());
  EXPECT_THAT(std::string(reader.status().message()), HasSubstr("newer hotproof"));
}

// Field 1000, a varint, as a newer minor version might add it.
void AddUnknownField(google::protobuf::Message& message) {
  message.GetReflection()->MutableUnknownFields(&message)->AddVarint(1000, 5);
}

TEST_F(DamageTest, FieldsOfANewerMinorVersionAreNamedAndSkipped) {
  std::vector<Chunk> chunks;
  for (const std::string& message : DecompressFrames(whole_)) {
    ASSERT_TRUE(chunks.emplace_back().ParseFromString(message));
  }
  chunks[0].mutable_header()->set_format_minor(kFormatMinor + 1);
  AddUnknownField(chunks[0]);
  AddUnknownField(*chunks[0].mutable_header());
  AddUnknownField(*chunks[0].mutable_sites(1));
  AddUnknownField(*chunks[0].mutable_sites(2));
  AddUnknownField(*chunks[2].mutable_launches());
  AddUnknownField(*chunks[2].mutable_records());
  std::string bytes;
  for (size_t i = 0; i < chunks.size(); ++i) {
    // Columns first: the head holds their frame's size and hash, so it keeps the written frame
    // where nothing changed and is made anew where something did.
    if (i == 1) continue;
    if (i == 2) {
      const std::string columns = CompressFrame(chunks[2].SerializeAsString());
      chunks[1].mutable_columns_frame()->set_size_bytes(columns.size());
      chunks[1].mutable_columns_frame()->set_hash(HashFrame(columns));
      bytes += CompressFrame(chunks[1].SerializeAsString()) + columns;
    } else if (i == 0) {
      bytes += CompressFrame(chunks[0].SerializeAsString());
    } else {
      bytes += whole_.substr(frames_[i], frames_[i + 1] - frames_[i]);
    }
  }
  auto reader = Open(bytes);
  ASSERT_NE(reader, nullptr);
  std::vector<std::string> details;
  for (const ReadIssue& issue : reader->issues()) {
    EXPECT_EQ(issue.kind, Kind::kUnknownField) << issue.detail;
    details.push_back(issue.detail.substr(0, issue.detail.find(" is ")));
  }
  std::sort(details.begin(), details.end());
  EXPECT_THAT(details,
              ElementsAre("field 1000 of Chunk", "field 1000 of Header", "field 1000 of Launches",
                          "field 1000 of Records", "field 1000 of Site"));
  EXPECT_EQ(ReadableRecords(*reader), 8u);
}

// Ids that would make a reader index or allocate at will.
TEST_F(DamageTest, HostileIdsStayWithinTheirTables) {
  Chunk head;
  head.mutable_header()->set_format_major(1);
  head.add_kernels()->set_id(4'000'000'000u);
  head.add_sites()->set_id(1);
  head.mutable_sites(0)->set_kernel_id(77);
  head.mutable_sites(0)->add_tensor_maps()->set_tensor_map_id(5);
  Graph* graph = head.add_graphs();
  graph->set_id(1);
  graph->add_node_ids(1);
  graph->add_node_sites(1000);
  graph->set_replaces(9);
  head.add_snapshots()->set_graph_id(50);
  head.mutable_snapshots(0)->mutable_asked()->add_site_ids(-5);
  head.mutable_snapshots(0)->mutable_asked()->add_site_counts(3);
  head.mutable_site_attributes()->add_sites(1);
  head.mutable_site_attributes()->add_attributes(99);
  Chunk columns;
  Records* records = columns.mutable_records();
  records->add_group_correlation_ids(1);
  records->add_group_targets(3);  // graph 1
  records->add_group_streams(12);
  for (int node : {0, 700}) {
    records->add_groups(0);
    records->add_nodes(node);
    records->add_gaps_ns(0);
    records->add_durations_ns(4);
    records->add_streams(0);
  }
  Launches* launches = columns.mutable_launches();
  launches->add_correlation_ids(1);
  launches->add_targets(1 << 30);
  launches->add_streams(-1);
  head.mutable_statistics()->set_first_start_ns(100);
  head.mutable_statistics()->set_record_count(2);
  head.mutable_statistics()->set_launch_count(1);
  const std::string frame = CompressFrame(columns.SerializeAsString());
  head.mutable_columns_frame()->set_size_bytes(frame.size());
  head.mutable_columns_frame()->set_hash(HashFrame(frame));
  auto reader = Open(CompressFrame(head.SerializeAsString()) + frame);
  ASSERT_NE(reader, nullptr);
  EXPECT_THAT(reader->issues(), ElementsAre(Is(Kind::kMalformedChunk)));
  const Tables& tables = reader->tables();
  EXPECT_EQ(tables.kernels.size(), 1u);
  EXPECT_EQ(tables.sites[1].kernel_id(), 0u);
  EXPECT_EQ(tables.sites[1].tensor_maps(0).tensor_map_id(), 0u);
  EXPECT_THAT(tables.graphs[1].node_sites, ElementsAre(0));
  EXPECT_EQ(tables.graphs[1].replaces, 0u);
  EXPECT_EQ(tables.snapshots[0].graph_id, 0u);
  EXPECT_THAT(tables.snapshots[0].asked.sites, ElementsAre(3, 0));
  EXPECT_THAT(tables.site_attributes, ElementsAre(0, 0));
  ChunkColumns got;
  ASSERT_TRUE(reader->ReadChunk(0, got).ok());
  EXPECT_THAT(got.site, ElementsAre(0, 0));
  EXPECT_THAT(got.node, ElementsAre(0, 0));
  EXPECT_THAT(got.target, ElementsAre(Target::Graph(1), Target()));
  EXPECT_THAT(got.stream, ElementsAre(0, 0));
  EXPECT_THAT(got.launch_target, ElementsAre(Target()));
}

// The first head of a third file: one record of site 1 in each of the two before, asked for as
// often.
Chunk ThirdFile(uint64_t sequence) {
  Chunk head;
  head.set_sequence(sequence);
  head.mutable_header()->set_format_major(1);
  head.add_sites()->set_id(1);
  head.mutable_continuation()->set_segment(3);
  for (const uint32_t segment : {1, 2}) {
    Rollup* rollup = head.mutable_continuation()->add_rollups();
    rollup->set_first_segment(segment);
    rollup->set_last_segment(segment);
    rollup->set_chunk_count(1);
    ChunkStatistics& statistics = *rollup->mutable_statistics();
    statistics.set_first_start_ns(100 * segment);
    statistics.set_last_end_ns(100 * segment + 10);
    statistics.set_record_count(1);
    statistics.add_site_ids(1);
    statistics.add_site_records(1);
    statistics.add_site_duration_ns(10);
    statistics.mutable_asked()->add_site_ids(1);
    statistics.mutable_asked()->add_site_counts(1);
  }
  return head;
}

TEST_F(DamageTest, SumsOfEarlierFilesAreUsedOnlyWhereTheyCanBe) {
  {
    auto reader = Open(CompressFrame(ThirdFile(7).SerializeAsString()));
    EXPECT_THAT(reader->issues(), IsEmpty());
    EXPECT_EQ(reader->tables().rotated_out.files, 2u);
    EXPECT_EQ(reader->tables().rotated_out.records, 2u);
    EXPECT_THAT(reader->tables().asked.sites, ElementsAre(0, 2));
  }
  constexpr uint64_t kMost = ~uint64_t{0};
  const std::vector<std::pair<const char*, void (*)(Continuation&)>> changes = {
      {"none", [](Continuation& c) { c.clear_rollups(); }},
      {"first missing", [](Continuation& c) { c.mutable_rollups()->DeleteSubrange(0, 1); }},
      {"last missing", [](Continuation& c) { c.mutable_rollups()->RemoveLast(); }},
      {"of the file itself", [](Continuation& c) { c.set_segment(2); }},
      {"of no file", [](Continuation& c) { c.Clear(); }},
      {"overlap", [](Continuation& c) { c.mutable_rollups(0)->set_last_segment(2); }},
      {"backwards", [](Continuation& c) { c.mutable_rollups(1)->set_last_segment(1); }},
      {"wraps", [](Continuation& c) { c.mutable_rollups(0)->set_last_segment(~0u); }},
      {"untimed",
       [](Continuation& c) { c.mutable_rollups(0)->mutable_statistics()->set_untimed_count(2); }},
      {"period",
       [](Continuation& c) { c.mutable_rollups(0)->mutable_statistics()->set_last_end_ns(99); }},
      {"by site",
       [](Continuation& c) { c.mutable_rollups(0)->mutable_statistics()->set_record_count(2); }},
      {"columns",
       [](Continuation& c) { c.mutable_rollups(0)->mutable_statistics()->add_site_ids(1); }},
      {"records wrap",
       [](Continuation& c) {
         c.mutable_rollups(0)->mutable_statistics()->set_record_count(kMost);
         c.mutable_rollups(0)->mutable_statistics()->set_site_records(0, kMost);
       }},
      {"asked wraps",
       [](Continuation& c) {
         c.mutable_rollups(0)->mutable_statistics()->mutable_asked()->set_site_counts(0, kMost);
       }},
      {"time wraps",
       [](Continuation& c) {
         c.mutable_rollups(0)->mutable_statistics()->set_site_duration_ns(0, kMost);
       }},
      {"many",
       [](Continuation& c) {
         c.clear_rollups();
         for (uint32_t i = 1; i <= 1000; ++i) {
           c.add_rollups()->set_first_segment(i);
           c.mutable_rollups(i - 1)->set_last_segment(i);
         }
         c.set_segment(1001);
       }},
  };
  for (const auto& [name, change] : changes) {
    SCOPED_TRACE(name);
    Chunk head = ThirdFile(7);
    change(*head.mutable_continuation());
    auto reader = Open(CompressFrame(head.SerializeAsString()));
    ASSERT_NE(reader, nullptr);
    EXPECT_THAT(reader->issues(), ElementsAre(Is(Kind::kMalformedChunk)));
    EXPECT_EQ(reader->tables().rotated_out.records, 0u);
    EXPECT_THAT(reader->tables().rotated_out.rollups, IsEmpty());
    EXPECT_THAT(reader->tables().asked.sites, ElementsAre(0, 0));
  }
}

// Two files of a trace one behind the other hold what the second's first head sums up.
TEST_F(DamageTest, SumsInTheMiddleOfAFileAreNotAddedToWhatTheySum) {
  auto reader = Open(whole_ + CompressFrame(ThirdFile(3).SerializeAsString()));
  EXPECT_THAT(reader->issues(), ElementsAre(Is(Kind::kMalformedChunk)));
  EXPECT_EQ(reader->tables().rotated_out.files, 0u);
  EXPECT_EQ(reader->tables().rotated_out.records, 0u);
  WriteWhole(path_, whole_);
  auto whole = TraceReader::Open(path_);
  ASSERT_TRUE(whole.ok());
  EXPECT_EQ(reader->tables().asked.sites, (*whole)->tables().asked.sites);
}

TEST_F(DamageTest, TheHighestSequenceNumberDoesNotBeginAnew) {
  const std::string head = CompressFrame(ThirdFile(~uint64_t{0}).SerializeAsString());
  auto reader = Open(CompressFrame(ThirdFile(7).SerializeAsString()) + head +
                     CompressFrame(ThirdFile(8).SerializeAsString()));
  EXPECT_THAT(reader->issues(), ElementsAre(Is(Kind::kMalformedChunk), Is(Kind::kMalformedChunk)));
  EXPECT_EQ(reader->tables().rotated_out.records, 2u);
  EXPECT_THAT(reader->tables().asked.sites, ElementsAre(0, 2));
}

TEST_F(DamageTest, ColumnsThatContradictEachOtherAreRefused) {
  const auto messages = DecompressFrames(whole_);
  const std::vector<std::pair<const char*, void (*)(Chunk&)>> changes = {
      {"fewer nodes", [](Chunk& c) { c.mutable_records()->add_nodes(1); }},
      {"more durations", [](Chunk& c) { c.mutable_records()->add_durations_ns(5); }},
      {"no such group", [](Chunk& c) { c.mutable_records()->set_groups(0, 1000); }},
      {"not sorted", [](Chunk& c) { c.mutable_records()->set_gaps_ns(1, -1000); }},
      {"no such record", [](Chunk& c) { c.mutable_records()->set_exception_records(0, 100); }},
      {"fewer exceptions",
       [](Chunk& c) { c.mutable_records()->mutable_exception_sites()->RemoveLast(); }},
      {"more targets", [](Chunk& c) { c.mutable_launches()->add_targets(1); }},
      {"no untimed group", [](Chunk& c) { c.mutable_records()->set_untimed_groups(0, -9); }},
      {"no launches", [](Chunk& c) { c.clear_launches(); }},
      {"other sequence", [](Chunk& c) { c.set_sequence(9); }},
      {"predictions whose number wraps",
       [](Chunk& c) {
         Records& records = *c.mutable_records();
         records.clear_template_targets();
         records.clear_template_nodes();
         for (int i = 0; i < 2; ++i) records.add_template_targets(1);
         // 10, then 2^64 - 5: more than the schema's 32 bits, as a file may hold
         records.GetReflection()->MutableUnknownFields(&records)->AddLengthDelimited(
             Records::kTemplateNodesFieldNumber, "\x0A\xFB\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01");
       }},
  };
  for (const auto& [name, change] : changes) {
    SCOPED_TRACE(name);
    Chunk head, columns;
    ASSERT_TRUE(head.ParseFromString(messages[3]) && columns.ParseFromString(messages[4]));
    change(columns);
    const std::string frame = CompressFrame(columns.SerializeAsString());
    head.mutable_columns_frame()->set_size_bytes(frame.size());
    head.mutable_columns_frame()->set_hash(HashFrame(frame));
    auto reader =
        Open(whole_.substr(0, frames_[3]) + CompressFrame(head.SerializeAsString()) + frame);
    ASSERT_NE(reader, nullptr);
    ChunkColumns got;
    EXPECT_TRUE(reader->ReadChunk(1, got).ok());
    const auto status = reader->ReadChunk(2, got);
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(std::string(status.message()), HasSubstr("chunk 2: columns contradict"));
  }
}

}  // namespace
}  // namespace hotproof::trace
