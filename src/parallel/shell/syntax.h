// The syntax of a shell script: commands and what holds them together. Nothing is expanded here: words
// are as they are written, quotes included.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace flopcast::parallel {

/// The body of `<<WORD`.
struct HereDocument {
  std::string delimiter, body;
  bool quoted = false;  ///< nothing in it is expanded
  bool indented = false;
};

struct Redirect {
  std::string sign;  ///< ">", ">>", "<", "<<<"; of a here-document "<<"
  std::string word;
  std::shared_ptr<HereDocument> document;
};

struct ShellNode {
  enum class Kind : std::uint8_t {
    kCommand,   ///< words, redirects
    kSequence,  ///< children, one after the other
    kChain,     ///< children, joined by `operators`: '&' and '|' for && and ||
    kNot,       ///< one child
    kPipe,      ///< children
    kIf,        ///< condition, body, condition, body, ..., perhaps a last body
    kFor,       ///< words: the name and its values; a body
    kWhile,     ///< condition, body
    kCase,      ///< words: the subject; a body for each of `patterns`
    kFunction,  ///< words: the name; a body
  };
  Kind kind = Kind::kCommand;
  std::vector<std::string> words;
  std::vector<Redirect> redirects;
  std::vector<std::shared_ptr<ShellNode>> children;
  std::string operators;
  std::vector<std::vector<std::string>> patterns;
};

/// Unknown values are names between these two characters, which scripts do not hold; what lies between
/// them means nothing to a shell.
inline constexpr char kUnknownBegin = '\x01', kUnknownEnd = '\x02';
/// Behind the unknown value that begins at `at`.
std::size_t behind_unknown(std::string_view text, std::size_t at);

/// Cuts a script into words and signs.
class ShellLexer {
 public:
  enum class Kind : std::uint8_t { kWord, kSign, kNewline, kEnd };
  struct Token {
    Kind kind = Kind::kEnd;
    std::string text;
    std::shared_ptr<HereDocument> document;  ///< of the sign "<<"
  };

  explicit ShellLexer(std::string_view text) : text_(text) {}

  Token next();
  /// The text up to the "))" that closes what "((" opened, which was just read.
  std::string arithmetic();

 private:
  void skip_blanks();
  Token sign();
  Token document();
  std::string word();
  std::size_t behind_placeholder() const;
  void read_documents();
  bool at(std::string_view what) const { return text_.substr(at_).starts_with(what); }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<std::shared_ptr<HereDocument>> pending_;
};

/// Behind the quote, bracket or brace that opens at `at` in the text; the end where it stays open.
/// @pre text[at] is one of " ' ` ( {, or '$' before ( or {
std::size_t behind_quoted(std::string_view text, std::size_t at, int depth = 0);
/// A word without its quotes and escapes.
std::string unquoted(std::string_view word);
/// "NAME" of "NAME=...", "NAME+=..." and "NAME[..]=..."; empty: the word is no assignment.
std::string_view assigned_name(std::string_view word);

/// The script as a sequence. What cannot be read is left out.
std::shared_ptr<ShellNode> parse_shell(std::string_view text);

}  // namespace flopcast::parallel
