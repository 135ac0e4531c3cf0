// What names are looked for by.
#pragma once

#include <optional>
#include <regex>
#include <string>
#include <string_view>

namespace flopcast::whatif {

/// A piece of text, or a regular expression in ECMAScript's grammar.
class Pattern {
 public:
  /// "/.../" is an expression, all else a text that names have in them. Nothing where it is no
  /// regular expression.
  static std::optional<Pattern> read(const std::string& text);
  /// An expression, without slashes.
  static std::optional<Pattern> expression(const std::string& text);

  bool matches(std::string_view name) const;
  const std::string& written() const { return written_; }  ///< as the user wrote it

 private:
  explicit Pattern(std::string written) : written_(std::move(written)) {}

  std::string written_;
  std::optional<std::regex> expression_;
};

}  // namespace flopcast::whatif
