// How the program takes memory. It starts, reads a trace, prints and ends within milliseconds, of
// which first touches of pages would be a third.
#pragma once

namespace hotproof::cli {

// Called first in main, while there is one thread.
void TakeMemoryFast();

}  // namespace hotproof::cli
