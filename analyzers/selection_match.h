// Whether launches are in a selection, as far as a trace tells. Used by tally.cc and what_ran.cc. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "analyzers/range_index.h"
#include "analyzers/selection.h"
#include "analyzers/trace_index.h"

namespace hotproof::analyzers {

// Whether the launches of one site are in a selection, or may be; the least of several conditions
// holds.
enum class Membership { kOut, kPossible, kIn };

class SiteMatcher {
 public:
  // Both outlive it.
  SiteMatcher(const Selection& selection, const TraceIndex& index);

  Membership Of(uint32_t site) const;
  // Of what a share is taken: the launches of its kind and shape.
  Membership OfWhole(uint32_t site) const;

 private:
  Membership OfName(uint32_t kernel_id) const;
  Membership OfCode(uint32_t kernel_id) const;
  bool MayBeLaunchedByFile(uint32_t site) const;
  Membership OfShape(uint32_t site) const;

  const Selection& selection_;
  const TraceIndex& index_;
  std::vector<Membership> names_, codes_;  // by kernel id
};

// Whether the launches of each slot are in the ranges asked for. A range that stands for many may
// be one of them, and so may any where none of the program's reached the tracer: that it has no
// ranges, or lost its NVTX injection, looks the same, whatever ranges a library opened for itself.
class RangeMatcher {
 public:
  RangeMatcher(const Selection& selection, const TraceIndex& index);

  Membership Of(uint32_t slot) const {
    return ranges_ ? in_[ranges_->range_of_slot(slot)] : Membership::kIn;
  }

 private:
  bool Matches(uint32_t range, const re2::RE2& pattern) const;

  std::optional<RangeIndex> ranges_;
  std::vector<Membership> in_;
};

// By slot.
std::vector<Membership> MembershipOfSlots(const Selection& selection, const TraceIndex& index);

}  // namespace hotproof::analyzers
