#include "cupti_tracer/core/trace_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/tracer/fake_driver.h"
#include "trace/limits.h"

namespace hotproof::tracer {
namespace {

TEST(TraceFileTest, CountsEachProblemByKindAndDetail) {
  ScratchTrace scratch;
  for (int i = 0; i < 3; ++i) scratch.file().CountProblem(ProblemKind::kCuptiError, "flush: ERROR_BUSY");
  scratch.file().CountProblem(ProblemKind::kCuptiError, "subscribe: ERROR");
  scratch.file().CountProblem(ProblemKind::kSymbolMissing, "flush: ERROR_BUSY");
  std::map<std::pair<int, std::string>, uint64_t> counts;
  const auto reader = scratch.Read();
  for (const trace::Problem& problem : reader->tables().problems) {
    uint64_t& count = counts[{problem.kind(), problem.detail()}];
    EXPECT_GT(problem.count(), count);  // cumulative
    count = problem.count();
  }
  EXPECT_THAT(counts, testing::ElementsAre(
                          testing::Pair(std::pair(int{trace::PROBLEM_SYMBOL_MISSING}, "flush: ERROR_BUSY"), 1),
                          testing::Pair(std::pair(int{trace::PROBLEM_CUPTI_ERROR}, "flush: ERROR_BUSY"), 3),
                          testing::Pair(std::pair(int{trace::PROBLEM_CUPTI_ERROR}, "subscribe: ERROR"), 1)));
}

TEST(TraceFileTest, KeepsABoundedNumberOfDetails) {
  ScratchTrace scratch;
  for (int i = 0; i < 1000; ++i) scratch.file().CountProblem(ProblemKind::kCuptiError, std::to_string(i));
  uint64_t others = 0;
  const auto reader = scratch.Read();
  for (const trace::Problem& problem : reader->tables().problems) {
    if (problem.detail() == "(others)") others = problem.count();
  }
  EXPECT_EQ(others, 1000u - 256u);
}

// More than a chunk holds: that is no disk that takes nothing, and what is in the chunk is listed.
TEST(TraceFileTest, LaunchesBeyondAChunkAloneAreUnlisted) {
  constexpr uint64_t kBeyond = 3;
  ScratchTrace scratch;
  {
    std::lock_guard lock(scratch.file().mutex());
    for (uint64_t i = 0; i < trace::kMaxPendingLaunches + kBeyond; ++i) {
      scratch.file().writer_locked()->AddLaunch({.correlation_id = 1 + i});
    }
  }
  EXPECT_TRUE(scratch.file().Flush());
  EXPECT_FALSE(scratch.file().disk_failed());
  std::map<int, uint64_t> counts;
  const auto reader = scratch.Read();
  for (const trace::Problem& problem : reader->tables().problems) {
    counts[problem.kind()] = problem.count();
    // By these words readers know that counts are exact.
    if (problem.kind() == trace::PROBLEM_INTERNAL) {
      EXPECT_EQ(problem.detail(), "records were lost: no room in a chunk, or no memory");
    }
  }
  EXPECT_THAT(counts, testing::ElementsAre(testing::Pair(int{trace::PROBLEM_LAUNCH_ENTRIES_DROPPED}, kBeyond),
                                           testing::Pair(int{trace::PROBLEM_INTERNAL}, 1)));
  trace::ChunkColumns columns;
  ASSERT_TRUE(reader->ReadChunk(reader->chunk_count() - 2, columns).ok());
  EXPECT_EQ(columns.launch_target.size(), trace::kMaxPendingLaunches);
}

}  // namespace
}  // namespace hotproof::tracer
