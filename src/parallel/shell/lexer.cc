// Words and signs of a shell script.
#include <algorithm>
#include <cctype>

#include "parallel/shell/syntax.h"

namespace flopcast::parallel {
namespace {

constexpr int kDeepestQuote = 48;  ///< quotes within substitutions within quotes

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool ends_word(char c) {
  return is_blank(c) || c == '\n' || std::string_view(";&|<>()").find(c) != std::string_view::npos;
}
bool is_name_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_name(char c) {
  return is_name_start(c) || std::isdigit(static_cast<unsigned char>(c)) != 0;
}

/// Whether a quote, or a substitution, opens here.
bool opens(std::string_view text, std::size_t at) {
  const char c = text[at];
  if (c == '"' || c == '\'' || c == '`') return true;
  return c == '$' && at + 1 < text.size() && (text[at + 1] == '(' || text[at + 1] == '{');
}

std::size_t behind_single(std::string_view text, std::size_t at) {
  const std::size_t end = text.find('\'', at + 1);
  return end == std::string_view::npos ? text.size() : end + 1;
}

/// Behind `close`, which may not stand in a nested quote.
std::size_t behind(std::string_view text, std::size_t at, char close, int depth) {
  const char open = close == ')' ? '(' : close == '}' ? '{' : '\0';
  const bool commented = close == ')';  // arrays and substitutions are scripts of their own
  int nested = 0;
  for (bool at_start = true; at < text.size();) {
    const char c = text[at];
    if (c == '\\' || c == kUnknownBegin) {
      at = c == '\\' ? std::min(at + 2, text.size()) : behind_unknown(text, at);
      at_start = false;
      continue;
    }
    if (commented && c == '#' && at_start) {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    at_start = is_blank(c) || c == '\n' || c == '(';
    if (c == close && nested == 0) return at + 1;
    const bool literal = close == '"' && c == '\'';
    if (!literal && opens(text, at) && c != close) {
      at = behind_quoted(text, at, depth + 1);
      continue;
    }
    if (c == open) ++nested;
    if (c == close) --nested;
    ++at;
  }
  return text.size();
}

}  // namespace

std::size_t behind_unknown(std::string_view text, std::size_t at) {
  const std::size_t end = text.find(kUnknownEnd, at);
  return end == std::string_view::npos ? text.size() : end + 1;
}

std::size_t behind_quoted(std::string_view text, std::size_t at, int depth) {
  if (depth > kDeepestQuote) return at + 1;
  const char c = text[at];
  if (c == '\'') return behind_single(text, at);
  if (c == '"' || c == '`') return behind(text, at + 1, c, depth);
  const std::size_t bracket = c == '$' ? at + 1 : at;
  return behind(text, bracket + 1, text[bracket] == '(' ? ')' : '}', depth);
}

std::string unquoted(std::string_view word) {
  std::string plain;
  char quote = 0;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const char c = word[i];
    if (c == kUnknownBegin) {
      const std::size_t end = behind_unknown(word, i);
      plain += word.substr(i, end - i);
      i = end - 1;
    } else if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == quote) {
      quote = 0;
    } else if (c == '\\' && quote != '\'' && i + 1 < word.size()) {
      plain += word[++i];
    } else {
      plain += c;
    }
  }
  return plain;
}

std::string_view assigned_name(std::string_view word) {
  if (word.empty() || !is_name_start(word[0])) return {};
  std::size_t end = 1;
  while (end < word.size() && is_name(word[end])) ++end;
  std::size_t sign = end;
  if (sign < word.size() && word[sign] == '[') {
    sign = word.find(']', sign);
    if (sign == std::string_view::npos) return {};
    ++sign;
  }
  if (sign < word.size() && word[sign] == '+') ++sign;
  return sign < word.size() && word[sign] == '=' ? word.substr(0, end) : std::string_view();
}

void ShellLexer::skip_blanks() {
  while (at_ < text_.size()) {
    if (is_blank(text_[at_])) {
      ++at_;
    } else if (at("\\\n")) {
      at_ += 2;
    } else if (at("\\\r\n")) {
      at_ += 3;
    } else if (text_[at_] == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else {
      return;
    }
  }
}

ShellLexer::Token ShellLexer::next() {
  skip_blanks();
  if (at_ >= text_.size()) return {};
  if (text_[at_] == '\n') {
    ++at_;
    read_documents();
    return {Kind::kNewline, "\n", nullptr};
  }
  if (ends_word(text_[at_])) return sign();
  std::string text = word();
  // "2>" and the like: the number is part of the sign.
  const bool number = text.size() == 1 && std::isdigit(static_cast<unsigned char>(text[0])) != 0;
  if (number && at_ < text_.size() && (text_[at_] == '>' || text_[at_] == '<')) return sign();
  return {Kind::kWord, std::move(text), nullptr};
}

/// "<PATH TO DATA>", which people are to replace: where it ends; 0: it is none.
std::size_t ShellLexer::behind_placeholder() const {
  constexpr std::size_t kLongest = 120;
  const std::string_view rest = text_.substr(at_, kLongest);
  const std::size_t end = rest.find_first_of(">\n\"'$`;|&()\\", 1);
  if (rest[0] != '<' || end == std::string_view::npos || rest[end] != '>') return 0;
  const bool tight = !is_blank(rest[1]) && rest[1] != '<' && !is_blank(rest[end - 1]) && end > 1;
  return tight ? at_ + end + 1 : 0;
}

ShellLexer::Token ShellLexer::sign() {
  if (const std::size_t end = behind_placeholder()) {
    std::string name(text_.substr(at_, end - at_));
    at_ = end;
    return {Kind::kWord, kUnknownBegin + std::move(name) + kUnknownEnd, nullptr};
  }
  for (const std::string_view known : {"&>>", "<<<", ";;&", "&&", "||", ";;", ";&", "&>", ">&",
                                       ">>", ">|", "<&", "<<", "|&", "((", "<(", ">("}) {
    if (!at(known)) continue;
    if (known == "<<") return document();
    if (known == "<(" || known == ">(") {  // a command as a file
      const std::size_t begin = at_;
      at_ = behind_quoted(text_, at_ + 1);
      return {Kind::kWord, std::string(text_.substr(begin, at_ - begin)), nullptr};
    }
    at_ += known.size();
    return {Kind::kSign, std::string(known), nullptr};
  }
  return {Kind::kSign, std::string(1, text_[at_++]), nullptr};
}

ShellLexer::Token ShellLexer::document() {
  at_ += 2;
  auto document = std::make_shared<HereDocument>();
  document->indented = at_ < text_.size() && text_[at_] == '-';
  if (document->indented) ++at_;
  skip_blanks();
  const std::string raw = word();
  document->delimiter = unquoted(raw);
  document->quoted = document->delimiter != raw;
  if (!document->delimiter.empty()) pending_.push_back(document);
  return {Kind::kSign, "<<", std::move(document)};
}

void ShellLexer::read_documents() {
  for (const std::shared_ptr<HereDocument>& document : pending_) {
    while (at_ < text_.size()) {
      const std::size_t end = std::min(text_.find('\n', at_), text_.size());
      std::string_view line = text_.substr(at_, end - at_);
      at_ = std::min(end + 1, text_.size());
      if (line.ends_with('\r')) line.remove_suffix(1);
      while (document->indented && line.starts_with('\t')) line.remove_prefix(1);
      if (line == document->delimiter) break;
      document->body.append(line).append("\n");
    }
  }
  pending_.clear();
}

std::string ShellLexer::word() {
  const std::size_t begin = at_;
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '\\') {
      at_ = std::min(at_ + 2, text_.size());
    } else if (c == kUnknownBegin) {
      at_ = behind_unknown(text_, at_);
    } else if (opens(text_, at_)) {
      at_ = behind_quoted(text_, at_);
    } else if (c == '(') {
      // NAME=( ... ) is an array; elsewhere a bracket ends the word.
      const std::string_view before = text_.substr(begin, at_ - begin);
      if (!before.ends_with('=') || assigned_name(before).empty()) break;
      at_ = behind_quoted(text_, at_);
    } else if (ends_word(c)) {
      break;
    } else {
      ++at_;
    }
  }
  return std::string(text_.substr(begin, at_ - begin));
}

std::string ShellLexer::arithmetic() {
  const std::size_t begin = at_;
  int nested = 0;
  for (; at_ < text_.size(); ++at_) {
    if (text_[at_] == '(') ++nested;
    if (text_[at_] == ')' && nested-- == 0) break;
  }
  const std::string inside(text_.substr(begin, at_ - begin));
  at_ = std::min(at_ + (at("))") ? 2 : 1), text_.size());
  return inside;
}

}  // namespace flopcast::parallel
