// Tables as text, found by the gaps between their columns and laid out for fewer columns.
#pragma once

#include <span>
#include <string>

#include "base/layout/lines.h"

namespace flopcast::layout {

/// Runs of at least two blank columns between cells, of all lines of a table together.
class Gaps {
 public:
  explicit Gaps(const Line& line);
  bool any() const { return !gaps_.empty(); }
  /// Narrows the gaps to what this line leaves of them. A line of other columns has a word across a
  /// gap: nothing is changed then. @return whether the line is one of the table
  bool take(const Line& line);
  /// What lies between them. @param width of the widest line
  std::vector<Range> columns(std::size_t width) const;

 private:
  std::vector<Range> gaps_;
};

/// Adds the lines of a table with cells folded within their columns, as several tables below one
/// another where that is not enough. @pre width >= kNarrowest
void add_table(std::span<const Line> lines, const Gaps& gaps, std::size_t width, std::string& out);

}  // namespace flopcast::layout
