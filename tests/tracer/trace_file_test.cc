#include "cupti_tracer/core/trace_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/tracer/fake_driver.h"

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

}  // namespace
}  // namespace hotproof::tracer
