#include "report/render/rows.h"

#include <algorithm>

#include "base/text/utf8.h"

namespace flopcast::report {
namespace {

void add_folded_row(std::string_view line, std::string_view ending, std::size_t columns,
                    std::string& out) {
  const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
  std::string row(line.substr(0, indent));
  const std::string hanging = row + "    ";
  bool empty = true;
  for (std::size_t at = indent; at < line.size();) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    const std::string_view word = line.substr(at, end - at);
    at = end + 1;
    const std::size_t last = at >= line.size() ? 0 : display_width(ending);
    if (!empty && display_width(row) + 1 + display_width(word) + last > columns) {
      out += row;
      out += ending;
      out += '\n';
      row = hanging;
      empty = true;
    }
    if (!empty) row += ' ';
    row += word;
    empty = false;
  }
  out += row + '\n';
}

}  // namespace

std::string folded_rows(std::string_view text, std::string_view ending, std::size_t columns) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (display_width(line) <= columns) {
      out += line;
      out += '\n';
    } else {
      add_folded_row(line, ending, columns, out);
    }
  }
  return out;
}

std::string hanging(std::string_view first, std::string_view text, std::size_t indent) {
  const std::string next(indent == std::string_view::npos ? display_width(first) : indent, ' ');
  std::string out(first);
  std::size_t width = display_width(first);
  bool begins = true;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (!begins && width + 1 + display_width(word) > kTextColumns) {
      out += '\n' + next;
      width = next.size();
      begins = true;
    }
    out += begins ? "" : " ";
    out += word;
    width += display_width(word) + (begins ? 0 : 1);
    begins = false;
  }
  return out + '\n';
}

std::string with_words(const Table& table, const std::vector<std::string>& words) {
  const std::string rows = table.text();
  std::size_t at = rows.find('\n') + 1;
  std::string text = rows.substr(0, at);
  for (const std::string& one : words) {
    const std::size_t end = rows.find('\n', at) + 1;
    text += rows.substr(at, end - at) + "    " + one + '\n';
    at = end;
  }
  return text;
}

}  // namespace flopcast::report
