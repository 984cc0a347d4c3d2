// classify's fast way: names on a file descriptor, one a line, to JSON lines on another, on several
// threads. The output is the same for any number of them. Memory is bounded however long the input
// is, and what has arrived is answered before more is waited for, so that somebody who types a name
// into a pipe has the answer at once.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "catalog/classifier.h"

namespace hotproof::cli {

// No name is on the line: it is empty, or white space.
inline bool IsBlank(std::string_view line) {
  return line.find_first_not_of(" \t\v\f\r") == std::string_view::npos;
}

// Reads `in_fd` to its end; blank lines are no names. Runs on the caller's thread and on
// `threads` - 1 others, all ended when it returns. An error says what could not be read or written
// and why; what comes before it has been written.
absl::Status ClassifyLines(const catalog::Classifier& classifier, int in_fd, int out_fd,
                           unsigned threads);

}  // namespace hotproof::cli
