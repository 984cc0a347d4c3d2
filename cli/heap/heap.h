// How the program takes memory. It starts, reads a trace, prints and ends within milliseconds, of
// which first touches of pages, and malloc with its locks, would be a third. Part of the program
// alone: what links hotproof_cli keeps its allocator, and so does a build with a sanitizer.
#pragma once

#include <cstddef>

namespace hotproof::cli {

// Called first in main, while there is one thread.
void TakeMemoryFast();

// What small_objects.cc has taken from the system for small objects, used or free. Any thread.
size_t SmallObjectBytes();

}  // namespace hotproof::cli
