#include "cli/read_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace hotproof::cli {

std::string ReadFile(const std::string& path) {
  std::string text;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  char block[4096];
  for (ssize_t n; (n = read(fd, block, sizeof(block))) != 0;) {
    if (n > 0) {
      text.append(block, static_cast<size_t>(n));
    } else if (errno != EINTR) {
      break;
    }
  }
  close(fd);
  return text;
}

}  // namespace hotproof::cli
