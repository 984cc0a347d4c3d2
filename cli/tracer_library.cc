#include "cli/tracer_library.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace hotproof::cli {
namespace fs = std::filesystem;

absl::StatusOr<std::string> FindTracerLibrary() {
  std::error_code error;
  std::string path;
  if (const char* named = std::getenv("HOTPROOF_LIBRARY"); named != nullptr && *named != '\0') {
    path = fs::absolute(named, error);
    if (!fs::is_regular_file(path, error)) {
      return absl::NotFoundError(
          absl::StrCat("HOTPROOF_LIBRARY is ", named, ": there is no such file"));
    }
  } else {
    const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
    for (const fs::path& folder : {program, program / "../lib"}) {
      const fs::path candidate = folder / kTracerLibraryName;
      if (path.empty() && fs::is_regular_file(candidate, error)) {
        path = fs::canonical(candidate, error);
      }
    }
    if (path.empty()) {
      return absl::NotFoundError(absl::StrCat(kTracerLibraryName, " is neither in ",
                                              program.string(),
                                              " nor in ../lib; set HOTPROOF_LIBRARY to its path"));
    }
  }
  // The dynamic loader takes both characters for the end of a name.
  if (path.find_first_of(": ") != std::string::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", path, "' cannot be preloaded: its path has a space or a colon"));
  }
  return path;
}

}  // namespace hotproof::cli
