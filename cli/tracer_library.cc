#include "cli/tracer_library.h"

#include <link.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace hotproof::cli {
namespace fs = std::filesystem;
namespace {

#if defined(__x86_64__)
constexpr ElfW(Half) kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr ElfW(Half) kMachine = EM_AARCH64;
#endif

bool IsSharedObject(const std::string& path) {
  ElfW(Ehdr) head = {};
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(&head), sizeof(head));
  return file && std::memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_type == ET_DYN &&
         head.e_machine == kMachine;
}

}  // namespace

absl::StatusOr<std::string> FindTracerLibrary() {
  std::error_code error;
  std::string path;
  if (const char* named = std::getenv("HOTPROOF_LIBRARY"); named != nullptr && *named != '\0') {
    path = fs::absolute(named, error);
    if (!fs::is_regular_file(path, error)) {
      return absl::NotFoundError(
          absl::StrCat("HOTPROOF_LIBRARY is ", named,
                       ": there is no such file; set it to that of libhotproof.so, or unset it"));
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
  if (!IsSharedObject(path)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path,
                     " is no shared library of this machine: the loader would ignore it; build "
                     "hotproof here, or set HOTPROOF_LIBRARY to one that was"));
  }
  // The dynamic loader takes both characters for the end of a name.
  if (path.find_first_of(": ") != std::string::npos) {
    return absl::FailedPreconditionError(
        absl::StrCat("'", path,
                     "' cannot be preloaded: its path has a space or a colon; install hotproof "
                     "elsewhere, or set HOTPROOF_LIBRARY to a link to it"));
  }
  return path;
}

}  // namespace hotproof::cli
