// Small text files that may vanish or refuse while they are read, as those of procfs do.
#pragma once

#include <string>

namespace hotproof::cli {

// The file's content, as far as it could be read; empty when it cannot be. Never throws: the
// iterators of a file stream do, when a process ends between open and read.
std::string ReadFile(const std::string& path);

}  // namespace hotproof::cli
