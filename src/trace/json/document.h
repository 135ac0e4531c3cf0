// The outer shape of a trace: one object with an event array and other keys in any order, or a bare
// event array. Reads it through a window of constant size and hands out the elements of the array.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/byte_source.h"
#include "trace/json/cursor.h"

namespace flopcast::trace {

struct WindowOptions {
  std::size_t bytes = std::size_t{256} << 10;        ///< to begin with; grows to hold one row
  std::size_t limit_bytes = std::size_t{256} << 20;  ///< a row larger than this is an error
};

/// The part of the text in memory: moves forward only.
class Window {
 public:
  Window(ByteSource& source, const WindowOptions& options);

  enum class Refill : std::uint8_t { kMore, kEnd, kTooLarge };
  /// Drops what lies before `keep` and reads more; `keep` then points to the same byte at its new
  /// place.
  Refill refill(const char*& keep);
  const char* begin() const { return buffer_.data(); }
  const char* end() const { return buffer_.data() + used_; }
  /// Place of a byte in the unpacked text.
  std::uint64_t offset(const char* p) const {
    return dropped_ + static_cast<std::uint64_t>(p - buffer_.data());
  }
  /// Reads what is left and forgets it. @return size of the whole text.
  std::uint64_t drain();

 private:
  ByteSource& source_;
  std::vector<char> buffer_;  // limit, plus kPadding zero bytes behind the text
  std::size_t limit_bytes_;
  std::size_t used_ = 0;
  std::uint64_t dropped_ = 0;
};

class DocumentHandler {
 public:
  DocumentHandler() = default;
  DocumentHandler(const DocumentHandler&) = delete;
  DocumentHandler& operator=(const DocumentHandler&) = delete;
  virtual ~DocumentHandler() = default;

  /// An element of the event array begins at the cursor: move past it. Returning kMore calls again
  /// with the same element in a larger window, so nothing may be kept before the element is whole.
  virtual Scan on_row(Cursor& cursor) = 0;
  /// Whether on_value() should be called for a key beside the event array.
  virtual bool wants(std::string_view key) = 0;
  virtual void on_value(std::string_view key, const JsonSlice& value) = 0;
};

/// How far a document could be read.
struct DocumentOutcome {
  struct Damage {
    std::uint64_t offset = 0;  ///< in the unpacked text
    std::string what;
  };
  bool is_json = false;  ///< begins with { or [
  bool utf16 = false;    ///< in units of 16 bits, which are not read
  bool bare_array = false;
  bool has_events = false;        ///< an event array was found (and not just begun to be)
  std::vector<std::string> keys;  ///< of the top level, at most kMostKeys
  std::uint64_t rows = 0;         ///< whole elements of the event array
  std::optional<Damage> damage;
  std::optional<std::uint64_t> text_after;  ///< offset of text behind the document
  std::uint64_t bytes = 0;                  ///< size of the unpacked text
};

/// Reads to the end of the source whatever happens, so that its checksum is known.
DocumentOutcome read_document(ByteSource& source, DocumentHandler& handler,
                              const WindowOptions& options,
                              const std::function<void()>& on_refill = {});

}  // namespace flopcast::trace
