#include "analyzers/loss_table.h"

#include <gtest/gtest.h>

namespace hotproof::analyzers {
namespace {

template <typename Enum>
bool IsUnspecified(Enum value) {
  return static_cast<int>(value) == 0;
}

TEST(LossTable, EveryProblemOfTheTracerHasARow) {
  const auto* values = trace::ProblemKind_descriptor();
  for (int i = 0; i < values->value_count(); ++i) {
    const auto kind = static_cast<trace::ProblemKind>(values->value(i)->number());
    if (IsUnspecified(kind)) continue;
    EXPECT_EQ(LossOf(kind, "").problem, kind) << values->value(i)->name();
  }
}

TEST(LossTable, EveryGraphCaveatHasARowAndMakesCountsUncertain) {
  const auto* values = trace::GraphCaveat_descriptor();
  for (int i = 0; i < values->value_count(); ++i) {
    const auto caveat = static_cast<trace::GraphCaveat>(values->value(i)->number());
    if (IsUnspecified(caveat)) continue;
    EXPECT_EQ(LossOf(caveat).caveat, caveat) << values->value(i)->name();
    EXPECT_TRUE(LossOf(caveat).counts) << values->value(i)->name();
  }
}

TEST(LossTable, EveryReadIssueAndFindingHasARow) {
  for (int kind = 0; kind <= static_cast<int>(trace::ReadIssue::Kind::kCounterFile); ++kind) {
    EXPECT_EQ(LossOf(static_cast<trace::ReadIssue::Kind>(kind)).read_issue, kind);
  }
  for (int finding = 1; finding <= static_cast<int>(Finding::kUnphased); ++finding) {
    EXPECT_EQ(LossOf(static_cast<Finding>(finding)).finding, static_cast<Finding>(finding));
  }
}

TEST(LossTable, WhatANewerTracerReportsIsTakenSeriously) {
  const LossKind& unknown = LossOf(static_cast<trace::ProblemKind>(9999), "");
  EXPECT_TRUE(unknown.counts && unknown.times && unknown.blinds);
  EXPECT_EQ(&LossOf(static_cast<trace::ProblemKind>(9999), "records were lost"), &unknown);
}

TEST(LossTable, AFailedActivityCallCostsTimesOnly) {
  EXPECT_FALSE(LossOf(trace::PROBLEM_CUPTI_ERROR, "cuptiActivityFlushAll: 1").counts);
  EXPECT_TRUE(LossOf(trace::PROBLEM_CUPTI_ERROR, "cuptiActivityFlushAll: 1").times);
  EXPECT_TRUE(LossOf(trace::PROBLEM_CUPTI_ERROR, "cuptiEnableCallback: 7").counts);
}

TEST(LossTable, RowsExplainThemselves) {
  for (const LossKind& row : LossTable()) {
    EXPECT_FALSE(std::string(row.name).empty());
    EXPECT_FALSE(std::string(row.meaning).empty()) << row.name;
    EXPECT_TRUE(row.severity != report::Problem::INFO || !(row.counts || row.times)) << row.name;
  }
}

}  // namespace
}  // namespace hotproof::analyzers
