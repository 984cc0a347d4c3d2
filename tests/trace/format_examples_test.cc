// The worked examples of proto/FORMAT.md, byte for byte.
#include <gtest/gtest.h>

#include <map>

#include "proto/trace.pb.h"
#include "tests/trace/trace_files.h"

namespace hotproof::trace {
namespace {

using Bytes = std::map<int, std::string>;

// The length-delimited fields of a message as they are on the wire, through protobuf's own parser
// of messages it does not know.
Bytes FieldBytes(const std::string& message) {
  google::protobuf::UnknownFieldSet fields;
  EXPECT_TRUE(fields.ParseFromString(message));
  Bytes bytes;
  for (int i = 0; i < fields.field_count(); ++i) {
    const google::protobuf::UnknownField& field = fields.field(i);
    if (field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED) {
      bytes[field.number()] = field.length_delimited();
    }
  }
  return bytes;
}

std::string B(std::initializer_list<int> bytes) { return std::string(bytes.begin(), bytes.end()); }

class FormatExamplesTest : public ::testing::Test {
 protected:
  FormatExamplesTest() {
    WriteSmallTrace(folder_.File("a.hpt"));
    messages_ = DecompressFrames(ReadWhole(folder_.File("a.hpt")));
    for (const std::string& message : messages_) {
      EXPECT_TRUE(chunks_.emplace_back().ParseFromString(message));
    }
  }
  ScratchFolder folder_;
  std::vector<std::string> messages_;
  std::vector<Chunk> chunks_;
};

TEST_F(FormatExamplesTest, NodeIds) {
  EXPECT_EQ(
      FieldBytes(FieldBytes(messages_[0])[Chunk::kGraphsFieldNumber])[Graph::kNodeIdsFieldNumber],
      B({0x82, 0x80, 0x80, 0x80, 0x40, 0x06, 0x0A}));
}

TEST_F(FormatExamplesTest, Launches) {
  EXPECT_EQ(FieldBytes(FieldBytes(messages_[2])[Chunk::kLaunchesFieldNumber]),
            (Bytes{{1, B({0x14, 2})},
                   {2, B({4, 2})},
                   {3, B({2, 0})},
                   {6, B({0xD0, 0xF, 0x8C, 1})},
                   {8, B({0x1E, 0x21})}}));
}

TEST_F(FormatExamplesTest, Records) {
  EXPECT_EQ(chunks_[1].statistics().first_start_ns(), 5000u);
  EXPECT_EQ(FieldBytes(FieldBytes(messages_[2])[Chunk::kRecordsFieldNumber]),
            (Bytes{{1, B({0x14, 2})},
                   {2, B({4, 2})},
                   {3, B({2, 0})},
                   {4, B({0, 2, 0, 0})},
                   {6, B({0, 0xC8, 1, 0xC7, 1, 0xC8, 1})},
                   {7, B({0xD0, 0x0F, 0xD8, 4, 0xB0, 9, 0xD8, 4})},
                   {9, B({3})},
                   {11, B({1})}}));
}

TEST_F(FormatExamplesTest, Predictions) {
  const std::string path = folder_.File("b.hpt");
  const std::vector<uint64_t> none = {0};
  {
    Writer writer(CreateFile(path));
    writer.AddHeader({});
    writer.AddSite({.id = 1});
    const uint64_t times[][2] = {{1000, 1300}, {1500, 1810}, {2010, 2315}};
    uint64_t id = 0;
    for (const auto& [start_ns, end_ns] : times) {
      writer.AddRecord({.correlation_id = ++id,
                        .start_ns = start_ns,
                        .end_ns = end_ns,
                        .target = Target::Site(1),
                        .default_site = 1});
    }
    ASSERT_EQ(writer.Flush({none, none}), WriteResult::kOk);
  }
  Bytes fields = FieldBytes(FieldBytes(DecompressFrames(ReadWhole(path))[1])[17]);
  EXPECT_EQ(fields[Records::kGapsNsFieldNumber], B({0, 0x90, 3, 0}));
  EXPECT_EQ(fields[Records::kDurationsNsFieldNumber], B({0xD8, 4, 0x14, 9}));
  EXPECT_EQ(fields[Records::kTemplateTargetsFieldNumber], B({4}));
  EXPECT_EQ(fields[Records::kTemplateNodesFieldNumber], B({1}));
}

TEST_F(FormatExamplesTest, HeadsAndColumnsAreApart) {
  ASSERT_EQ(chunks_.size(), 5u);
  for (const int head : {0, 1, 3}) {
    EXPECT_FALSE(chunks_[head].has_launches() || chunks_[head].has_records());
  }
  EXPECT_FALSE(chunks_[0].has_columns_frame());
  for (const int columns : {2, 4}) {
    EXPECT_TRUE(chunks_[columns - 1].has_columns_frame());
    EXPECT_EQ(chunks_[columns].sequence(), chunks_[columns - 1].sequence());
    EXPECT_EQ(chunks_[columns].statistics().record_count(), 0u);
  }
}

TEST_F(FormatExamplesTest, Operations) {
  EXPECT_EQ(chunks_[3].statistics().operations().first_start_ns(), 9000u);
  EXPECT_EQ(FieldBytes(FieldBytes(messages_[4])[Chunk::kOperationsFieldNumber]),
            (Bytes{{1, B({2, 4, 3, 2})},
                   {2, B({0x1A, 4, 2, 3})},
                   {3, B({0, 0x64, 0xDE, 2})},
                   {4, B({0xA0, 6, 0x64, 0x13})},
                   {5, B({4, 2, 0, 4})},
                   {6, B({0, 0, 0x82, 0x80, 0x80, 0x80, 0x40, 0})},
                   {7, B({0x80, 0x40, 0x0A, 0, 0x0A})},
                   {8, B({2, 0x9A, 1, 0, 0x9A, 1})}}));
}

}  // namespace
}  // namespace hotproof::trace
