#include "cli/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
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

absl::Status CannotWrite(const std::string& path, int error) {
  return absl::UnavailableError(absl::StrCat("cannot write ", path, ": ", std::strerror(error),
                                             "; check its folder and free space"));
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

absl::StatusOr<OutputFile> OutputFile::Open(const std::string& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) return CannotWrite(path, errno);
  return OutputFile(path, fd);
}

OutputFile::~OutputFile() {
  if (fd_ >= 0) close(fd_);
}

absl::Status OutputFile::Write(const std::string& text) {
  const auto write_all = [this](std::string_view rest) {
    struct stat status {};
    if (fstat(fd_, &status) == 0 && S_ISREG(status.st_mode) && ftruncate(fd_, 0) != 0) return false;
    while (!rest.empty()) {
      const ssize_t written = write(fd_, rest.data(), rest.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return false;
      rest.remove_prefix(static_cast<size_t>(written));
    }
    return true;
  };
  int error = write_all(text) ? 0 : errno;
  if (close(std::exchange(fd_, -1)) != 0 && error == 0) error = errno;
  return error == 0 ? absl::OkStatus() : CannotWrite(path_, error);
}

}  // namespace hotproof::cli
