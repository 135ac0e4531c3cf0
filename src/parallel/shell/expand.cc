// Words of a shell script, expanded: quotes, variables, arrays, substitutions.
#include <algorithm>
#include <cctype>
#include <optional>

#include "base/text/names.h"
#include "base/text/numbers.h"
#include "parallel/shell/state.h"

namespace flopcast::parallel {
namespace {

bool starts_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool in_name(char c) { return starts_name(c) || std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

std::string joined(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : " ") + item;
  return text;
}

/// The value of a parameter: its items, or none where it is not set.
std::optional<std::vector<std::string>> values_of(const ShellState& state, std::string_view name) {
  if (name == "@" || name == "*") return state.arguments;
  if (name == "#") return std::vector{std::to_string(state.arguments.size())};
  if (name == "?") return std::vector<std::string>{"0"};
  if (!name.empty() && is_digit(name[0])) {
    const auto number = parse_whole<std::size_t>(name);
    if (!number || *number == 0 || *number > state.arguments.size()) return std::nullopt;
    return std::vector{state.arguments[*number - 1]};
  }
  const ShellVariable* variable = state.find(name);
  if (variable == nullptr) return std::nullopt;
  return variable->items;
}

/// The next place behind `at` where one of these characters stands; the end where none does.
std::size_t next_of(std::string_view characters, std::string_view text, std::size_t at) {
  return std::min(text.find_first_of(characters, at + 1), text.size());
}

/// The longest or shortest end (or beginning) of the text that has the form is cut off.
std::string without(std::string_view text, std::string_view pattern, bool front, bool longest) {
  constexpr std::size_t kMost = 1024;  // cubic beyond
  if (text.size() > kMost) return std::string(text);
  const std::size_t count = text.size() + 1;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t length = longest ? text.size() - i : i;
    if (front && matches(text.substr(0, length), pattern)) return std::string(text.substr(length));
    const std::size_t kept = text.size() - length;
    if (!front && matches(text.substr(kept), pattern)) return std::string(text.substr(0, kept));
  }
  return std::string(text);
}

/// The inside of $'...'.
std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '\\' && i + 1 < text.size();
    if (escape) ++i;
    plain += !escape ? text[i] : text[i] == 'n' ? '\n' : text[i] == 't' ? '\t' : text[i];
  }
  return plain;
}

std::string replaced(std::string text, std::string_view what, std::string_view by, bool all) {
  if (what.empty()) return text;
  std::string out;
  std::size_t at = 0;
  while (true) {
    const std::size_t found = text.find(what, at);
    if (found == std::string::npos || out.size() > ShellState::kMostBytes) break;
    out.append(text, at, found - at).append(by);
    at = found + what.size();
    if (!all) break;
  }
  return out.append(text, at);
}

class Expander {
 public:
  /// @param split whether blanks of unquoted values end a field
  Expander(ShellState& state, bool split) : state_(state), split_(split) {}

  std::vector<std::string> fields(std::string_view raw) {
    ++state_.depth;
    state_.spend(raw.size());
    if (state_.depth > ShellState::kDeepest) {
      text(raw, true);
    } else {
      read(raw);
    }
    --state_.depth;
    close();
    return std::move(fields_);
  }

  /// Inside quotes, and in here-documents (where quotes are plain characters).
  void quoted(std::string_view raw, bool document) {
    for (std::size_t i = 0; i < raw.size();) {
      const char c = raw[i];
      if (c == '\\' && i + 1 < raw.size()) {
        const char next = raw[i + 1];
        if (next == '\r' && i + 2 < raw.size() && raw[i + 2] == '\n') {
          i += 3;
          continue;
        }
        const bool escapes =
            next == '$' || next == '`' || next == '\\' || (next == '"' && !document);
        if (!escapes && next != '\n') text(raw.substr(i, 1), true);
        if (next != '\n') text(raw.substr(i + 1, 1), true);
        i += 2;
      } else if (c == '$' || c == '`') {
        i = substitute(raw, i, true);
      } else {
        const std::size_t end =
            c == kUnknownBegin ? behind_unknown(raw, i) : next_of("\\$`\x01", raw, i);
        text(raw.substr(i, end - i), true);
        i = end;
      }
    }
  }

  std::vector<std::string> take() {
    close();
    return std::move(fields_);
  }

 private:
  void read(std::string_view raw) {
    for (std::size_t i = 0; i < raw.size();) {
      const char c = raw[i];
      if (c == '\'') {
        const std::size_t end = behind_quoted(raw, i);
        text(raw.substr(i + 1, end - i - (end <= raw.size() && raw[end - 1] == '\'' ? 2 : 1)),
             true);
        i = end;
      } else if (c == '"') {
        const std::size_t end = behind_quoted(raw, i);
        const bool closed = end > i + 1 && raw[end - 1] == '"';
        open_ = true;
        quoted(raw.substr(i + 1, end - i - (closed ? 2 : 1)), false);
        i = end;
      } else if (c == '\\') {
        const bool line = i + 1 < raw.size() && (raw[i + 1] == '\n' || raw[i + 1] == '\r');
        if (!line && i + 1 < raw.size()) text(raw.substr(i + 1, 1), true);
        i = std::min(i + 2, raw.size());
      } else if (c == '$' && i + 1 < raw.size() && raw[i + 1] == '\'') {
        const std::size_t end = behind_quoted(raw, i + 1);
        const std::size_t closed = end > i + 2 && raw[end - 1] == '\'' ? 1 : 0;
        text(unescaped(raw.substr(i + 2, end - i - 2 - closed)), true);
        i = end;
      } else if (c == '$' || c == '`') {
        i = substitute(raw, i, false);
      } else {
        const std::size_t end =
            c == kUnknownBegin ? behind_unknown(raw, i) : next_of("'\"\\$`\x01", raw, i);
        text(raw.substr(i, end - i), true);
        i = end;
      }
    }
  }

  /// Adds to the field that is open. @param whole blanks are characters like others
  void text(std::string_view what, bool whole) {
    if (!state_.spend(what.size())) return;
    if (whole || !split_) {
      field_ += what;
      open_ = true;
      return;
    }
    bool inside = false;
    for (const char c : what) {
      if (c == kUnknownBegin) inside = true;
      if (c == kUnknownEnd) inside = false;
      const bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
      if (blank && !inside) {
        close();
      } else {
        field_ += c;
        open_ = true;
      }
    }
  }
  void close() {
    if (open_) fields_.push_back(std::move(field_));
    field_.clear();
    open_ = false;
  }

  /// Adds a value. Items of "${A[@]}" are fields of their own.
  void value(const std::vector<std::string>& items, bool in_quotes, bool apart) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0 && split_ && (apart || !in_quotes)) close();
      if (i > 0 && (!split_ || (in_quotes && !apart))) text(" ", true);
      text(items[i], in_quotes);
    }
  }

  /// What begins with '$' or '`' at `i`; the place behind it.
  std::size_t substitute(std::string_view raw, std::size_t i, bool in_quotes) {
    if (raw[i] == '`' || raw.substr(i).starts_with("$(")) {
      const std::size_t end = behind_quoted(raw, i);
      const std::size_t skipped = raw[i] == '`' ? 1 : 2;
      const std::size_t length = end - i < skipped + 1 ? 0 : end - i - skipped - 1;
      const std::string_view inside = raw.substr(std::min(i + skipped, raw.size()), length);
      if (raw[i] == '$' && inside.starts_with('(') && inside.ends_with(')')) {
        text(arithmetic(state_, inside.substr(1, inside.size() - 2)), in_quotes);
      } else {
        text(output_of(inside), in_quotes);
      }
      return end;
    }
    if (raw.substr(i).starts_with("${")) {
      const std::size_t end = behind_quoted(raw, i);
      const bool closed = raw[end - 1] == '}' && end > i + 2;
      parameter(raw.substr(i + 2, end - i - (closed ? 3 : 2)), in_quotes);
      return end;
    }
    std::size_t end = i + 1;
    if (end < raw.size() && starts_name(raw[end])) {
      while (end < raw.size() && in_name(raw[end])) ++end;
    } else if (end < raw.size() && (is_digit(raw[end]) || raw[end] == '@' || raw[end] == '*' ||
                                    raw[end] == '#' || raw[end] == '?')) {
      ++end;
    } else {
      text(raw.substr(i, 1), true);
      return end;
    }
    plain(raw.substr(i + 1, end - i - 1), in_quotes);
    return end;
  }

  void plain(std::string_view name, bool in_quotes) {
    const auto values = values_of(state_, name);
    if (!values) return text(unknown_value(name), in_quotes);
    const ShellVariable* variable = state_.find(name);
    const bool first = variable != nullptr && variable->array;  // $A is ${A[0]}
    value(first && values->size() > 1 ? std::vector{values->front()} : *values, in_quotes,
          name == "@");
  }

  /// The inside of ${...}.
  void parameter(std::string_view inside, bool in_quotes) {
    const bool count = inside.size() > 1 && inside[0] == '#';
    if (count || (inside.size() > 1 && inside[0] == '!')) inside.remove_prefix(1);
    std::size_t end = 0;
    while (end < inside.size() && in_name(inside[end])) ++end;
    if (end == 0 && !inside.empty()) end = 1;  // @ * # ?
    const std::string_view name = inside.substr(0, end);
    std::string_view rest = inside.substr(end);
    auto values = values_of(state_, name);
    bool all = name == "@", list = name == "@" || name == "*";
    if (rest.starts_with('[')) {
      const std::size_t close = std::min(rest.find(']'), rest.size() - 1);
      const std::string_view place = rest.substr(1, close - 1);
      rest.remove_prefix(close + 1);
      all = place == "@";
      list = all || place == "*";
      if (values && !list) values = item(*values, place);
    } else if (const ShellVariable* variable = state_.find(name);
               variable != nullptr && variable->array && values && values->size() > 1 && !count) {
      values->resize(1);
    }
    if (count) {
      const std::size_t size = !values ? 0 : list ? values->size() : joined(*values).size();
      return text(std::to_string(size), in_quotes);
    }
    operate(name, std::move(values), rest, in_quotes, all);
  }

  std::optional<std::vector<std::string>> item(const std::vector<std::string>& values,
                                               std::string_view place) {
    const auto number = parse_whole<std::size_t>(arithmetic(state_, place));
    if (!number || *number >= values.size()) return std::nullopt;
    return std::vector{values[*number]};
  }

  void operate(std::string_view name, std::optional<std::vector<std::string>> values,
               std::string_view rest, bool in_quotes, bool all) {
    const bool colon = rest.starts_with(':');
    const std::string_view sign = rest.substr(colon ? 1 : 0, 1);
    const bool empty = !values || (colon && joined(*values).empty());
    if (sign == "+") {
      if (!empty) otherwise(rest.substr(colon ? 2 : 1), in_quotes);
      return;
    }
    if (empty && (sign == "-" || sign == "=")) {
      const std::string_view word = rest.substr(colon ? 2 : 1);
      if (sign == "=") state_.set(name, {expand_text(state_, word)}, false);
      return otherwise(word, in_quotes);
    }
    if (!values) return text(unknown_value(name), in_quotes);
    if (rest.empty() || sign == "-" || sign == "=" || sign == "?") {
      return value(*values, in_quotes, all);
    }
    if (all && colon) return value(slice(*values, rest.substr(1)), in_quotes, all);
    for (std::string& one : *values) one = changed(std::move(one), rest);
    value(*values, in_quotes, all);
  }

  /// The word of ${NAME:-word}.
  void otherwise(std::string_view word, bool in_quotes) {
    if (in_quotes) return text(expand_text(state_, word), true);
    if (state_.depth > ShellState::kDeepest) return;
    ++state_.depth;
    Expander inner(state_, split_);
    const std::vector<std::string> fields = inner.fields(word);
    --state_.depth;
    value(fields, !split_, true);
  }

  std::vector<std::string> slice(const std::vector<std::string>& values, std::string_view range) {
    const std::size_t colon = range.find(':');
    const auto from = parse_whole(arithmetic(state_, range.substr(0, colon)));
    const auto count = colon == std::string_view::npos
                           ? std::optional<std::int64_t>(INT64_MAX)
                           : parse_whole(arithmetic(state_, range.substr(colon + 1)));
    // ${@:2} counts arguments from 1, ${A[@]:2} items from 0: $0 is no argument here.
    std::vector<std::string> kept;
    for (std::size_t i = 0; from && count && *from >= 0 && i < values.size(); ++i) {
      const auto place = static_cast<std::int64_t>(i) - *from;
      if (place >= 0 && place < *count) kept.push_back(values[i]);
    }
    return kept;
  }

  /// % %% # ## / // ^^ ,, and :offset:length.
  std::string changed(std::string one, std::string_view rest) {
    const bool twice = rest.size() > 1 && rest[1] == rest[0];
    if (rest[0] == '%' || rest[0] == '#') {
      state_.spend(one.size() * one.size() / 16);
      const std::string pattern = expand_text(state_, rest.substr(twice ? 2 : 1));
      return without(one, pattern, rest[0] == '#', twice);
    }
    if (rest[0] == '/') {
      const std::string_view both = rest.substr(twice ? 2 : 1);
      const std::size_t middle = both.find('/');
      const bool ends = middle == std::string_view::npos;
      return replaced(std::move(one), expand_text(state_, both.substr(0, middle)),
                      ends ? std::string() : expand_text(state_, both.substr(middle + 1)), twice);
    }
    if (rest[0] == ',' || rest[0] == '^') {
      for (std::size_t i = 0; i < (twice ? one.size() : std::min<std::size_t>(one.size(), 1));
           ++i) {
        const auto c = static_cast<unsigned char>(one[i]);
        one[i] = static_cast<char>(rest[0] == ',' ? std::tolower(c) : std::toupper(c));
      }
      return one;
    }
    if (rest[0] != ':') return one;
    const std::size_t colon = rest.find(':', 1);
    const auto from = parse_whole(trim(arithmetic(state_, rest.substr(1, colon - 1))));
    const auto length = colon == std::string_view::npos
                            ? std::optional<std::int64_t>(INT64_MAX)
                            : parse_whole(trim(arithmetic(state_, rest.substr(colon + 1))));
    const auto size = static_cast<std::int64_t>(one.size());
    if (!from || !length || *length < 0 || *from > size || *from < -size) return one;
    const auto begin = static_cast<std::size_t>(*from < 0 ? size + *from : *from);
    return one.substr(begin, static_cast<std::size_t>(std::min(*length, size)));
  }

  /// What a command prints, where that is known.
  std::string output_of(std::string_view command) {
    const bool counts = command.find("device_count()") != std::string_view::npos ||
                        (command.find("nvidia-smi") != std::string_view::npos &&
                         command.find("wc -l") != std::string_view::npos);
    if (counts && !state_.accelerators.empty()) return state_.accelerators;
    const std::string_view trimmed = trim(command);
    const bool echoes = trimmed.starts_with("echo ") || trimmed.starts_with("expr ");
    if (echoes && trimmed.find_first_of("|><;&`") == std::string_view::npos &&
        state_.depth < ShellState::kDeepest) {
      std::string words;
      Expander inner(state_, true);
      for (const std::string& raw : raw_words(trimmed.substr(5))) {
        for (const std::string& field : Expander(state_, true).fields(raw)) {
          words += (words.empty() ? "" : " ") + field;
        }
      }
      return trimmed.starts_with("echo") ? words : arithmetic(state_, words);
    }
    constexpr std::size_t kShown = 60;
    return unknown_value("$(" + std::string(trimmed.substr(0, kShown)) + ")");
  }

  static std::vector<std::string> raw_words(std::string_view text) {
    std::vector<std::string> words;
    ShellLexer lexer(text);
    for (auto token = lexer.next(); token.kind != ShellLexer::Kind::kEnd; token = lexer.next()) {
      if (token.kind == ShellLexer::Kind::kWord) words.push_back(token.text);
    }
    return words;
  }

  ShellState& state_;
  bool split_;
  std::vector<std::string> fields_;
  std::string field_;
  bool open_ = false;
};

}  // namespace

std::string unknown_value(std::string_view name) {
  std::string value(1, kUnknownBegin);
  for (const char c : name) {
    if (c != kUnknownBegin && c != kUnknownEnd) value += c;
  }
  return value += kUnknownEnd;
}

void ShellState::set(std::string_view name, std::vector<std::string> items, bool array) {
  const auto found = variables.find(name);
  const std::size_t number = found == variables.end() ? variables.size() : found->second.number;
  std::size_t size = 0;
  for (const std::string& item : items) size += item.size() + 1;
  if (spend(size)) variables[std::string(name)] = {std::move(items), array, number};
}

const ShellVariable* ShellState::find(std::string_view name) const {
  const auto found = variables.find(name);
  return found == variables.end() ? nullptr : &found->second;
}

std::vector<std::string> expand_word(ShellState& state, std::string_view raw) {
  return Expander(state, true).fields(raw);
}

std::string expand_text(ShellState& state, std::string_view raw) {
  return joined(Expander(state, false).fields(raw));
}

std::string expand_document(ShellState& state, std::string_view raw) {
  Expander expander(state, false);
  expander.quoted(raw, true);
  return joined(expander.take());
}

std::vector<std::string> expand_array(ShellState& state, std::string_view inside) {
  std::vector<std::string> items;
  ShellLexer lexer(inside);
  for (auto token = lexer.next(); token.kind != ShellLexer::Kind::kEnd; token = lexer.next()) {
    if (token.kind != ShellLexer::Kind::kWord || state.exhausted()) continue;
    for (std::string& field : expand_word(state, token.text)) items.push_back(std::move(field));
  }
  return items;
}

bool matches(std::string_view text, std::string_view pattern) {
  constexpr std::size_t kMost = 1'000'000;  // steps
  if (text.size() * pattern.size() > kMost) return text == pattern;
  std::size_t t = 0, p = 0, star = std::string_view::npos, mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool has_unknown(std::string_view word) {
  return word.find(kUnknownBegin) != std::string_view::npos;
}

std::string unknown_in(std::string_view word) {
  const std::size_t begin = word.find(kUnknownBegin);
  if (begin == std::string_view::npos) return {};
  return std::string(word.substr(begin + 1, word.find(kUnknownEnd, begin) - begin - 1));
}

std::string readable(std::string_view word) {
  std::string text;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const bool command = word.substr(i + 1).starts_with("$(");
    if (word[i] == kUnknownBegin && !command) text += '$';
    if (word[i] != kUnknownBegin && word[i] != kUnknownEnd) text += word[i];
  }
  return text;
}

std::vector<std::string> shell_words(std::string_view text) {
  std::vector<std::string> words;
  ShellLexer lexer(text);
  for (auto token = lexer.next(); token.kind != ShellLexer::Kind::kEnd; token = lexer.next()) {
    if (token.kind == ShellLexer::Kind::kWord) words.push_back(unquoted(token.text));
  }
  return words;
}

}  // namespace flopcast::parallel
