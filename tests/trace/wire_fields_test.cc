// The hand-written field numbers against proto/trace.proto.
#include "trace/wire_fields.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "proto/trace.pb.h"
#include "trace/format.h"

namespace hotproof::trace {
namespace {

using Fields = std::map<std::string, uint32_t>;

Fields FieldsOf(const google::protobuf::Descriptor& descriptor) {
  Fields fields;
  for (int i = 0; i < descriptor.field_count(); ++i) {
    fields[descriptor.field(i)->name()] = static_cast<uint32_t>(descriptor.field(i)->number());
  }
  return fields;
}

TEST(WireFieldsTest, Chunk) {
  EXPECT_EQ(FieldsOf(*Chunk::descriptor()), (Fields{{"sequence", wire::kSequence},
                                                    {"statistics", wire::kStatistics},
                                                    {"header", wire::kHeader},
                                                    {"kernels", wire::kKernels},
                                                    {"attributes", wire::kAttributes},
                                                    {"tensor_maps", wire::kTensorMaps},
                                                    {"sites", wire::kSites},
                                                    {"graphs", wire::kGraphs},
                                                    {"streams", wire::kStreams},
                                                    {"snapshots", wire::kSnapshots},
                                                    {"problems", wire::kProblems},
                                                    {"clocks", wire::kClocks},
                                                    {"footer", wire::kFooter},
                                                    {"site_attributes", wire::kSiteAttributes},
                                                    {"columns_frame", wire::kColumnsFrame},
                                                    {"launches", wire::kLaunches},
                                                    {"records", wire::kRecords},
                                                    {"operations", wire::kOperations},
                                                    {"operation_classes",
                                                     wire::kOperationClasses},
                                                    {"range_paths", wire::kRangePaths},
                                                    {"continuation", wire::kContinuation}}));
}

TEST(WireFieldsTest, Columns) {
  EXPECT_EQ(FieldsOf(*Launches::descriptor()),
            (Fields{{"correlation_ids", wire::kLaunchCorrelationIds},
                    {"targets", wire::kLaunchTargets},
                    {"streams", wire::kLaunchStreams},
                    {"enter_ns", wire::kLaunchEnterNs},
                    {"call_ns", wire::kLaunchCallNs},
                    {"enter_gaps_ns", wire::kLaunchEnterGapsNs},
                    {"call_high", wire::kLaunchCallHigh},
                    {"call_low", wire::kLaunchCallLow}}));
  EXPECT_EQ(FieldsOf(*Records::descriptor()),
            (Fields{{"group_correlation_ids", wire::kGroupCorrelationIds},
                    {"group_targets", wire::kGroupTargets},
                    {"group_streams", wire::kGroupStreams},
                    {"groups", wire::kGroups},
                    {"nodes", wire::kNodes},
                    {"gaps_ns", wire::kGapsNs},
                    {"durations_ns", wire::kDurationsNs},
                    {"streams", wire::kStreamDeltas},
                    {"exception_records", wire::kExceptionRecords},
                    {"exception_sites", wire::kExceptionSites},
                    {"exception_attributes", wire::kExceptionAttributes},
                    {"untimed_groups", wire::kUntimedGroups},
                    {"untimed_nodes", wire::kUntimedNodes},
                    {"template_targets", wire::kTemplateTargets},
                    {"template_nodes", wire::kTemplateNodes}}));
  EXPECT_EQ(FieldsOf(*Operations::descriptor()),
            (Fields{{"classes", wire::kOperationClassIds},
                    {"correlation_ids", wire::kOperationCorrelationIds},
                    {"start_gaps_ns", wire::kOperationStartGapsNs},
                    {"durations_ns", wire::kOperationDurationsNs},
                    {"streams", wire::kOperationStreams},
                    {"node_ids", wire::kOperationNodeIds},
                    {"amounts", wire::kOperationAmounts},
                    {"details", wire::kOperationDetails}}));
}

TEST(WireFieldsTest, OperationKinds) {
  EXPECT_EQ(kMemcpyOperation, static_cast<uint32_t>(OPERATION_MEMCPY));
  EXPECT_EQ(kMemsetOperation, static_cast<uint32_t>(OPERATION_MEMSET));
  EXPECT_EQ(kSynchronizationOperation, static_cast<uint32_t>(OPERATION_SYNCHRONIZATION));
  EXPECT_EQ(kEventRecordOperation, static_cast<uint32_t>(OPERATION_EVENT_RECORD));
}

}  // namespace
}  // namespace hotproof::trace
