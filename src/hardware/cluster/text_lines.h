// Lines of a text with their numbers, split into words.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/names.h"
#include "flopcast/base.h"

namespace flopcast::hardware {

/// Walks over the lines of a text; `\r` at their ends is dropped.
class TextLines {
 public:
  explicit TextLines(std::string_view text) : rest_(text) {}

  bool next() {
    if (rest_.empty()) return false;
    const std::size_t end = rest_.find('\n');
    line_ = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    ++number_;
    return true;
  }
  std::string_view line() const { return line_; }
  std::size_t number() const { return number_; }  ///< from 1

  std::vector<std::string_view> words() const {
    std::vector<std::string_view> words;
    constexpr std::string_view kBlanks = " \t\r";
    for (std::size_t at = line_.find_first_not_of(kBlanks); at != std::string_view::npos;) {
      const std::size_t end = std::min(line_.find_first_of(kBlanks, at), line_.size());
      words.push_back(line_.substr(at, end - at));
      at = line_.find_first_not_of(kBlanks, end);
    }
    return words;
  }

 private:
  std::string_view rest_, line_;
  std::size_t number_ = 0;
};

}  // namespace flopcast::hardware
