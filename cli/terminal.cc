#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cli/render/printable.h"

namespace hotproof::cli {
namespace {

constexpr int kDefaultWidth = 120;
constexpr int kLeastWidth = 40;

bool IsSet(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

}  // namespace

TerminalStyle StdoutStyle() {
  TerminalStyle style;
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  winsize size{};
  if (terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    style.width = size.ws_col;
  } else if (IsSet("COLUMNS") && std::atoi(std::getenv("COLUMNS")) > 0) {
    style.width = std::atoi(std::getenv("COLUMNS"));
  } else if (terminal) {
    style.width = kDefaultWidth;
  }
  if (style.width != 0) style.width = std::max(style.width, kLeastWidth);
  const char* term = std::getenv("TERM");
  style.colours =
      terminal && !IsSet("NO_COLOR") && (term == nullptr || std::strcmp(term, "dumb") != 0);
  return style;
}

Progress::Progress(std::string what)
    : what_(std::move(what)),
      enabled_(isatty(STDERR_FILENO) != 0),
      start_(std::chrono::steady_clock::now()),
      last_(start_) {}

Progress::~Progress() {
  if (shown_) std::fputs("\r\033[K", stderr);
}

void Progress::Update(size_t done, size_t all) {
  if (!enabled_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - start_ < std::chrono::seconds(1) || now - last_ < std::chrono::milliseconds(100))
    return;
  last_ = now;
  shown_ = true;
  std::fprintf(stderr, "\rhotproof: %s %zu%%\033[K", what_.c_str(),
               all == 0 ? 100 : done * 100 / all);
  std::fflush(stderr);
}

void PrintError(const std::string& message) {
  std::fprintf(stderr, "hotproof: %s\n", render::Printable(message).c_str());
}

}  // namespace hotproof::cli
