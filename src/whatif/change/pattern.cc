#include "whatif/change/pattern.h"

#include <utility>

namespace flopcast::whatif {

std::optional<Pattern> Pattern::read(const std::string& text) {
  const bool slashes = text.size() >= 2 && text.front() == '/' && text.back() == '/';
  if (!slashes) return Pattern(text);
  std::optional<Pattern> pattern = expression(text.substr(1, text.size() - 2));
  if (pattern) pattern->written_ = text;
  return pattern;
}

std::optional<Pattern> Pattern::expression(const std::string& text) {
  Pattern pattern(text);
  try {
    pattern.expression_.emplace(text);
  } catch (const std::regex_error&) {
    return std::nullopt;
  }
  return pattern;
}

bool Pattern::matches(std::string_view name) const {
  if (!expression_) return name.find(written_) != std::string_view::npos;
  return std::regex_search(name.begin(), name.end(), *expression_);
}

}  // namespace flopcast::whatif
