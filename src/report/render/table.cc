#include "report/render/table.h"

#include <algorithm>

#include "base/text/csv_table.h"
#include "base/text/shown.h"
#include "base/text/utf8.h"

namespace flopcast::report {
namespace {

std::string line(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths,
                 const std::vector<Table::Column>& columns) {
  std::string text;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    const std::string padding(widths[c] - std::min(widths[c], display_width(cells[c])), ' ');
    text += "  ";
    text += columns[c].align == Align::kLeft ? cells[c] + padding : padding + cells[c];
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text + '\n';
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::string text;
  for (std::size_t c = 0; c < cells.size(); ++c) text += (c == 0 ? "" : ",") + csv_field(cells[c]);
  return text + '\n';
}

}  // namespace

std::string Table::text() const {
  std::vector<std::string> titles;
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) {
    titles.push_back(column.title);
    widths.push_back(display_width(column.title));
  }
  std::vector<std::vector<std::string>> rows = rows_;
  for (auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      row[c] = escaped(row[c]);  // a line's end in a name would tear the table
      widths[c] = std::max(widths[c], display_width(row[c]));
    }
  }
  std::string text = line(titles, widths, columns_);
  for (const auto& row : rows) text += line(row, widths, columns_);
  return text;
}

std::string Table::csv(bool titles) const {
  std::string text;
  if (titles) {
    std::vector<std::string> cells;
    for (const Column& column : columns_) cells.push_back(column.title);
    text += csv_line(cells);
  }
  for (const auto& row : rows_) text += csv_line(row);
  return text;
}

}  // namespace flopcast::report
