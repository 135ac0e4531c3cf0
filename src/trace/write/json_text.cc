#include "trace/write/json_text.h"

#include <simdjson.h>

#include <string>

#include "base/text/json_writer.h"

namespace flopcast::trace {
namespace {

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

void JsonText::quoted(std::string_view text) {
  scratch_.clear();
  append_json_string(scratch_, text);
  raw(scratch_);
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
