// Holds a trace's counter file against what its chunks say. Used by the reader alone, when a trace
// is opened.
#pragma once

#include <string>
#include <vector>

#include "trace/reader.h"
#include "trace/tables.h"

namespace hotproof::trace {

// Of the trace that `header` is of; empty: it has none, or names one elsewhere, which is not to be
// followed.
std::string CounterFileBeside(const std::string& trace_path, const Header& header);

// Takes the counts from the counter file beside `trace_path` that tables.header names, if it is
// this process's and knows at least what the chunks know; else adds an issue and leaves
// tables.asked as it is, the chunks' sums.
void TakeCounterFile(const std::string& trace_path, Tables& tables, std::vector<ReadIssue>& issues);

}  // namespace hotproof::trace
