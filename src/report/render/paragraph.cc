#include "report/render/paragraph.h"

#include "base/text/utf8.h"

namespace flopcast::report {

namespace {

/// A number and its percent sign are one.
std::string_view first_word(std::string_view text) {
  std::size_t end = text.find(' ');
  while (end != std::string_view::npos && end + 1 < text.size() && text[end + 1] == '%')
    end = text.find(' ', end + 1);
  return text.substr(0, end);
}

}  // namespace

std::string paragraph(std::string_view head, std::string_view text) {
  const std::size_t indent = display_width(std::string(head));
  std::string out(head);
  std::size_t column = indent;
  while (!text.empty()) {
    const std::string_view word = first_word(text);
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    const std::size_t width = display_width(std::string(word));
    if (column > indent && column + 1 + width > kPageWidth) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += width;
  }
  return out + '\n';
}

}  // namespace flopcast::report
