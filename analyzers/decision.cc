#include "analyzers/decision.h"

#include <algorithm>

namespace hotproof::analyzers {
namespace {

constexpr Verdict kPass = report::AssertReport::PASS;
constexpr Verdict kFail = report::AssertReport::FAIL;
constexpr Verdict kInconclusive = report::AssertReport::INCONCLUSIVE;

Verdict DecideMin(uint64_t min, const Observed& observed) {
  if (observed.evidence == Evidence::kNone) return kInconclusive;
  if (observed.launches >= min) return kPass;
  const bool decided = observed.evidence == Evidence::kExact && observed.possible == 0;
  return decided ? kFail : kInconclusive;
}

Verdict DecideMax(uint64_t max, const Observed& observed) {
  if (observed.evidence == Evidence::kNone) return kInconclusive;
  if (observed.launches > max) return kFail;
  const bool decided =
      observed.evidence == Evidence::kExact && observed.possible <= max - observed.launches;
  return decided ? kPass : kInconclusive;
}

}  // namespace

Verdict DecideLaunches(const Bounds& bounds, const Observed& observed) {
  Verdict verdict = kPass;
  if (!bounds.min && !bounds.max) return kInconclusive;
  if (bounds.min) verdict = Both(verdict, DecideMin(*bounds.min, observed));
  if (bounds.max) verdict = Both(verdict, DecideMax(*bounds.max, observed));
  return verdict;
}

Verdict DecidePerReplay(uint64_t expected, Evidence evidence, std::span<const PerReplay> graphs) {
  Verdict verdict = graphs.empty() ? kInconclusive : kPass;
  for (const PerReplay& graph : graphs) {
    verdict = Both(verdict, DecideLaunches({expected, expected},
                                           {evidence, graph.selected, graph.possible}));
  }
  return verdict;
}

bool RatioBound::Holds(double ratio) const {
  switch (op) {
    case Op::kLess:
      return ratio < limit;
    case Op::kLessEqual:
      return ratio <= limit;
    case Op::kGreaterEqual:
      return ratio >= limit;
    case Op::kGreater:
      return ratio > limit;
  }
  return false;
}

Verdict DecideShare(const RatioBound& bound, const Observed& selected, const Observed& others,
                    uint64_t possible_in_whole) {
  if (selected.evidence != Evidence::kExact || others.evidence != Evidence::kExact) {
    return kInconclusive;
  }
  const auto all = static_cast<double>(selected.launches + others.launches);
  if (all + static_cast<double>(selected.possible + others.possible) == 0) return kInconclusive;
  if (selected.possible + others.possible == 0) {
    return bound.Holds(static_cast<double>(selected.launches) / all) ? kPass : kFail;
  }
  if (all == 0) return kInconclusive;
  const double least = static_cast<double>(selected.launches) /
                       (all + static_cast<double>(others.possible + possible_in_whole));
  const double most = static_cast<double>(selected.launches + selected.possible) /
                      (all + static_cast<double>(selected.possible));
  if (bound.Holds(least) != bound.Holds(most)) return kInconclusive;
  return bound.Holds(least) ? kPass : kFail;
}

Verdict DecideTimeShare(const RatioBound& bound, Evidence times, double selected_ns,
                        double possible_ns, double all_ns) {
  if (times != Evidence::kExact || all_ns <= 0) return kInconclusive;
  const bool least = bound.Holds(selected_ns / all_ns);
  const bool most = bound.Holds((selected_ns + possible_ns) / all_ns);
  if (least != most) return kInconclusive;
  return least ? kPass : kFail;
}

Verdict Both(Verdict a, Verdict b) {
  if (a == kFail || b == kFail) return kFail;
  return a == kInconclusive || b == kInconclusive ? kInconclusive : kPass;
}

Verdict Either(Verdict a, Verdict b) {
  if (a == kPass || b == kPass) return kPass;
  return a == kInconclusive || b == kInconclusive ? kInconclusive : kFail;
}

}  // namespace hotproof::analyzers
