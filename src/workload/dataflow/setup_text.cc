#include "workload/dataflow/setup_text.h"

#include <fmt/format.h>

#include <cctype>
#include <optional>

namespace flopcast::workload::dataflow {
namespace {

constexpr int kDeepest = 32;

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '+' ||
         c == '-';
}

class Parser {
 public:
  Parser(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  Result<SetupMessage> parse() {
    SetupMessage message;
    fields(message, '\0', 0);
    if (error_) return std::move(*error_);
    return message;
  }

 private:
  /// The next character that counts; 0 at the end.
  char next() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (c == '\n') {
        ++line_;
        ++at_;
      } else if (c == ' ' || c == '\t' || c == '\r') {
        ++at_;
      } else {
        return c;
      }
    }
    return '\0';
  }

  bool take(char wanted) {
    if (next() != wanted || at_ == text_.size()) return false;
    ++at_;
    return true;
  }

  bool fail(std::string what) {
    if (!error_) {
      error_ =
          Diagnostic{ErrorCode::kBadInput, fmt::format("{}:{}", where_, line_), std::move(what),
                     "the format is protobuf text: name: value, name { ... }"};
    }
    return false;
  }

  std::string word() {
    const std::size_t from = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    return std::string(text_.substr(from, at_ - from));
  }

  bool quoted(char quote, std::string& out) {
    for (++at_; at_ < text_.size() && text_[at_] != '\n'; ++at_) {
      if (text_[at_] == quote) return ++at_, true;
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      out += text_[at_];
    }
    return fail("a string does not end on its line");
  }

  bool scalar(SetupField& field) {
    const char first = next();
    if (first == '"' || first == '\'') {
      while (next() == '"' || next() == '\'') {  // pieces side by side are one string
        if (!quoted(text_[at_], field.value)) return false;
      }
      return true;
    }
    field.value = word();
    return !field.value.empty() || fail(fmt::format("'{}' has no value", field.name));
  }

  bool value(SetupField& field, int depth) {
    const char first = next();
    if (first != '{' && first != '<') return scalar(field);
    ++at_;
    field.messages.emplace_back();
    return fields(field.messages.back(), first == '{' ? '}' : '>', depth + 1);
  }

  /// "[1, 2]": as many fields of one name.
  bool list(const SetupField& field, SetupMessage& message, int depth) {
    if (take(']')) return true;
    do {
      SetupField element = field;
      if (!value(element, depth)) return false;
      message.fields.push_back(std::move(element));
    } while (take(','));
    return take(']') || fail(fmt::format("the list '{}' does not end", field.name));
  }

  bool fields(SetupMessage& message, char end, int depth) {
    if (depth > kDeepest) return fail("messages are nested too deeply");
    for (;;) {
      const char first = next();
      if (at_ == text_.size()) return end == '\0' || fail(fmt::format("'{}' is missing", end));
      if (end != '\0' && first == end) return ++at_, true;
      if (!is_word(first))
        return fail(fmt::format("expected a field, found '{}'", printable(first)));
      SetupField field{.name = word(), .line = line_, .value = {}, .messages = {}};
      const bool colon = take(':');
      if (!colon && next() != '{' && next() != '<') {
        return fail(fmt::format("'{}' needs a value", field.name));
      }
      if (take('[')) {
        if (!list(field, message, depth)) return false;
      } else {
        if (!value(field, depth)) return false;
        message.fields.push_back(std::move(field));
      }
      if (!take(',')) take(';');
    }
  }

  static std::string printable(char c) {
    return std::isprint(static_cast<unsigned char>(c)) != 0
               ? std::string(1, c)
               : fmt::format("0x{:02x}", static_cast<unsigned char>(c));
  }

  std::string_view text_;
  const std::string& where_;
  std::size_t at_ = 0, line_ = 1;
  std::optional<Diagnostic> error_;
};

}  // namespace

Result<SetupMessage> parse_setup_text(std::string_view text, const std::string& where) {
  return Parser(text, where).parse();
}

}  // namespace flopcast::workload::dataflow
