// How much work this thread has done, the same on every machine and run: blocks of code entered in
// what is compiled with -fsanitize-coverage=trace-pc (tests/catalog/CMakeLists.txt), plus bytes
// that such code copied, compared or searched through the C library, plus bytes allocated.
#pragma once

#include <cstdint>

namespace hotproof::catalog {

uint64_t WorkDone();

}  // namespace hotproof::catalog
