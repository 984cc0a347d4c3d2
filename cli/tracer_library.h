// Where libhotproof.so is. Any thread.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace hotproof::cli {

inline constexpr char kTracerLibraryName[] = "libhotproof.so";

// HOTPROOF_LIBRARY, else the file beside this program, else in ../lib. The path is absolute. The
// error is one line that says where it was looked for.
absl::StatusOr<std::string> FindTracerLibrary();

}  // namespace hotproof::cli
