#include "trace/json/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace flopcast::trace {
namespace {

constexpr std::size_t kMostKeys = 64;
constexpr std::size_t kLeastWindow = 16;

std::string quoted_byte(char c) {
  if (c >= ' ' && c <= '~') return std::string("'") + c + "'";
  static const char* const digits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  return std::string("byte 0x") + digits[byte >> 4] + digits[byte & 15];
}

class DocumentReader {
 public:
  DocumentReader(ByteSource& source, DocumentHandler& handler, const WindowOptions& options,
                 const std::function<void()>& on_refill)
      : window_(source, options), handler_(handler), on_refill_(on_refill), p_(window_.begin()) {}

  DocumentOutcome run() {
    skip_byte_order_mark();
    if (const char* order = utf16_order()) {
      damage(
          fmt::format("the text is UTF-16 ({}): convert it to UTF-8, as by iconv -f UTF-16{} "
                      "-t UTF-8",
                      order[0] == 'L' ? "little-endian" : "big-endian", order));
      out_.utf16 = true;
      out_.bytes = window_.drain();
      return std::move(out_);
    }
    const int first = next();
    if (first == '[' || first == '{') {
      out_.is_json = true;
      out_.bare_array = first == '[';
      if (out_.bare_array ? read_events() : read_object()) check_tail();
    } else if (first < 0) {
      damage("is empty");
    } else {
      damage("expected '{' or '[', found " + quoted_byte(*p_));
    }
    out_.bytes = window_.drain();
    return std::move(out_);
  }

 private:
  static constexpr int kEndOfText = -1;

  bool damage(std::string what) {
    if (!out_.damage) out_.damage = {window_.offset(p_), std::move(what)};
    return false;
  }

  // Keeps the text from `keep` on. False at the end of the text, or if a value outgrows the limit.
  bool refill(const char*& keep) {
    if (on_refill_) on_refill_();
    const auto result = window_.refill(keep);
    p_ = keep;
    if (result == Window::Refill::kTooLarge) damage("a value is larger than the window limit");
    return result == Window::Refill::kMore;
  }

  /// Moves to the next byte that is no white space and returns it without passing it.
  int next() {
    for (;;) {
      Cursor cursor(p_, window_.end());
      const bool found = cursor.skip_space();
      p_ = cursor.at();
      if (found) return static_cast<unsigned char>(*p_);
      if (!refill(p_)) return kEndOfText;
    }
  }

  void skip_byte_order_mark() {
    static constexpr char kMark[] = "\xef\xbb\xbf";
    while (window_.end() - p_ < 3 && refill(p_)) {
    }
    if (window_.end() - p_ >= 3 && std::memcmp(p_, kMark, 3) == 0) p_ += 3;
  }

  /// "LE" or "BE" where the text is in units of 16 bits: by its mark, or a bracket that is one; else null.
  const char* utf16_order() {
    while (window_.end() - p_ < 2 && refill(p_)) {
    }
    if (window_.end() - p_ < 2) return nullptr;
    const auto bracket = [](char c) { return c == '{' || c == '['; };
    const auto first = static_cast<unsigned char>(p_[0]),
               second = static_cast<unsigned char>(p_[1]);
    if ((first == 0xff && second == 0xfe) || (bracket(p_[0]) && second == 0)) return "LE";
    if ((first == 0xfe && second == 0xff) || (first == 0 && bracket(p_[1]))) return "BE";
    return nullptr;
  }

  /// Lets `take` read from the cursor, again with more text as long as it asks for it.
  template <typename Take>
  bool whole(Take take, const char* cut_off) {
    for (;;) {
      Cursor cursor(p_, window_.end());
      const Scan scan = take(cursor);
      if (scan == Scan::kOk) {
        p_ = cursor.at();
        return true;
      }
      if (scan == Scan::kBad) {
        p_ = cursor.at();
        return damage(cursor.complaint());
      }
      if (!refill(p_)) return damage(cut_off);
    }
  }

  bool read_object() {
    ++p_;
    int c = next();
    if (c == '}') return ++p_, true;
    for (;;) {
      if (c != '"') {
        return c < 0 ? damage("the text ends inside the outer object")
                     : damage("expected a key, found " + quoted_byte(*p_));
      }
      if (!read_member()) return false;
      c = next();
      if (c == '}') return ++p_, true;
      if (c != ',') {
        return c < 0 ? damage("the text ends before the closing brace")
                     : damage("expected ',' or '}', found " + quoted_byte(*p_));
      }
      ++p_;
      c = next();
    }
  }

  bool read_member() {
    std::string key;
    const auto take_key = [&key](Cursor& cursor) {
      JsonSlice slice;
      if (cursor.read_string(slice)) key.assign(slice.text());
      return cursor.status();
    };
    if (!whole(take_key, "the text ends inside a key")) return false;
    if (out_.keys.size() < kMostKeys) out_.keys.push_back(key);
    const int colon = next();
    if (colon != ':') return damage("expected ':' after a key");
    ++p_;
    const int first = next();
    if (first < 0) return damage("the text ends before a value");
    if (key == "traceEvents" && first == '[') return read_events();
    if (!handler_.wants(key)) return skip_value();
    const auto take_value = [&](Cursor& cursor) {
      JsonSlice value;
      if (cursor.read_value(value)) handler_.on_value(key, value);
      return cursor.status();
    };
    return whole(take_value, "the text ends inside a value");
  }

  bool read_events() {
    ++p_;
    out_.has_events = true;
    int c = next();
    if (c == ']') return ++p_, true;
    for (;;) {
      if (c < 0) return damage("the text ends inside the event array");
      const auto take = [this](Cursor& cursor) { return handler_.on_row(cursor); };
      if (!whole(take, "the text ends inside a row")) return false;
      ++out_.rows;
      c = next();
      if (c == ',') {
        ++p_;
        c = next();
        if (c != ']') continue;  // a comma before the closing bracket is let pass
      }
      if (c == ']') return ++p_, true;
      return c < 0 ? damage("the text ends inside the event array")
                   : damage("expected ',' or ']' after a row, found " + quoted_byte(*p_));
    }
  }

  // Values nobody asked for may be of any size, so they are passed byte by byte and not held.
  bool skip_value() {
    int depth = 0;
    bool in_string = false, escaped = false;
    for (;; ++p_) {
      if (p_ == window_.end() && !refill(p_)) return damage("the text ends inside a value");
      const char c = *p_;
      if (in_string) {
        in_string = escaped || c != '"';
        escaped = !escaped && c == '\\';
        if (!in_string && depth == 0) return ++p_, true;
      } else if (c == '"') {
        in_string = true;
      } else if (c == '{' || c == '[') {
        if (++depth > kMaxDepth) return damage("nested deeper than 1024 levels");
      } else if (c == '}' || c == ']') {
        if (depth == 0) return true;  // the end of a number just before the outer object's
        if (--depth == 0) return ++p_, true;
      } else if (c == ',' && depth == 0) {
        return true;
      }
    }
  }

  void check_tail() {
    while (next() == 0) ++p_;  // zero padding
    if (p_ < window_.end()) out_.text_after = window_.offset(p_);
  }

  Window window_;
  DocumentHandler& handler_;
  const std::function<void()>& on_refill_;
  const char* p_;
  DocumentOutcome out_;
};

}  // namespace

Window::Window(ByteSource& source, const WindowOptions& options)
    : source_(source),
      buffer_(std::max(options.bytes, kLeastWindow) + kPadding, 0),
      limit_bytes_(std::max(options.limit_bytes, options.bytes)) {}

Window::Refill Window::refill(const char*& keep) {
  const auto shift = static_cast<std::size_t>(keep - buffer_.data());
  const std::size_t kept = used_ - shift;
  std::size_t room = buffer_.size() - kPadding;
  if (kept > room / 2) {  // one value fills most of the window: grow, or rescanning turns quadratic
    if (kept >= limit_bytes_) return Refill::kTooLarge;
    room = std::min(std::max(room * 2, kept + kLeastWindow), limit_bytes_ + kLeastWindow);
    if (shift > 0) std::memmove(buffer_.data(), keep, kept);
    buffer_.resize(room + kPadding);
  } else if (shift > 0) {
    std::memmove(buffer_.data(), keep, kept);
  }
  dropped_ += shift;
  used_ = kept;
  const std::size_t got = source_.read(buffer_.data() + used_, room - used_);
  used_ += got;
  std::memset(buffer_.data() + used_, 0, kPadding);
  keep = buffer_.data();
  return got > 0 ? Refill::kMore : Refill::kEnd;
}

std::uint64_t Window::drain() {
  // What is no JSON any more may go on for ever: a pipe whose writer does.
  constexpr std::uint64_t kMost = std::uint64_t{1} << 30;
  const std::uint64_t read = dropped_ + used_;
  std::uint64_t rest = 0;
  while (rest < kMost) {
    const std::size_t got = source_.read(buffer_.data(), buffer_.size());
    if (got == 0) break;
    rest += got;
  }
  return read + rest;
}

DocumentOutcome read_document(ByteSource& source, DocumentHandler& handler,
                              const WindowOptions& options,
                              const std::function<void()>& on_refill) {
  return DocumentReader(source, handler, options, on_refill).run();
}

}  // namespace flopcast::trace
