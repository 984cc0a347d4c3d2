// Turns the paths a user names into traces.
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "trace/reader.h"
#include "trace/segments.h"

namespace hotproof::trace {
namespace {

namespace fs = std::filesystem;

constexpr char kManifestName[] = "hotproof-manifest.json";

absl::Status AddFolder(const std::string& folder, TraceSet& set) {
  std::error_code error;
  std::vector<std::string> found;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const fs::path extension = it->path().extension();
    if (extension == ".hpt" || extension == ".hps") found.push_back(it->path().string());
  }
  if (error) {
    return absl::UnavailableError(
        absl::StrCat(folder, ": cannot be listed: ", error.message(), "; check its permissions"));
  }
  KeepNewestFiles(found);
  set.trace_paths.insert(set.trace_paths.end(), found.begin(), found.end());
  const std::string manifest = (fs::path(folder) / kManifestName).string();
  if (!fs::exists(manifest, error)) return absl::OkStatus();
  if (set.manifest_path.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        folder, ": a second folder with a manifest; judge one run at a time, or name its files"));
  }
  set.manifest_path = manifest;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TraceSet> FindTraces(const std::vector<std::string>& paths) {
  TraceSet set;
  for (const std::string& path : paths) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (!fs::exists(status)) {
      return absl::NotFoundError(
          absl::StrCat(path, ": no such file or folder; name a .hpt file or the folder of a run"));
    }
    if (!fs::is_directory(status)) {
      set.trace_paths.push_back(path);
    } else if (absl::Status added = AddFolder(path, set); !added.ok()) {
      return added;
    }
  }
  return set;
}

}  // namespace hotproof::trace
