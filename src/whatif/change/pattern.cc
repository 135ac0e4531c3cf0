#include "whatif/change/pattern.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <utility>

namespace flopcast::whatif {

Result<Pattern> Pattern::make(const std::string& text, std::string_view option) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  auto regex = std::make_shared<const re2::RE2>(text, options);
  if (regex->ok()) return Pattern(std::move(regex));
  return usage_error(
      option, fmt::format("'{}' is no regular expression: {}", text, regex->error()),
      "RE2's grammar, as in /gemm.*bf16/: no look-ahead (?=...), no back-references");
}

Pattern::Pattern(std::shared_ptr<const re2::RE2> regex) : regex_(std::move(regex)) {}

bool Pattern::found_in(std::string_view text) const {
  return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *regex_);
}

const std::string& Pattern::written() const { return regex_->pattern(); }

}  // namespace flopcast::whatif
