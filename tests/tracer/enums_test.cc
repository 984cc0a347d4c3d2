// The tracer links no protobuf, so it repeats the numbers of trace.proto's enums; here they are compared.
#include <gtest/gtest.h>

#include "cupti_tracer/core/trace_file.h"
#include "cupti_tracer/ranges/range_stack.h"
#include "proto/trace.pb.h"

namespace hotproof::tracer {
namespace {

constexpr auto Number(ProblemKind kind) { return static_cast<int>(kind); }
constexpr auto Number(SnapshotReason reason) { return static_cast<int>(reason); }

TEST(EnumsTest, ProblemKindsAreTheSchemas) {
  EXPECT_EQ(Number(ProblemKind::kCuptiDroppedRecords), trace::PROBLEM_CUPTI_DROPPED_RECORDS);
  EXPECT_EQ(Number(ProblemKind::kRecordsDiscarded), trace::PROBLEM_RECORDS_DISCARDED);
  EXPECT_EQ(Number(ProblemKind::kOtherSubscriber), trace::PROBLEM_OTHER_SUBSCRIBER);
  EXPECT_EQ(Number(ProblemKind::kCuptiMissing), trace::PROBLEM_CUPTI_MISSING);
  EXPECT_EQ(Number(ProblemKind::kSymbolMissing), trace::PROBLEM_SYMBOL_MISSING);
  EXPECT_EQ(Number(ProblemKind::kCuptiError), trace::PROBLEM_CUPTI_ERROR);
  EXPECT_EQ(Number(ProblemKind::kCollectionEnded), trace::PROBLEM_COLLECTION_ENDED);
  EXPECT_EQ(Number(ProblemKind::kCountersNotOnDisk), trace::PROBLEM_COUNTERS_NOT_ON_DISK);
  EXPECT_EQ(Number(ProblemKind::kDiskFull), trace::PROBLEM_DISK_FULL);
  EXPECT_EQ(Number(ProblemKind::kSlotsExhausted), trace::PROBLEM_SLOTS_EXHAUSTED);
  EXPECT_EQ(Number(ProblemKind::kUnattributedRecords), trace::PROBLEM_UNATTRIBUTED_RECORDS);
  EXPECT_EQ(Number(ProblemKind::kArgumentSetsOverflowed), trace::PROBLEM_ARGUMENT_SETS_OVERFLOWED);
  EXPECT_EQ(Number(ProblemKind::kDeviceLaunchPossible), trace::PROBLEM_DEVICE_LAUNCH_POSSIBLE);
  EXPECT_EQ(Number(ProblemKind::kLaunchEntriesDropped), trace::PROBLEM_LAUNCH_ENTRIES_DROPPED);
  EXPECT_EQ(Number(ProblemKind::kInternal), trace::PROBLEM_INTERNAL);
  EXPECT_EQ(Number(ProblemKind::kNewerCupti), trace::PROBLEM_NEWER_CUPTI);
  EXPECT_EQ(Number(ProblemKind::kOperationsDiscarded), trace::PROBLEM_OPERATIONS_DISCARDED);
  EXPECT_EQ(Number(ProblemKind::kRangesNotKept), trace::PROBLEM_RANGES_NOT_KEPT);
}

TEST(EnumsTest, RangesAreTheSchemas) {
  EXPECT_EQ(static_cast<int>(RangeSource::kPushPop), trace::RANGE_PUSH_POP);
  EXPECT_EQ(static_cast<int>(RangeSource::kStartEnd), trace::RANGE_START_END);
  EXPECT_EQ(static_cast<int>(RangeSource::kHotproof), trace::RANGE_HOTPROOF);
  EXPECT_EQ(static_cast<int>(PayloadKind::kUnsigned), trace::PAYLOAD_UNSIGNED);
  EXPECT_EQ(static_cast<int>(PayloadKind::kSigned), trace::PAYLOAD_SIGNED);
  EXPECT_EQ(static_cast<int>(PayloadKind::kDouble), trace::PAYLOAD_DOUBLE);
  EXPECT_EQ(static_cast<int>(PayloadKind::kVaries), trace::PAYLOAD_VARIES);
}

TEST(EnumsTest, SnapshotReasonsAreTheSchemas) {
  EXPECT_EQ(Number(SnapshotReason::kMark), trace::SNAPSHOT_REASON_MARK);
  EXPECT_EQ(Number(SnapshotReason::kEndCapture), trace::SNAPSHOT_REASON_END_CAPTURE);
  EXPECT_EQ(Number(SnapshotReason::kFirstReplay), trace::SNAPSHOT_REASON_FIRST_REPLAY);
  EXPECT_EQ(Number(SnapshotReason::kReplayAfterCapture), trace::SNAPSHOT_REASON_REPLAY_AFTER_CAPTURE);
}

}  // namespace
}  // namespace hotproof::tracer
