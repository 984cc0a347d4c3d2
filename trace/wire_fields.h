// Field numbers of proto/trace.proto for the code that reads and writes without libprotobuf.
// tests/trace/wire_fields_test.cc compares them with the generated descriptors.
#pragma once

#include <cstdint>

namespace hotproof::trace::wire {

enum Chunk : uint32_t {
  kSequence = 1,
  kStatistics = 2,
  kHeader = 3,
  kKernels = 4,
  kAttributes = 5,
  kTensorMaps = 6,
  kSites = 7,
  kGraphs = 8,
  kStreams = 9,
  kSnapshots = 10,
  kProblems = 11,
  kClocks = 12,
  kFooter = 13,
  kSiteAttributes = 14,
  kColumnsFrame = 15,
  kLaunches = 16,
  kRecords = 17,
  kOperations = 18,
  kOperationClasses = 19,
  kRangePaths = 20,
  kContinuation = 21
};
enum Launches : uint32_t {
  kLaunchCorrelationIds = 1,
  kLaunchTargets = 2,
  kLaunchStreams = 3,
  kLaunchEnterNs = 4,
  kLaunchCallNs = 5,
  kLaunchEnterGapsNs = 6,
  kLaunchCallHigh = 7,
  kLaunchCallLow = 8
};
enum Records : uint32_t {
  kGroupCorrelationIds = 1,
  kGroupTargets = 2,
  kGroupStreams = 3,
  kGroups = 4,
  kNodes = 5,
  kGapsNs = 6,
  kDurationsNs = 7,
  kStreamDeltas = 8,
  kExceptionRecords = 9,
  kExceptionSites = 10,
  kExceptionAttributes = 11,
  kUntimedGroups = 12,
  kUntimedNodes = 13,
  kTemplateTargets = 14,
  kTemplateNodes = 15
};
enum Operations : uint32_t {
  kOperationClassIds = 1,
  kOperationCorrelationIds = 2,
  kOperationStartGapsNs = 3,
  kOperationDurationsNs = 4,
  kOperationStreams = 5,
  kOperationNodeIds = 6,
  kOperationAmounts = 7,
  kOperationDetails = 8
};

}  // namespace hotproof::trace::wire
