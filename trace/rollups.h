// The sums of files that rotation took away, in the first chunk of the oldest that is left. Used by
// TableBuilder.
#pragma once

#include "proto/trace.pb.h"

namespace hotproof::trace {

// Why the rollups cannot be the sums over the files before; null where they can be.
const char* WrongWithRollups(const Continuation& continuation);

}  // namespace hotproof::trace
