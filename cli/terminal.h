// What stdout and stderr are connected to.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace hotproof::cli {

struct TerminalStyle {
  int width = 0;  // characters a line; 0: no limit
  bool colours = false;
};

// Of stdout: its width if it is a terminal (120 if that does not say), else $COLUMNS, else no limit:
// what is read by grep or kept in a log is not cut. Colours only on a terminal, and not if $NO_COLOR
// is set or $TERM is "dumb".
TerminalStyle StdoutStyle();

// One line on stderr that is rewritten as work goes on; silent for the first second and where
// stderr is no terminal.
class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();  // clears the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void Update(size_t done, size_t all);

 private:
  std::string what_;
  bool enabled_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point start_, last_;
};

// "hotproof: MESSAGE" on stderr, as one line.
void PrintError(const std::string& message);

}  // namespace hotproof::cli
