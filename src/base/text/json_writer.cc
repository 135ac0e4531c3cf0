#include "base/text/json_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/text/format.h"
#include "base/text/utf8.h"

namespace flopcast {
namespace {

void append_ascii(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      break;
    case '\\':
      out += "\\\\";
      break;
    case '\n':
      out += "\\n";
      break;
    case '\t':
      out += "\\t";
      break;
    case '\r':
      out += "\\r";
      break;
    default:
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
        fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
      } else {
        out += c;
      }
  }
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) {
      out += "\\ufffd";
    } else if (length == 1) {
      append_ascii(out, text[0]);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  out += '"';
}

void JsonWriter::new_line() {
  out_ += '\n';
  out_.append(levels_.size(), ' ');
}

void JsonWriter::separate(std::string_view key) {
  if (!levels_.empty()) {
    Level& level = levels_.back();
    if (!level.empty) out_ += level.layout == Layout::kLine ? ", " : ",";
    if (level.layout == Layout::kBlock) new_line();
    level.empty = false;
  }
  if (!key.empty()) {
    append_json_string(out_, key);
    out_ += ": ";
  }
}

void JsonWriter::raw(std::string_view key, std::string_view value) {
  separate(key);
  out_ += value;
}

void JsonWriter::begin(std::string_view key, char open, Layout layout) {
  separate(key);
  out_ += open;
  // What lies inside a line stays on it.
  if (!levels_.empty() && levels_.back().layout == Layout::kLine) layout = Layout::kLine;
  levels_.push_back({layout, true});
}

void JsonWriter::end(char close) {
  const Level level = levels_.back();
  levels_.pop_back();
  if (level.layout == Layout::kBlock && !level.empty) new_line();
  out_ += close;
}

void JsonWriter::text(std::string_view key, std::string_view value) {
  separate(key);
  append_json_string(out_, value);
}

void JsonWriter::texts(std::string_view key, const std::vector<std::string>& values,
                       Layout layout) {
  begin_array(key, layout);
  for (const std::string& value : values) text({}, value);
  end_array();
}

void JsonWriter::integer(std::string_view key, std::int64_t value) {
  raw(key, fmt::format_int(value).c_str());
}

void JsonWriter::count(std::string_view key, std::uint64_t value) {
  raw(key, fmt::format_int(value).c_str());
}

void JsonWriter::ratio(std::string_view key, std::optional<double> value) {
  raw(key, value ? exact_ratio(*value) : "null");
}

void JsonWriter::exact(std::string_view key, double value) {
  raw(key, std::isfinite(value) ? exact_number(value) : "null");
}

void JsonWriter::seconds(std::string_view key, Time value) { raw(key, exact_seconds(value)); }

std::string JsonWriter::take() && {
  out_ += '\n';
  return std::move(out_);
}

}  // namespace flopcast
