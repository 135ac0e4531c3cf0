// Writes JSON text fast: a large buffer before an OutputFile, and strings of a StringTable that are
// checked for characters to escape once per string, not once per use.
#pragma once

#include <fmt/compile.h>
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files/output_file.h"
#include "flopcast/base.h"

namespace flopcast::trace {

class JsonText {
 public:
  JsonText(OutputFile& file, const StringTable& strings)
      : file_(&file), strings_(&strings), known_(strings.size()) {}

  void raw(std::string_view text) { buffer_.append(text.data(), text.data() + text.size()); }
  template <typename Format, typename... Values>
  void format(const Format& format, Values&&... values) {
    fmt::format_to(std::back_inserter(buffer_), format, std::forward<Values>(values)...);
  }
  void integer(std::int64_t value) {
    const fmt::format_int text(value);
    raw({text.data(), text.size()});
  }

  /// In quotes. Bytes that are no UTF-8 become U+FFFD: what is written is always JSON.
  void quoted(std::string_view text);
  void quoted_id(std::uint32_t id);
  /// Text that is itself JSON is written as it stands, anything else in quotes.
  void value_id(std::uint32_t id);

  /// Hands the buffer on when it is large; call between rows.
  void flush_if_full() {
    if (buffer_.size() >= kFlushBytes) flush();
  }
  void flush() {
    file_->write({buffer_.data(), buffer_.size()});
    buffer_.clear();
  }

 private:
  static constexpr std::size_t kFlushBytes = std::size_t{1} << 20;
  struct Known {
    enum : std::uint8_t { kUnseen, kYes, kNo };
    std::uint8_t is_plain = kUnseen;  // may be copied between quotes
    std::uint8_t is_json = kUnseen;   // may be copied without quotes
  };

  OutputFile* file_;
  const StringTable* strings_;
  std::vector<Known> known_;
  fmt::memory_buffer buffer_;
  std::string scratch_;
};

}  // namespace flopcast::trace
