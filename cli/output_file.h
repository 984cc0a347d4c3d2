// What a command writes must not take the place of what it reads: evidence is made once. Called before
// anything is written.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace hotproof::cli {

// An error (one line) where writing to `output` would write to one of `inputs`, under whatever name
// (symbolic and hard links), to the traces, counters or manifest of one that is a folder or of the
// folder that it is in, or to a name that those have. Empty names are none.
absl::Status RefuseInputAsOutput(const std::string& output, const std::vector<std::string>& inputs);

}  // namespace hotproof::cli
