#include "base/layout/lines.h"

#include <algorithm>

#include "base/text/utf8.h"

namespace flopcast::layout {
namespace {

Line line_of(std::string_view text) {
  Line line;
  while (!text.empty()) {
    const std::size_t bytes = std::max<std::size_t>(1, utf8_length(text));
    line.push_back(text.substr(0, bytes));
    text.remove_prefix(bytes);
  }
  return line;
}

}  // namespace

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(line_of(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

bool blank(const Line& line, std::size_t column) {
  return column >= line.size() || line[column] == " ";
}

Line cell_of(const Line& line, Range range) {
  range.end = std::min(range.end, line.size());
  while (range.begin < range.end && blank(line, range.begin)) ++range.begin;
  while (range.begin < range.end && blank(line, range.end - 1)) --range.end;
  if (range.begin >= range.end) return {};
  return {line.begin() + static_cast<std::ptrdiff_t>(range.begin),
          line.begin() + static_cast<std::ptrdiff_t>(range.end)};
}

std::vector<Line> folded(const Line& cell, std::size_t width) {
  std::vector<Line> pieces;
  std::size_t begin = 0;
  while (cell.size() - begin > width) {
    std::size_t end = begin + width;
    while (end > begin && !blank(cell, end)) --end;
    if (end == begin) end = begin + width;
    pieces.push_back(cell_of(cell, {begin, end}));
    begin = end;
    while (blank(cell, begin) && begin < cell.size()) ++begin;
  }
  if (begin < cell.size() || pieces.empty()) pieces.push_back(cell_of(cell, {begin, cell.size()}));
  return pieces;
}

}  // namespace flopcast::layout
