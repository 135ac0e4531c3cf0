// A user's regular expression over names of kernels. Linear in the name whatever the expression: names are as long as a
// recording has them.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "flopcast/base.h"

namespace re2 {
class RE2;
}

namespace flopcast::whatif {

class Pattern {
 public:
  /// RE2's grammar, in UTF-8. Error (kUsage): it is none. @param option that has it
  static Result<Pattern> make(const std::string& text, std::string_view option);

  /// Whether it is anywhere in the text.
  bool found_in(std::string_view text) const;
  /// As it was written.
  const std::string& written() const;

 private:
  explicit Pattern(std::shared_ptr<const re2::RE2> regex);
  std::shared_ptr<const re2::RE2> regex_;  // copies match alike
};

}  // namespace flopcast::whatif
