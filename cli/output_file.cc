#include "cli/output_file.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "cli/manifest.h"

namespace hotproof::cli {
namespace {

namespace fs = std::filesystem;

bool IsNameOfEvidence(const fs::path& path) {
  return path.extension() == ".hpt" || path.extension() == ".hpc" ||
         path.filename() == kManifestName;
}

bool IsSameFile(const fs::path& one, const fs::path& other) {
  std::error_code error;
  return fs::equivalent(one, other, error) && !error;
}

bool HoldsAsEvidence(const fs::path& folder, const fs::path& output) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (IsNameOfEvidence(it->path()) && IsSameFile(it->path(), output)) return true;
  }
  return false;
}

}  // namespace

absl::Status RefuseInputAsOutput(const std::string& output,
                                 const std::vector<std::string>& inputs) {
  if (output.empty()) return absl::OkStatus();
  std::error_code error;
  const fs::path target = fs::weakly_canonical(output, error);
  const bool is_input = std::any_of(inputs.begin(), inputs.end(), [&](const std::string& input) {
    if (input.empty()) return false;
    if (fs::is_directory(input, error)) return HoldsAsEvidence(input, output);
    if (IsSameFile(input, output)) return true;
    const fs::path folder = fs::path(input).parent_path();
    return HoldsAsEvidence(folder.empty() ? "." : folder, output);
  });
  if (!is_input && !IsNameOfEvidence(output) && !IsNameOfEvidence(target)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("will not write over ", output, ", which ",
                   is_input ? "is read as input" : "has the name of a trace, its counters or a manifest",
                   "; give another file"));
}

}  // namespace hotproof::cli
