#include "trace/write/json_text.h"

#include <simdjson.h>

#include <string>

namespace flopcast::trace {
namespace {

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

bool is_plain(std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte > 0x7e || c == '"' || c == '\\') return false;
  }
  return true;
}

bool is_json_container(std::string_view text) {
  if (text.empty() || (text.front() != '[' && text.front() != '{')) return false;
  simdjson::dom::parser parser;
  return parser.parse(text.data(), text.size(), true).error() == simdjson::SUCCESS;
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!is_continuation(text[i])) return 0;
  }
  // Second bytes that would spell an overlong form, a surrogate, or more than U+10FFFF.
  const auto second = static_cast<unsigned char>(text[1]);
  if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) ||
      (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f)) {
    return 0;
  }
  return length;
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    out += length == 0 ? std::string_view("\xef\xbf\xbd") : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

void JsonText::quoted(std::string_view text) {
  buffer_.push_back('"');
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text[0]);
    const std::size_t length = utf8_length(text);
    if (length == 0) {
      raw("\\ufffd");
    } else if (byte < 0x20 || byte == 0x7f) {
      format(FMT_COMPILE("\\u{:04x}"), unsigned{byte});
    } else {
      if (byte == '"' || byte == '\\') buffer_.push_back('\\');
      raw(text.substr(0, length));
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  buffer_.push_back('"');
}

void JsonText::quoted_id(std::uint32_t id) {
  const std::string_view text = (*strings_)[id];
  Known& known = known_[id];
  if (known.is_plain == Known::kUnseen) known.is_plain = is_plain(text) ? Known::kYes : Known::kNo;
  if (known.is_plain == Known::kNo) return quoted(text);
  buffer_.push_back('"');
  raw(text);
  buffer_.push_back('"');
}

void JsonText::value_id(std::uint32_t id) {
  const std::string_view text = (*strings_)[id];
  Known& known = known_[id];
  if (known.is_json == Known::kUnseen) {
    known.is_json = is_json_container(text) ? Known::kYes : Known::kNo;
  }
  if (known.is_json == Known::kNo) return quoted_id(id);
  raw(text);
}

}  // namespace flopcast::trace
