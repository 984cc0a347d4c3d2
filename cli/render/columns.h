// Fits columns of text into a line's width. Knows nothing of messages.
#pragma once

#include <string>
#include <vector>

namespace hotproof::cli::render {

struct Column {
  std::string title;
  std::vector<std::string> cells;
  bool right_aligned = false;
  bool shrinks = false;
  unsigned drop_order = 0;  // left out when too wide, the lowest first; 0: never
};

// The number of characters (not bytes) of UTF-8 text.
int DisplayWidth(const std::string& text);
// At most `width` characters, the last three "..." if any were cut.
std::string Shorten(const std::string& text, int width);
// Lines of at most `width` characters, broken at spaces.
std::vector<std::string> Wrap(const std::string& text, int width);

// Leaves out and shortens until all columns, two spaces apart, fit into `width`.
void Fit(std::vector<Column>& columns, int width);

// Titles (`columns[i].title`) and rows as lines, without trailing spaces.
std::vector<std::string> Lines(const std::vector<Column>& columns);

}  // namespace hotproof::cli::render
