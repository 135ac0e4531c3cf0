// Writes JSON in the order it is told, indented; the same calls give the same bytes.
//
// Text from traces may hold any byte: what is not UTF-8 becomes U+FFFD, so the document is always
// valid.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/base.h"

namespace flopcast {

class JsonWriter {
 public:
  /// How the members of an object or array are laid out.
  enum class Layout : std::uint8_t { kBlock, kLine };

  // Containers; `key` is left empty inside arrays and at the top.
  void begin_object(std::string_view key = {}, Layout layout = Layout::kBlock) {
    begin(key, '{', layout);
  }
  void begin_array(std::string_view key = {}, Layout layout = Layout::kBlock) {
    begin(key, '[', layout);
  }
  void end_object() { end('}'); }
  void end_array() { end(']'); }

  void text(std::string_view key, std::string_view value);
  /// An array of them.
  void texts(std::string_view key, const std::vector<std::string>& values,
             Layout layout = Layout::kBlock);
  void integer(std::string_view key, std::int64_t value);
  void count(std::string_view key, std::uint64_t value);
  void boolean(std::string_view key, bool value) { raw(key, value ? "true" : "false"); }
  void null(std::string_view key) { raw(key, "null"); }
  /// Nine significant digits; null where there is none.
  void ratio(std::string_view key, std::optional<double> value);
  /// The shortest text that reads back as the same number; null where it is not finite.
  void exact(std::string_view key, double value);
  /// An exact decimal number of seconds.
  void seconds(std::string_view key, Time value);

  /// The document, with a newline at its end.
  std::string take() &&;

 private:
  struct Level {
    Layout layout = Layout::kBlock;
    bool empty = true;
  };
  void raw(std::string_view key, std::string_view value);
  void begin(std::string_view key, char open, Layout layout);
  void end(char close);
  void separate(std::string_view key);
  void new_line();

  std::string out_;
  std::vector<Level> levels_;
};

/// Appends `text` as a JSON string, quotes included.
void append_json_string(std::string& out, std::string_view text);

}  // namespace flopcast
