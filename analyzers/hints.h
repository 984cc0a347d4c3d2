// What may have been meant where an expectation names what ran nowhere. Used by expectations.cc. Pure.
#pragma once

#include <span>
#include <string>

#include "analyzers/process_analysis.h"
#include "analyzers/selection.h"

namespace hotproof::analyzers {

struct Hint {
  std::string text;    // "": nothing is known that is like it, or it ran
  bool warns = false;  // it is most likely a slip
};

// Of the shape, where one is named, else of the kernel's pattern; over the whole run, warm-up included.
Hint HintFor(const Selection& selection, std::span<const ProcessAnalysis* const> processes);

}  // namespace hotproof::analyzers
