#include "base/text/shown.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <iterator>

#include "base/text/utf8.h"

namespace flopcast {
namespace {

constexpr std::size_t kMostQuoted = 200, kMostSaid = 2000;
/// Of longer texts only both ends are looked at: quotes are sought in time that grows with its square.
constexpr std::size_t kMostLookedAt = 8000;

bool is_plain(char c) { return c >= 0x20 && c < 0x7f; }
bool is_layout(char c) { return c == '\n' || c == '\t'; }

/// Of a well-formed sequence of two bytes or three; others hold no controls.
std::uint32_t code_point(std::string_view sequence) {
  const auto bits = [&](std::size_t i) { return static_cast<unsigned char>(sequence[i]) & 0x3fU; };
  if (sequence.size() == 2) return (bits(0) & 0x1fU) << 6 | bits(1);
  if (sequence.size() == 3) return (bits(0) & 0x0fU) << 12 | bits(1) << 6 | bits(2);
  return 0;
}

/// C1, the marks, embeddings, overrides and isolates of direction, the separators of lines, the mark of byte order, and
/// what is no character: XML has none of these.
bool is_wide_control(std::uint32_t point) {
  return (point >= 0x80 && point < 0xa0) || point == 0x61c || point == 0x200e || point == 0x200f ||
         (point >= 0x2028 && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069) ||
         point == 0xfeff || point == 0xfffe || point == 0xffff;
}

void append_control(std::string& out, char c) {
  if (c == '\n') {
    out += "\\n";
  } else if (c == '\t') {
    out += "\\t";
  } else if (c == '\r') {
    out += "\\r";
  } else {
    fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned char>(c));
  }
}

/// Appends what `text` starts with, escaped, and takes it off.
void append_first(std::string& out, std::string_view& text, bool keep_layout) {
  const std::size_t length = utf8_length(text);
  if (length == 0) {
    fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(text[0]));
  } else if (length == 1 && !is_plain(text[0]) && !(keep_layout && is_layout(text[0]))) {
    append_control(out, text[0]);
  } else if (const std::uint32_t point = code_point(text.substr(0, length));
             is_wide_control(point)) {
    fmt::format_to(std::back_inserter(out), "\\u{:04x}", point);
  } else {
    out += text.substr(0, length);
  }
  text.remove_prefix(std::max<std::size_t>(length, 1));
}

std::string escape(std::string_view text, bool keep_layout) {
  // Answers may be large, and nearly all of them are plain.
  std::string out;
  while (!text.empty()) {
    const auto stop = std::find_if_not(text.begin(), text.end(), [&](char c) {
      return is_plain(c) || (keep_layout && is_layout(c));
    });
    const auto plain = static_cast<std::size_t>(stop - text.begin());
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (!text.empty()) append_first(out, text, keep_layout);
  }
  return out;
}

/// Escaped text has no sequence across which it must not be cut but those of UTF-8.
std::string cut(std::string_view text, std::size_t most, bool keep_layout) {
  // Escapes are up to six times as long as what they stand for: more than this is never shown.
  if (text.size() <= most) return shortened(escape(text, keep_layout), most);
  const std::string head = escape(text.substr(0, most), keep_layout);
  const std::string tail = escape(text.substr(text.size() - most), keep_layout);
  return shortened(head + tail, most);
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

/// Where the quotation that begins at `open` ends; npos where it is an apostrophe, or never ends.
std::size_t closing_quote(std::string_view text, std::size_t open) {
  if (open > 0 && is_word(text[open - 1])) return std::string_view::npos;
  for (std::size_t i = open + 1; i < text.size(); ++i) {
    if (text[i] == text[open] && (i + 1 == text.size() || !is_word(text[i + 1]))) return i;
  }
  return std::string_view::npos;
}

}  // namespace

std::string escaped(std::string_view text) { return escape(text, false); }
std::string escaped_lines(std::string_view text) { return escape(text, true); }
std::string excerpt(std::string_view text) { return cut(text, kMostQuoted, false); }

std::string sentence(std::string_view whole) {
  const std::string ends = whole.size() <= kMostLookedAt
                               ? std::string(whole)
                               : std::string(whole.substr(0, kMostLookedAt / 2)) +
                                     std::string(whole.substr(whole.size() - kMostLookedAt / 2));
  const std::string_view text = ends;
  std::string out;
  std::size_t told = 0;
  for (std::size_t i = text.find_first_of("'\""); i != std::string_view::npos;
       i = text.find_first_of("'\"", i)) {
    const std::size_t end = closing_quote(text, i);
    if (end == std::string_view::npos) {
      ++i;
      continue;
    }
    out += text.substr(told, i + 1 - told);
    out += excerpt(text.substr(i + 1, end - i - 1));
    out += text[end];
    told = i = end + 1;
  }
  out += text.substr(told);
  return cut(out, kMostSaid, true);
}

}  // namespace flopcast
