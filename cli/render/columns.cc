#include "cli/render/columns.h"

#include <algorithm>

namespace hotproof::cli::render {
namespace {

constexpr int kGap = 2;
constexpr int kLeastShrunk = 16;   // before other columns are dropped
constexpr int kLeastReadable = 8;  // when there is nothing left to drop

int WidthOf(const Column& column) {
  int width = DisplayWidth(column.title);
  for (const std::string& cell : column.cells) width = std::max(width, DisplayWidth(cell));
  return width;
}

std::vector<int> WidthsOf(const std::vector<Column>& columns) {
  std::vector<int> widths;
  for (const Column& column : columns) widths.push_back(WidthOf(column));
  return widths;
}

int TotalWidth(const std::vector<int>& widths) {
  int total = widths.empty() ? 0 : -kGap;
  for (const int width : widths) total += width + kGap;
  return total;
}

// Takes `excess` characters from the shrinking columns, if that leaves each at least `least`.
bool Shrink(std::vector<Column>& columns, const std::vector<int>& widths, int excess, int least) {
  int spare = 0;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].shrinks) spare += std::max(0, widths[i] - least);
  }
  if (spare < excess) return false;
  for (size_t i = 0; i < columns.size() && excess > 0; ++i) {
    Column& column = columns[i];
    if (!column.shrinks) continue;
    const int give = std::min(excess, std::max(0, widths[i] - least));
    for (std::string& cell : column.cells) cell = Shorten(cell, widths[i] - give);
    column.title = Shorten(column.title, widths[i] - give);
    excess -= give;
  }
  return true;
}

void AppendPadded(const std::string& text, int width, bool right, std::string& line) {
  const int space = std::max(0, width - DisplayWidth(text));
  if (right) line.append(space, ' ');
  line += text;
  if (!right) line.append(space, ' ');
}

}  // namespace

int DisplayWidth(const std::string& text) {
  return static_cast<int>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string Shorten(const std::string& text, int width) {
  if (DisplayWidth(text) <= width) return text;
  size_t bytes = 0;
  for (int left = std::max(0, width - 3); bytes < text.size(); ++bytes) {
    if ((text[bytes] & 0xc0) != 0x80 && left-- == 0) break;
  }
  return text.substr(0, bytes) + "...";
}

std::vector<std::string> Wrap(const std::string& text, int width) {
  std::vector<std::string> lines(1);
  int used = 0;  // of the last line; on a terminal as wide as can be it is the whole text
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find(' ', at);
    if (end == std::string::npos) end = text.size();
    const std::string word = text.substr(at, end - at);
    const int word_width = DisplayWidth(word);
    if (!lines.back().empty() && used + 1 + word_width > width) {
      lines.emplace_back();
      used = 0;
    }
    if (!lines.back().empty()) {
      lines.back() += ' ';
      ++used;
    }
    lines.back() += word;
    used += word_width;
    at = end + 1;
  }
  return lines;
}

void Fit(std::vector<Column>& columns, int width) {
  std::vector<int> widths = WidthsOf(columns);
  while (true) {
    const int excess = TotalWidth(widths) - width;
    if (excess <= 0 || Shrink(columns, widths, excess, kLeastShrunk)) return;
    auto victim = columns.end();
    for (auto column = columns.begin(); column != columns.end(); ++column) {
      if (column->drop_order == 0) continue;
      if (victim == columns.end() || column->drop_order < victim->drop_order) victim = column;
    }
    if (victim == columns.end()) {
      // If even that is not enough, the lines are long.
      Shrink(columns, widths, excess, kLeastReadable);
      return;
    }
    widths.erase(widths.begin() + (victim - columns.begin()));
    columns.erase(victim);
  }
}

std::vector<std::string> Lines(const std::vector<Column>& columns) {
  size_t rows = 0;
  for (const Column& column : columns) rows = std::max(rows, column.cells.size());
  std::vector<std::string> lines(rows + 1);
  const std::vector<int> widths = WidthsOf(columns);
  for (size_t row = 0; row <= rows; ++row) {
    std::string& line = lines[row];
    line.reserve(std::max(0, TotalWidth(widths)));
    for (size_t i = 0; i < columns.size(); ++i) {
      const Column& column = columns[i];
      if (i > 0) line.append(kGap, ' ');
      AppendPadded(row == 0 ? column.title : column.cells[row - 1], widths[i], column.right_aligned,
                   line);
    }
    line.erase(line.find_last_not_of(' ') + 1);
  }
  return lines;
}

}  // namespace hotproof::cli::render
