// CLI11 whose numbers are the house's: all of a word, in decimal whatever zeros stand before it ("010" is 10, where CLI11
// itself reads octal), finite ("nan" and "inf" are none), and what its type can hold.
#pragma once

#ifdef CLI11_VERSION
#error \
    "include cli/terminal/cli11.h in place of CLI/CLI.hpp: CLI11 takes what is declared before it"
#endif

#include <string>

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

/// Of an option: a whole number from 1 on.
inline CLI::Validator positive_whole() {
  return CLI::Validator(
      [](std::string& text) {
        const auto number = parse_whole<std::int64_t>(text);
        return number && *number >= 1 ? std::string()
                                      : "expected a whole number from 1 on, found '" + text + "'";
      },
      "");
}

}  // namespace flopcast::cli
