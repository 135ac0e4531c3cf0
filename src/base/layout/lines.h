// Lines by columns of the terminal, and cutting them between words.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace flopcast::layout {

/// Narrower than this, words are harder to read than a second table.
inline constexpr std::size_t kNarrowest = 16;
/// Columns between two cells, and before the first.
inline constexpr std::size_t kGap = 2;

/// A character of several bytes stands in one column.
using Line = std::vector<std::string_view>;
/// Columns from `begin` up to `end`.
struct Range {
  std::size_t begin = 0, end = 0;
};

std::vector<Line> lines_of(std::string_view text);
/// A space, or behind the end.
bool blank(const Line& line, std::size_t column);
/// What a line has in these columns, without the spaces around it.
Line cell_of(const Line& line, Range range);
/// A cell cut between words into pieces of at most `width`, at least one; words that are wider are
/// cut themselves.
std::vector<Line> folded(const Line& cell, std::size_t width);

}  // namespace flopcast::layout
