#include "base/layout/table.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

namespace flopcast::layout {
namespace {

/// Words up to this stay whole: a table of their own has room for them.
constexpr std::size_t kLongWord = 50;

struct Column {
  Range range;            ///< of the lines as they were
  std::size_t width = 0;  ///< that it is to have
  std::size_t least = 0;  ///< that it may be folded to
  bool right = false;     ///< numbers: aligned so, and never folded
};
/// Indices of columns that stand side by side.
using Chosen = std::vector<std::size_t>;

std::size_t longest_word(const Line& cell) {
  std::size_t longest = 0, length = 0;
  for (const std::string_view character : cell) {
    length = character == " " ? 0 : length + 1;
    longest = std::max(longest, length);
  }
  return longest;
}

/// Cells that all end where the column ends and are of several widths.
bool aligned_right(std::span<const Line> lines, Range range) {
  std::set<std::size_t> widths;
  for (const Line& line : lines) {
    const std::size_t width = cell_of(line, range).size();
    if (width == 0) continue;
    if (blank(line, range.end - 1)) return false;
    widths.insert(width);
  }
  return widths.size() > 1;
}

Column column_of(std::span<const Line> lines, Range range) {
  Column column{range, 0, 0, aligned_right(lines, range)};
  std::size_t word = 0;
  for (const Line& line : lines) {
    const Line cell = cell_of(line, range);
    column.width = std::max(column.width, cell.size());
    word = std::max(word, longest_word(cell));
  }
  const std::size_t least = word <= kLongWord ? std::max(word, kNarrowest) : kNarrowest;
  column.least = column.right ? column.width : std::min(column.width, least);
  return column;
}

/// Of columns side by side, as `measure` has each of them.
std::size_t width_of(const std::vector<Column>& columns, const Chosen& chosen,
                     std::size_t Column::*measure) {
  std::size_t sum = 0;
  for (const std::size_t c : chosen) sum += kGap + columns[c].*measure;
  return sum;
}

/// Takes from the widest of these columns until they fit or are all at their least.
void narrow(std::vector<Column>& columns, const Chosen& chosen, std::size_t width) {
  while (width_of(columns, chosen, &Column::width) > width) {
    Column* widest = nullptr;
    for (const std::size_t c : chosen) {
      Column& column = columns[c];
      if (column.width > column.least && (!widest || column.width > widest->width))
        widest = &column;
    }
    if (!widest) return;
    --widest->width;
  }
}

bool tell_apart(std::span<const Line> lines, const std::vector<Column>& columns,
                const Chosen& keys) {
  std::set<std::vector<Line>> rows;
  for (const Line& line : lines) {
    std::vector<Line> row;
    for (const std::size_t key : keys) row.push_back(cell_of(line, columns[key].range));
    if (!rows.insert(std::move(row)).second) return false;
  }
  return true;
}

/// The first columns: as many as tell the rows apart, if those leave half of the width.
Chosen keys_of(std::span<const Line> lines, const std::vector<Column>& columns, std::size_t width) {
  Chosen keys;
  while (keys.size() + 1 < columns.size()) {
    keys.push_back(keys.size());
    if (width_of(columns, keys, &Column::least) > width / 2) break;
    if (tell_apart(lines, columns, keys)) return keys;
  }
  return {0};
}

/// Which columns go into which table: all into one if they fit, else the keys into each and as many
/// others as fit, one at least.
std::vector<Chosen> tables_of(std::span<const Line> lines, std::vector<Column>& columns,
                              std::size_t width) {
  Chosen all(columns.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  if (width_of(columns, all, &Column::least) <= width) return {all};
  const auto cap = [](Column& column, std::size_t most) {
    column.least = std::min(column.least, most);
    column.width = std::min(column.width, most);
  };
  const Chosen keys = keys_of(lines, columns, width);
  for (const std::size_t key : keys) cap(columns[key], width / 2 - kGap);
  const std::size_t room = width - width_of(columns, keys, &Column::least) - kGap;
  std::vector<Chosen> tables = {keys};
  for (std::size_t c = keys.size(); c < columns.size(); ++c) {
    cap(columns[c], room);
    tables.back().push_back(c);
    if (width_of(columns, tables.back(), &Column::least) <= width) continue;
    tables.back().pop_back();
    tables.push_back(keys);
    tables.back().push_back(c);
  }
  return tables;
}

void add_row(const Line& line, const std::vector<Column>& columns, const Chosen& chosen,
             std::string& out) {
  std::vector<std::vector<Line>> cells;
  std::size_t height = 1;
  for (const std::size_t c : chosen) {
    cells.push_back(folded(cell_of(line, columns[c].range), columns[c].width));
    height = std::max(height, cells.back().size());
  }
  for (std::size_t piece = 0; piece < height; ++piece) {
    std::string row;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const Column& column = columns[chosen[i]];
      const Line cell = piece < cells[i].size() ? cells[i][piece] : Line();
      const std::string padding(column.width - cell.size(), ' ');
      row.append(kGap, ' ');
      if (column.right) row += padding;
      for (const std::string_view character : cell) row += character;
      if (!column.right) row += padding;
    }
    row.erase(row.find_last_not_of(' ') + 1);
    out += row + '\n';
  }
}

}  // namespace

Gaps::Gaps(const Line& line) {
  std::size_t column = 0;
  while (column < line.size() && blank(line, column)) ++column;
  for (; column < line.size(); ++column) {
    if (!blank(line, column)) continue;
    const std::size_t begin = column;
    while (column < line.size() && blank(line, column)) ++column;
    if (column - begin >= kGap && column < line.size()) gaps_.push_back({begin, column});
  }
}

bool Gaps::take(const Line& line) {
  std::vector<Range> left;
  for (const Range& gap : gaps_) {
    const std::size_t before = left.size();
    for (std::size_t column = gap.begin; column < gap.end; ++column) {
      if (!blank(line, column)) continue;
      const std::size_t begin = column;
      while (column < gap.end && blank(line, column)) ++column;
      if (column - begin >= kGap) left.push_back({begin, column});
    }
    if (left.size() == before) return false;
  }
  gaps_ = std::move(left);
  return true;
}

std::vector<Range> Gaps::columns(std::size_t width) const {
  std::vector<Range> columns;
  std::size_t begin = 0;
  for (const Range& gap : gaps_) {
    columns.push_back({begin, gap.begin});
    begin = gap.end;
  }
  columns.push_back({begin, width});
  return columns;
}

void add_table(std::span<const Line> lines, const Gaps& gaps, std::size_t width, std::string& out) {
  std::size_t widest = 0;
  for (const Line& line : lines) widest = std::max(widest, line.size());
  std::vector<Column> columns;
  for (const Range& range : gaps.columns(widest)) columns.push_back(column_of(lines, range));
  for (const Chosen& chosen : tables_of(lines, columns, width)) {
    std::vector<Column> narrowed = columns;
    narrow(narrowed, chosen, width);
    for (const Line& line : lines) add_row(line, narrowed, chosen, out);
  }
}

}  // namespace flopcast::layout
