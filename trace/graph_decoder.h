// One Graph message as the plain data that readers have: differences become ids, and what
// contradicts itself is left out. Used by TableBuilder, which knows the other graphs.
#pragma once

#include <functional>

#include "proto/trace.pb.h"
#include "trace/tables.h"

namespace hotproof::trace {

// `complain`: called with what is malformed. What is around the kernel nodes is only taken where it
// is the message's own, not another graph's (surroundings_of).
GraphTable DecodeGraph(const Graph& graph, const std::function<void(const char*)>& complain);

}  // namespace hotproof::trace
