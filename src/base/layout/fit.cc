#include "base/layout/fit.h"

#include <algorithm>
#include <span>
#include <vector>

#include "base/layout/lines.h"
#include "base/layout/table.h"

namespace flopcast {
namespace {

using namespace layout;

void add_folded(const Line& line, std::size_t width, std::string& out) {
  std::size_t indent = 0;
  while (indent < line.size() && blank(line, indent)) ++indent;
  // What follows goes under the first word, and a little in where that stands at the left.
  if (indent + kNarrowest > width) indent = 0;
  const std::size_t hanging = indent + (indent + kNarrowest + kGap > width ? 0 : kGap);
  bool first = true;
  const auto add = [&](const Line& piece) {
    out.append(first ? indent : hanging, ' ');
    for (const std::string_view character : piece) out += character;
    out += '\n';
    first = false;
  };
  const Line text = cell_of(line, {0, line.size()});
  const Line head = folded(text, width - indent).front();
  add(head);
  const Line rest = cell_of(text, {head.size(), text.size()});
  if (rest.empty()) return;
  for (const Line& piece : folded(rest, width - hanging)) add(piece);
}

bool fits(std::span<const Line> lines, std::size_t width) {
  return std::all_of(lines.begin(), lines.end(),
                     [width](const Line& line) { return line.size() <= width; });
}

}  // namespace

std::string fit_text(std::string_view text, std::size_t width) {
  const std::vector<Line> lines = lines_of(text);
  // Below this nothing can be laid out; the terminal itself folds lines then.
  if (width < kNarrowest || fits(lines, width)) return std::string(text);
  std::string out;
  for (std::size_t i = 0; i < lines.size();) {
    Gaps gaps(lines[i]);
    std::size_t end = i + 1;
    while (gaps.any() && end < lines.size() && !lines[end].empty() && gaps.take(lines[end])) ++end;
    const std::span<const Line> block(lines.data() + i, end - i);
    if (gaps.any() && !fits(block, width)) {
      add_table(block, gaps, width, out);
    } else {
      for (const Line& line : block) add_folded(line, width, out);
    }
    i = end;
  }
  return out;
}

}  // namespace flopcast
