// Which shared object asked for a launch. Walks the calling thread's stack: for new sites only,
// never under a lock (the dynamic linker's own lock is taken).
#pragma once

#include <string>

namespace hotproof::tracer {

// Path of the first object on the stack that is neither CUDA's (driver, runtime, CUPTI) nor this
// library; the program itself for a launch of its own. Empty: nothing but code that belongs to no
// object. A runtime that is linked statically counts to its object.
std::string LaunchingLibrary();

}  // namespace hotproof::tracer
