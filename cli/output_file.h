// The files that a command writes beside its output. One must not take the place of what is read:
// evidence is made once. And one that cannot be written is said before a verdict is, not after.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hotproof::cli {

// An error (one line) where writing to `output` would write to one of `inputs`, under whatever name
// (symbolic and hard links), to the traces, counters or manifest of one that is a folder or of the
// folder that it is in, or to a name that those have. Empty names are none.
absl::Status RefuseInputAsOutput(const std::string& output, const std::vector<std::string>& inputs);

// A file that is opened before the work begins and written when it is done. What it held stays
// until then.
class OutputFile {
 public:
  // Errors (one line): it cannot be made or opened to write.
  static absl::StatusOr<OutputFile> Open(const std::string& path);
  OutputFile(OutputFile&& other) noexcept
      : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  // In place of what it held, and closes it. Errors: no space, ...
  absl::Status Write(const std::string& text);

 private:
  OutputFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  std::string path_;
  int fd_;
};

}  // namespace hotproof::cli
