// The structure of a shell script. A script that is cut off or wrong is read as far as it goes.
#include <algorithm>
#include <array>
#include <utility>

#include "parallel/shell/syntax.h"

namespace flopcast::parallel {
namespace {

using Node = ShellNode;
using NodePtr = std::shared_ptr<ShellNode>;
using Kind = ShellNode::Kind;

constexpr int kDeepestNesting = 64;

class Parser {
 public:
  explicit Parser(std::string_view text) : lexer_(text) { step(); }

  NodePtr script() {
    NodePtr all = make(Kind::kSequence);
    while (token_.kind != ShellLexer::Kind::kEnd) {
      all->children.push_back(sequence({}));
      if (token_.kind != ShellLexer::Kind::kEnd) step();  // a word that closes nothing
    }
    return all;
  }

 private:
  using Words = std::initializer_list<std::string_view>;

  static NodePtr make(Kind kind) {
    NodePtr node = std::make_shared<Node>();
    node->kind = kind;
    return node;
  }
  void step() {
    if (!stopped_) token_ = lexer_.next();
  }
  /// Nothing deeper is read, nor anything behind it.
  void stop() {
    stopped_ = true;
    token_ = {};
  }
  bool at_word(std::string_view text) const {
    return token_.kind == ShellLexer::Kind::kWord && token_.text == text;
  }
  bool at_sign(std::string_view text) const {
    return token_.kind == ShellLexer::Kind::kSign && token_.text == text;
  }
  bool at_any(Words ends) const {
    return std::any_of(ends.begin(), ends.end(),
                       [&](std::string_view end) { return at_word(end) || at_sign(end); });
  }
  void take(std::string_view text) {
    if (at_word(text) || at_sign(text)) step();
  }
  void skip_newlines() {
    while (token_.kind == ShellLexer::Kind::kNewline || at_sign(";")) step();
  }

  /// Commands up to one of the words, or to one that closes something else.
  NodePtr sequence(Words ends) {
    NodePtr node = make(Kind::kSequence);
    if (++depth_ > kDeepestNesting) stop();
    while (true) {
      while (token_.kind == ShellLexer::Kind::kNewline || at_sign(";") || at_sign("&")) step();
      if (token_.kind == ShellLexer::Kind::kEnd || at_any(ends) || closes()) break;
      node->children.push_back(chain());
    }
    --depth_;
    return node;
  }
  bool closes() const {
    return at_any(
        {"fi", "done", "esac", "then", "else", "elif", "do", "}", ")", ";;", ";&", ";;&"});
  }

  NodePtr chain() {
    NodePtr first = pipe();
    if (!at_sign("&&") && !at_sign("||")) return first;
    NodePtr node = make(Kind::kChain);
    node->children.push_back(std::move(first));
    while (at_sign("&&") || at_sign("||")) {
      node->operators += token_.text[0];
      step();
      while (token_.kind == ShellLexer::Kind::kNewline) step();
      node->children.push_back(pipe());
    }
    return node;
  }

  NodePtr pipe() {
    if (at_word("!")) {
      step();
      NodePtr node = make(Kind::kNot);
      if (++depth_ > kDeepestNesting) stop();
      node->children.push_back(pipe());
      --depth_;
      return node;
    }
    NodePtr first = command();
    if (!at_sign("|") && !at_sign("|&")) return first;
    NodePtr node = make(Kind::kPipe);
    node->children.push_back(std::move(first));
    while (at_sign("|") || at_sign("|&")) {
      step();
      while (token_.kind == ShellLexer::Kind::kNewline) step();
      node->children.push_back(command());
    }
    return node;
  }

  NodePtr command() {
    NodePtr node = compound();
    if (!node) return simple();
    while (redirect(*node)) {
    }
    return node;
  }

  NodePtr compound() {
    if (at_word("if")) return branches();
    if (at_word("for") || at_word("select")) return loop_over();
    if (at_word("while") || at_word("until")) return loop();
    if (at_word("case")) return choices();
    if (at_word("function")) {
      step();
      return function(std::exchange(token_.text, {}));
    }
    if (at_word("{")) return group("}");
    if (at_sign("(")) return group(")");
    if (at_sign("((")) {
      NodePtr node = make(Kind::kCommand);
      node->words = {"((", lexer_.arithmetic()};
      step();
      return node;
    }
    return nullptr;
  }

  NodePtr group(std::string_view end) {
    step();
    NodePtr node = sequence({end});
    take(end);
    return node;
  }

  NodePtr branches() {
    NodePtr node = make(Kind::kIf);
    do {
      step();  // if, elif
      node->children.push_back(sequence({"then"}));
      take("then");
      node->children.push_back(sequence({"elif", "else", "fi"}));
    } while (at_word("elif"));
    if (at_word("else")) {
      step();
      node->children.push_back(sequence({"fi"}));
    }
    take("fi");
    return node;
  }

  NodePtr body() {
    skip_newlines();
    if (at_word("{")) return group("}");
    take("do");
    NodePtr node = sequence({"done"});
    take("done");
    return node;
  }

  NodePtr loop_over() {
    NodePtr node = make(Kind::kFor);
    step();
    if (at_sign("((")) {  // for ((i = 0; ...)): once
      lexer_.arithmetic();
      step();
      node->words = {"_", "1"};
    } else if (token_.kind == ShellLexer::Kind::kWord) {
      node->words.push_back(token_.text);
      step();
      if (at_word("in")) step();
      while (token_.kind == ShellLexer::Kind::kWord) {
        node->words.push_back(token_.text);
        step();
      }
    }
    node->children.push_back(body());
    return node;
  }

  NodePtr loop() {
    NodePtr node = make(Kind::kWhile);
    step();
    node->children.push_back(sequence({"do"}));
    node->children.push_back(body());
    return node;
  }

  NodePtr choices() {
    NodePtr node = make(Kind::kCase);
    step();
    node->words.push_back(token_.text);
    step();
    skip_newlines();
    take("in");
    skip_newlines();
    while (token_.kind != ShellLexer::Kind::kEnd && !at_word("esac")) {
      take("(");
      std::vector<std::string> patterns;
      while (token_.kind != ShellLexer::Kind::kEnd && !at_sign(")")) {
        if (token_.kind == ShellLexer::Kind::kWord) patterns.push_back(token_.text);
        step();
      }
      take(")");
      node->patterns.push_back(std::move(patterns));
      node->children.push_back(sequence({";;", "esac"}));
      while (at_any({";;", ";&", ";;&"}) || token_.kind == ShellLexer::Kind::kNewline) step();
      if (closes() && !at_word("esac")) step();  // a word that closes nothing here
    }
    take("esac");
    return node;
  }

  NodePtr function(std::string name) {
    NodePtr node = make(Kind::kFunction);
    node->words.push_back(std::move(name));
    if (++depth_ > kDeepestNesting) {  // a() b() c() ...
      stop();
      return make(Kind::kSequence);
    }
    step();
    if (at_sign("(")) step();
    take(")");
    while (token_.kind == ShellLexer::Kind::kNewline) step();
    node->children.push_back(at_sign("(") ? group(")") : at_word("{") ? group("}") : simple());
    --depth_;
    return node;
  }

  NodePtr simple() {
    NodePtr node = make(Kind::kCommand);
    if (at_word("[[")) return test();
    while (true) {
      if (redirect(*node)) continue;
      if (token_.kind != ShellLexer::Kind::kWord) break;
      std::string word = std::exchange(token_.text, {});
      step();
      if (node->words.empty() && at_sign("(") && assigned_name(word).empty()) {
        return function(std::move(word));
      }
      node->words.push_back(std::move(word));
    }
    // Something stands here that begins no command: leave it out.
    if (node->words.empty() && node->redirects.empty() && !closes()) step();
    return node;
  }

  /// Between [[ and ]], signs are words.
  NodePtr test() {
    NodePtr node = make(Kind::kCommand);
    while (token_.kind != ShellLexer::Kind::kEnd) {
      const bool last = at_word("]]");
      if (token_.kind != ShellLexer::Kind::kNewline) node->words.push_back(token_.text);
      step();
      if (last) break;
    }
    return node;
  }

  bool redirect(Node& node) {
    constexpr std::array<std::string_view, 10> kSigns = {">",  ">>", "<",  "<<<", "<<",
                                                         "&>", ">&", ">|", "<&",  "&>>"};
    if (token_.kind != ShellLexer::Kind::kSign ||
        std::find(kSigns.begin(), kSigns.end(), token_.text) == kSigns.end()) {
      return false;
    }
    Redirect to{token_.text, {}, token_.document};
    step();
    if (!to.document && token_.kind == ShellLexer::Kind::kWord) {
      to.word = token_.text;
      step();
    }
    node.redirects.push_back(std::move(to));
    return true;
  }

  ShellLexer lexer_;
  ShellLexer::Token token_;
  int depth_ = 0;
  bool stopped_ = false;
};

}  // namespace

NodePtr parse_shell(std::string_view text) { return Parser(text).script(); }

}  // namespace flopcast::parallel
