#include "base/rate_words.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <string>

#include "flopcast/base/quantity.h"

namespace flopcast {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

std::string lower_of(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

/// The letters that begin at `at`.
std::string_view letters_at(std::string_view words, std::size_t at) {
  std::size_t end = at;
  while (end < words.size() && is_letter(words[end])) ++end;
  return words.substr(at, end - at);
}

/// "B" or "b", as the letters behind a prefix say; empty: they are no unit. `bare`: the prefix is that of gigabits.
std::string_view counted_by(std::string_view unit, bool bare) {
  constexpr std::array<std::string_view, 7> kBytes = {"B",    "Bps",   "Byte", "Bytes",
                                                      "byte", "bytes", "Bs"};
  constexpr std::array<std::string_view, 10> kBits = {"b",    "bps", "bit",  "bits",  "Bit",
                                                      "Bits", "bs",  "bsec", "Bitps", "bitps"};
  constexpr std::array<std::string_view, 5> kEthernet = {"", "e", "be", "base", "s"};
  for (const std::string_view known : kBytes) {
    if (unit == known) return "B";
  }
  for (const std::string_view known : kBits) {
    if (unit == known) return "b";
  }
  for (const std::string_view known : kEthernet) {
    if (bare && lower_of(unit) == known) return "b";
  }
  return "";
}

/// The unit behind a number: where it ends, and how parse_bandwidth has it. end 0: it is none.
struct UnitInWords {
  std::size_t end = 0;
  std::string canonical;  ///< "GB/s"
};
UnitInWords unit_at(std::string_view words, std::size_t at) {
  while (at < words.size() && words[at] == ' ') ++at;
  const std::string_view letters = letters_at(words, at);
  if (letters.empty()) return {};
  const char prefix = static_cast<char>(std::toupper(static_cast<unsigned char>(letters[0])));
  constexpr std::string_view kPrefixes = "KMGT";
  if (kPrefixes.find(prefix) == kPrefixes.npos || letters[0] == 'm') return {};
  const bool binary = letters.size() > 1 && letters[1] == 'i' && letters.substr(1, 3) != "iga";
  const std::string_view unit = letters.substr(binary ? 2 : 1);
  const std::string_view counted = counted_by(unit, prefix == 'G' && !binary);
  if (counted.empty()) return {};
  std::size_t end = at + letters.size();
  if (end < words.size() && words[end] == '/') {
    const std::string second = lower_of(letters_at(words, end + 1));
    if (second == "s" || second == "sec" || second == "second") end += 1 + second.size();
  }
  // "GbE_x", "400Gb7": part of a name.
  const bool cut = end < words.size() && (is_digit(words[end]) || words[end] == '_');
  if (cut) return {};
  return {end, fmt::format("{}{}{}/s", prefix, binary ? "i" : "", counted)};
}

/// The number that ends before `end`: digits, with a point between them or without.
std::string_view number_before(std::string_view words, std::size_t from, std::size_t end) {
  constexpr std::size_t kMostDigits = 6;
  std::size_t first = end;
  const auto back = [&] {
    while (first > from && end - first < 2 * kMostDigits && is_digit(words[first - 1])) --first;
  };
  back();
  if (first > from + 1 && words[first - 1] == '.' && is_digit(words[first - 2])) {
    --first;
    back();
  } else if (end - first > kMostDigits) {
    first = end - kMostDigits;
  }
  return words.substr(first, end - first);
}

}  // namespace

std::optional<RateInWords> next_rate(std::string_view words, std::size_t from) {
  for (std::size_t at = from; at < words.size(); ++at) {
    const bool last = is_digit(words[at]) && (at + 1 == words.size() || !is_digit(words[at + 1]));
    if (!last) continue;
    const UnitInWords unit = unit_at(words, at + 1);
    if (unit.end == 0) continue;
    const std::string_view number = number_before(words, from, at + 1);
    const auto rate = parse_bandwidth(fmt::format("{} {}", number, unit.canonical));
    if (!rate) continue;
    return RateInWords{at + 1 - number.size(), unit.end, rate->value};
  }
  return std::nullopt;
}

}  // namespace flopcast
