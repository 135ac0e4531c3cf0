#include "base/text/utf8.h"

#include <fmt/format.h>

#include <algorithm>

namespace flopcast {
namespace {

bool continues_sequence(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

/// Tab and the ends of lines alone are text.
bool is_wrong_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\t' && c != '\n' && c != '\r') || byte == 0x7f;
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  if (!std::all_of(&text[1], &text[1] + (length - 1), continues_sequence)) return 0;
  // Second bytes that would spell an overlong form, a surrogate, or more than U+10FFFF.
  const auto second = static_cast<unsigned char>(text[1]);
  const bool bad = (lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) ||
                   (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f);
  return bad ? 0 : length;
}

std::optional<Diagnostic> check_text(std::string_view text, const std::string& name) {
  std::size_t line = 1;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t length = utf8_length(rest);
    if (length == 0 || is_wrong_control(rest.front())) {
      return Diagnostic{
          ErrorCode::kBadInput, fmt::format("{}:{}", name, line),
          fmt::format("the byte 0x{:02x} is no text", static_cast<unsigned char>(rest.front())),
          "save the file as UTF-8 without control characters"};
    }
    line += rest.front() == '\n';
    rest.remove_prefix(length);
  }
  return std::nullopt;
}

std::string valid_utf8(std::string_view text, std::string_view instead) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    out += length == 0 ? instead : text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

void append_utf8(std::string& out, std::uint32_t point) {
  const auto put = [&out](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  const auto put_rest = [&](int shift) { put(0x80 | (point >> shift & 0x3f)); };
  if (point < 0x80) return put(point);
  if (point < 0x800) return put(0xc0 | point >> 6), put_rest(0);
  if (point < 0x10000) return put(0xe0 | point >> 12), put_rest(6), put_rest(0);
  put(0xf0 | point >> 18), put_rest(12), put_rest(6), put_rest(0);
}

std::size_t display_width(std::string_view text) {
  return text.size() -
         static_cast<std::size_t>(std::count_if(text.begin(), text.end(), continues_sequence));
}

std::string shortened(std::string_view text, std::size_t width) {
  if (text.size() <= width) return std::string(text);
  const auto whole = [&](std::size_t end) {
    while (end > 0 && continues_sequence(text[end])) --end;
    return text.substr(0, end);
  };
  if (width < 8) return std::string(whole(width));  // too little for two ends
  const std::size_t head = (width - 3) * 2 / 3;
  std::size_t tail = text.size() - (width - 3 - head);
  while (tail < text.size() && continues_sequence(text[tail])) ++tail;
  return fmt::format("{}...{}", whole(head), text.substr(tail));
}

}  // namespace flopcast
