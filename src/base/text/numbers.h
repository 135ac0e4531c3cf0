// Numbers of text, never through the locale: all of a text, or the front of one.
//
// A number is written as JSON writes it: no blanks, no '+', no digits grouped. One that its type cannot
// hold is no number, nor is infinity.
#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>

namespace flopcast {

/// The whole number that `text` begins with; it is cut off the text.
template <std::integral T = std::int64_t>
std::optional<T> take_whole(std::string_view& text) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

/// The finite number that `text` begins with; it is cut off the text.
template <std::floating_point T = double>
std::optional<T> take_number(std::string_view& text) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

/// All of `text` as a whole number.
template <std::integral T = std::int64_t>
std::optional<T> parse_whole(std::string_view text) {
  const std::optional<T> value = take_whole<T>(text);
  return text.empty() ? value : std::nullopt;
}

/// All of `text` as a finite number.
template <std::floating_point T = double>
std::optional<T> parse_number(std::string_view text) {
  const std::optional<T> value = take_number<T>(text);
  return text.empty() ? value : std::nullopt;
}

}  // namespace flopcast
