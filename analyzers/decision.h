// The truth table of `assert`: what a bound on launch counts or times is worth, given how complete
// the evidence is. Nothing else decides a verdict.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "proto/report.pb.h"

namespace hotproof::analyzers {

using Verdict = report::AssertReport::Verdict;

// What is known of a quantity.
enum class Evidence {
  kNone,        // nothing: NOT_COLLECTED, or a phase that the trace does not tell
  kLowerBound,  // at least so much
  kExact,
};
inline Evidence Weaker(Evidence a, Evidence b) { return a < b ? a : b; }

// A launch count as the evidence gives it. `possible`: further launches whose shape is unknown and
// that may belong to the selection.
struct Observed {
  Evidence evidence = Evidence::kNone;
  uint64_t launches = 0;
  uint64_t possible = 0;
};

// Bounds, inclusive. exact(n) is min = max = n, 'never' is max = 0.
struct Bounds {
  std::optional<uint64_t> min, max;
};

// PASS or FAIL only where no completion of the evidence could say otherwise:
//               kExact               kLowerBound                           kNone
//   min         decided              reached: PASS, else INCONCLUSIVE      INCONCLUSIVE
//   max         decided              exceeded: FAIL, else INCONCLUSIVE     INCONCLUSIVE
// and with launches that may belong to the selection, 'too few' and 'not exceeded' are
// INCONCLUSIVE.
Verdict DecideLaunches(const Bounds& bounds, const Observed& observed);

// What one graph launches in each replay.
struct PerReplay {
  uint64_t replays = 0;
  uint64_t selected = 0;
  uint64_t possible = 0;  // as Observed's
};

// Exactly `expected` in each of the graphs; undecided if there is none.
Verdict DecidePerReplay(uint64_t expected, Evidence evidence, std::span<const PerReplay> graphs);

// A comparison of a ratio with a limit, e.g. ">= 0.99".
struct RatioBound {
  enum class Op { kLess, kLessEqual, kGreaterEqual, kGreater };
  Op op = Op::kGreaterEqual;
  double limit = 0;
  bool Holds(double ratio) const;
};

// A share of launches: `selected` of all that `selected` and `others` count. Undecided unless both
// are exact and no placement of the possible launches changes the answer; undecided if there are
// none. `possible_in_whole`: so many of selected.possible count in the whole if they are not
// selected, too.
Verdict DecideShare(const RatioBound& bound, const Observed& selected, const Observed& others,
                    uint64_t possible_in_whole = 0);

// A share of GPU time; `possible_ns` may belong to the selection. Times are decided only where
// every execution was observed.
Verdict DecideTimeShare(const RatioBound& bound, Evidence times, double selected_ns,
                        double possible_ns, double all_ns);

// Every expectation must hold: FAIL beats INCONCLUSIVE beats PASS.
Verdict Both(Verdict a, Verdict b);
// One is enough: PASS beats INCONCLUSIVE beats FAIL.
Verdict Either(Verdict a, Verdict b);

}  // namespace hotproof::analyzers
