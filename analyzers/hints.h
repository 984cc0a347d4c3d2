// What may have been meant where an expectation names what ran nowhere. Used by expectations.cc. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analyzers/process_analysis.h"
#include "analyzers/selection.h"

namespace hotproof::analyzers {

struct Hint {
  std::string text;
  bool warns = false;  // it is most likely a slip
};

// Of the shape, the kernel's pattern, the file with device code, the range: of each that is named.
// Over the whole run, warm-up included; none of what ran, or may have.
std::vector<Hint> HintsFor(const Selection& selection,
                           std::span<const ProcessAnalysis* const> processes);

}  // namespace hotproof::analyzers
