// The truth table of `assert`, every cell.
#include "analyzers/decision.h"

#include <gtest/gtest.h>

#include <vector>

namespace hotproof::analyzers {
namespace {

constexpr Verdict kPass = report::AssertReport::PASS;
constexpr Verdict kFail = report::AssertReport::FAIL;
constexpr Verdict kInconclusive = report::AssertReport::INCONCLUSIVE;

// One row a combination of evidence and observed launches; a column a kind of bound.
struct Row {
  const char* what;
  Evidence evidence;
  uint64_t launches, possible;
  Verdict min, max, exact, never;
};

// Bounds: at least 256, at most 256, exactly 256, never.
const std::vector<Row> kTable = {
    // COMPLETE or COUNTED with full coverage: decided.
    {"exact, none", Evidence::kExact, 0, 0, kFail, kPass, kFail, kPass},
    {"exact, too few", Evidence::kExact, 255, 0, kFail, kPass, kFail, kFail},
    {"exact, as asked", Evidence::kExact, 256, 0, kPass, kPass, kPass, kFail},
    {"exact, too many", Evidence::kExact, 257, 0, kPass, kFail, kFail, kFail},
    // The same with launches of unknown shape that may belong to the selection.
    {"exact, none, some possible", Evidence::kExact, 0, 64, kInconclusive, kPass, kInconclusive,
     kInconclusive},
    {"exact, none, many possible", Evidence::kExact, 0, 512, kInconclusive, kInconclusive,
     kInconclusive, kInconclusive},
    {"exact, too few, one possible", Evidence::kExact, 255, 1, kInconclusive, kPass, kInconclusive,
     kFail},
    {"exact, as asked, one possible", Evidence::kExact, 256, 1, kPass, kInconclusive, kInconclusive,
     kFail},
    {"exact, too many, one possible", Evidence::kExact, 257, 1, kPass, kFail, kFail, kFail},
    // LOWER_BOUND, or a GPU process without a trace: reached or exceeded decides, nothing else.
    {"at least none", Evidence::kLowerBound, 0, 0, kInconclusive, kInconclusive, kInconclusive,
     kInconclusive},
    {"at least too few", Evidence::kLowerBound, 255, 0, kInconclusive, kInconclusive, kInconclusive,
     kFail},
    {"at least as asked", Evidence::kLowerBound, 256, 0, kPass, kInconclusive, kInconclusive,
     kFail},
    {"at least too many", Evidence::kLowerBound, 257, 0, kPass, kFail, kFail, kFail},
    {"at least none, one possible", Evidence::kLowerBound, 0, 1, kInconclusive, kInconclusive,
     kInconclusive, kInconclusive},
    {"at least too many, one possible", Evidence::kLowerBound, 257, 1, kPass, kFail, kFail, kFail},
    // NOT_COLLECTED, or steady asked of an unphased process: nothing is decided.
    {"nothing known", Evidence::kNone, 0, 0, kInconclusive, kInconclusive, kInconclusive,
     kInconclusive},
    {"nothing known, some seen", Evidence::kNone, 257, 0, kInconclusive, kInconclusive,
     kInconclusive, kInconclusive},
};

TEST(TruthTable, LaunchCounts) {
  for (const Row& row : kTable) {
    const Observed observed{row.evidence, row.launches, row.possible};
    EXPECT_EQ(DecideLaunches({.min = 256, .max = {}}, observed), row.min) << row.what << ", min";
    EXPECT_EQ(DecideLaunches({.min = {}, .max = 256}, observed), row.max) << row.what << ", max";
    EXPECT_EQ(DecideLaunches({.min = 256, .max = 256}, observed), row.exact)
        << row.what << ", exact";
    EXPECT_EQ(DecideLaunches({.min = {}, .max = 0}, observed), row.never) << row.what << ", never";
  }
}

TEST(TruthTable, NoBoundIsNeverAPass) {
  EXPECT_EQ(DecideLaunches({}, {Evidence::kExact, 1, 0}), kInconclusive);
}

TEST(TruthTable, ShareOfLaunches) {
  const RatioBound most{RatioBound::Op::kGreaterEqual, 0.99};
  struct ShareRow {
    const char* what;
    Evidence evidence;
    uint64_t selected, possible, others, possible_others;
    Verdict verdict;
  };
  const std::vector<ShareRow> rows = {
      {"all", Evidence::kExact, 100, 0, 0, 0, kPass},
      {"at the limit", Evidence::kExact, 99, 0, 1, 0, kPass},
      {"below", Evidence::kExact, 98, 0, 2, 0, kFail},
      {"none of some", Evidence::kExact, 0, 0, 5, 0, kFail},
      {"no GEMM at all", Evidence::kExact, 0, 0, 0, 0, kInconclusive},
      {"unknown shapes cannot matter", Evidence::kExact, 10000, 0, 1, 5, kPass},
      {"unknown shapes may matter", Evidence::kExact, 99, 0, 1, 5, kInconclusive},
      {"unknown shapes may help", Evidence::kExact, 0, 1000, 5, 0, kInconclusive},
      {"unknown shapes cannot help", Evidence::kExact, 0, 1, 50, 0, kFail},
      {"only unknown shapes", Evidence::kExact, 0, 7, 0, 3, kInconclusive},
      {"lower bound", Evidence::kLowerBound, 100, 0, 0, 0, kInconclusive},
      {"nothing known", Evidence::kNone, 100, 0, 0, 0, kInconclusive},
  };
  for (const ShareRow& row : rows) {
    EXPECT_EQ(DecideShare(most, {row.evidence, row.selected, row.possible},
                          {row.evidence, row.others, row.possible_others}),
              row.verdict)
        << row.what;
  }
}

TEST(TruthTable, Times) {
  const RatioBound half{RatioBound::Op::kGreaterEqual, 0.5};
  EXPECT_EQ(DecideTimeShare(half, Evidence::kExact, 60, 0, 100), kPass);
  EXPECT_EQ(DecideTimeShare(half, Evidence::kExact, 40, 0, 100), kFail);
  EXPECT_EQ(DecideTimeShare(half, Evidence::kExact, 40, 9, 100), kFail);
  EXPECT_EQ(DecideTimeShare(half, Evidence::kExact, 40, 10, 100), kInconclusive);
  EXPECT_EQ(DecideTimeShare(half, Evidence::kExact, 60, 10, 100), kPass);
  EXPECT_EQ(DecideTimeShare(half, Evidence::kExact, 0, 0, 0), kInconclusive);
  EXPECT_EQ(DecideTimeShare(half, Evidence::kLowerBound, 60, 0, 100), kInconclusive);
  EXPECT_EQ(DecideTimeShare(half, Evidence::kNone, 60, 0, 100), kInconclusive);
}

TEST(TruthTable, EveryGraphLaunchesExactlySoMany) {
  const std::vector<PerReplay> same = {{.replays = 40, .selected = 256}, {.replays = 6, .selected = 256}};
  EXPECT_EQ(DecidePerReplay(256, Evidence::kExact, same), kPass);
  EXPECT_EQ(DecidePerReplay(255, Evidence::kExact, same), kFail);
  EXPECT_EQ(DecidePerReplay(256, Evidence::kLowerBound, same), kInconclusive);
  EXPECT_EQ(DecidePerReplay(255, Evidence::kLowerBound, same), kFail) << "more than that are known";
  EXPECT_EQ(DecidePerReplay(256, Evidence::kNone, same), kInconclusive);
  EXPECT_EQ(DecidePerReplay(256, Evidence::kExact, {}), kInconclusive) << "nothing was replayed";
  const std::vector<PerReplay> one_without = {{.replays = 40, .selected = 256}, {.replays = 1}};
  EXPECT_EQ(DecidePerReplay(256, Evidence::kExact, one_without), kFail);
  const std::vector<PerReplay> unknown = {{.replays = 40, .selected = 192, .possible = 64}};
  EXPECT_EQ(DecidePerReplay(256, Evidence::kExact, unknown), kInconclusive);
  EXPECT_EQ(DecidePerReplay(257, Evidence::kExact, unknown), kInconclusive);
  EXPECT_EQ(DecidePerReplay(191, Evidence::kExact, unknown), kFail);
}

TEST(TruthTable, WhatMayBeSelectedIsOfTheWholeAnyway) {
  const RatioBound most{RatioBound::Op::kGreaterEqual, 0.99}, half{RatioBound::Op::kLessEqual, 0.5};
  EXPECT_EQ(DecideShare(most, {Evidence::kExact, 10, 90}, {Evidence::kExact, 0, 0}, 90),
            kInconclusive);
  EXPECT_EQ(DecideShare(half, {Evidence::kExact, 10, 90}, {Evidence::kExact, 0, 0}, 90),
            kInconclusive);
  EXPECT_EQ(DecideShare(most, {Evidence::kExact, 999, 1}, {Evidence::kExact, 0, 0}, 1), kPass);
}

TEST(TruthTable, RatioOperators) {
  using Op = RatioBound::Op;
  struct OpRow {
    Op op;
    bool below, at, above;
  };
  for (const OpRow& row :
       {OpRow{Op::kLess, true, false, false}, OpRow{Op::kLessEqual, true, true, false},
        OpRow{Op::kGreaterEqual, false, true, true},
        OpRow{Op::kGreater, false, false, true}}) {
    const RatioBound bound{row.op, 0.5};
    EXPECT_EQ(bound.Holds(0.4), row.below);
    EXPECT_EQ(bound.Holds(0.5), row.at);
    EXPECT_EQ(bound.Holds(0.6), row.above);
  }
}

TEST(Combining, VerdictsOfSeveral) {
  for (const Verdict other : {kPass, kFail, kInconclusive}) {
    EXPECT_EQ(Both(kFail, other), kFail);
    EXPECT_EQ(Both(other, kFail), kFail);
    EXPECT_EQ(Both(kPass, other), other);
    EXPECT_EQ(Either(kPass, other), kPass);
    EXPECT_EQ(Either(other, kPass), kPass);
    EXPECT_EQ(Either(kFail, other), other);
  }
}

}  // namespace
}  // namespace hotproof::analyzers
