// What classify says of a kernel as one line of JSON. Pure functions, safe on any thread.
#pragma once

#include <string>
#include <string_view>

#include "catalog/kernel_class.h"

namespace hotproof::cli {

// Appends {"name":...,"path":...,...} and a newline. Extents that are not known are left out. JSON
// text is UTF-8 and a name can be any bytes: those that are none become U+FFFD.
void AppendJsonLine(std::string_view name, const catalog::KernelClass& kernel, std::string& out);

}  // namespace hotproof::cli
