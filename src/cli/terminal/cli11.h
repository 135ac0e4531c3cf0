// CLI11 whose numbers are the house's: all of a word, in decimal whatever zeros stand before it ("010" is 10, where CLI11
// itself reads octal), finite ("nan" and "inf" are none), and what its type can hold.
#pragma once

#ifdef CLI11_VERSION
#error \
    "include cli/terminal/cli11.h in place of CLI/CLI.hpp: CLI11 takes what is declared before it"
#endif

#include <string>

#include "base/counts.h"
#include "base/text/numbers.h"

// Declared before CLI11's templates of that name, which are called for everything else.
namespace CLI::detail {

template <typename Number>
bool read_number(const std::optional<Number>& read, Number& number) {
  if (read) number = *read;
  return read.has_value();
}
#define FLOPCAST_WHOLE(Type)                                        \
  inline bool lexical_cast(const std::string& text, Type& number) { \
    return read_number(flopcast::parse_whole<Type>(text), number);  \
  }
FLOPCAST_WHOLE(int)
FLOPCAST_WHOLE(unsigned)
FLOPCAST_WHOLE(long)
FLOPCAST_WHOLE(unsigned long)
FLOPCAST_WHOLE(long long)
FLOPCAST_WHOLE(unsigned long long)
#undef FLOPCAST_WHOLE
inline bool lexical_cast(const std::string& text, double& number) {
  return read_number(flopcast::parse_number(text), number);
}

}  // namespace CLI::detail

#include <CLI/CLI.hpp>

namespace flopcast::cli {

/// Of an option: a whole number, not below this.
inline CLI::Validator whole_from(std::int64_t least) {
  return CLI::Validator(
      [least](std::string& text) {
        const auto number = parse_whole<std::int64_t>(text);
        if (number && *number >= least) return std::string();
        return "expected a whole number from " + std::to_string(least) + " on, found '" + text +
               "'";
      },
      "");
}

/// Of an option, to transform it: tokens, such as 8192 or 8k.
inline CLI::Validator tokens() {
  return CLI::Validator(
      [](std::string& text) {
        const auto count = parse_tokens(text);
        if (!count) return "expected tokens such as 8192 or 8k, found '" + text + "'";
        text = std::to_string(*count);
        return std::string();
      },
      "");
}

/// Of an option: a number that is not negative.
inline CLI::Validator not_negative() {
  return CLI::Validator(
      [](std::string& text) {
        const auto number = parse_number(text);
        return number && *number >= 0 ? std::string()
                                      : "expected a number from 0 on, found '" + text + "'";
      },
      "");
}

}  // namespace flopcast::cli
