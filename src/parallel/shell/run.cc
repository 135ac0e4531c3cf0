// Runs a shell script without running anything: assignments, branches and functions count, programs are
// noted.
#include <algorithm>
#include <optional>

#include "base/text/names.h"
#include "base/text/numbers.h"
#include "parallel/shell/shell.h"
#include "parallel/shell/state.h"

namespace flopcast::parallel {
namespace {

using Kind = ShellNode::Kind;

/// Why a sequence of commands ends before its end.
enum class Flow : std::uint8_t { kOn, kBreak, kReturn, kExit };

class Interpreter {
 public:
  explicit Interpreter(const ShellInput& input) {
    for (const auto& [name, value] : input.variables) state_.set(name, {value}, false);
    state_.arguments = input.arguments;
    state_.accelerators = input.accelerators;
  }

  ShellRun run(std::string_view text) {
    run_text(text);
    out_.complete = !state_.exhausted();
    out_.files = std::move(state_.files);
    std::vector<std::pair<std::size_t, std::pair<std::string, std::string>>> ordered;
    for (const auto& [name, variable] : state_.variables) {
      std::string value;
      for (const std::string& item : variable.items) value += (value.empty() ? "" : " ") + item;
      ordered.push_back({variable.number, {name, std::move(value)}});
    }
    std::sort(ordered.begin(), ordered.end());
    for (auto& [number, variable] : ordered) out_.variables.push_back(std::move(variable));
    return std::move(out_);
  }

 private:
  void run_text(std::string_view text) {
    if (state_.depth >= ShellState::kDeepest || !state_.spend(text.size())) return;
    ++state_.depth;
    run_node(*parse_shell(text));
    --state_.depth;
  }

  Truth run_node(const ShellNode& node) {
    if (++state_.steps > ShellState::kMostSteps || state_.exhausted()) return Truth::kUnknown;
    if (++depth_ > kDeepest) {
      --depth_;
      return Truth::kUnknown;
    }
    const Truth truth = run_kind(node);
    --depth_;
    return truth;
  }

  Truth run_kind(const ShellNode& node) {
    switch (node.kind) {
      case Kind::kCommand:
        return run_command(node);
      case Kind::kSequence:
        return run_all(node);
      case Kind::kChain:
        return run_chain(node);
      case Kind::kNot:
        return negated(run_node(*node.children[0]));
      case Kind::kPipe:
        return run_all(node);
      case Kind::kIf:
        return run_branches(node);
      case Kind::kFor:
        return run_for(node);
      case Kind::kWhile:
        return run_while(node);
      case Kind::kCase:
        return run_case(node);
      case Kind::kFunction:
        state_.functions[node.words[0]] = node.children[0];
        return Truth::kTrue;
    }
    return Truth::kUnknown;
  }

  Truth run_all(const ShellNode& node) {
    Truth last = Truth::kTrue;
    for (const std::shared_ptr<ShellNode>& child : node.children) {
      last = run_node(*child);
      if (flow_ != Flow::kOn) break;
    }
    return last;
  }

  /// a && b || c: programs succeed, so `||` runs only behind what is known to fail.
  Truth run_chain(const ShellNode& node) {
    Truth last = run_node(*node.children[0]);
    for (std::size_t i = 1; i < node.children.size() && flow_ == Flow::kOn; ++i) {
      const bool and_then = node.operators[i - 1] == '&';
      if (and_then ? last == Truth::kTrue : last == Truth::kFalse) {
        last = run_node(*node.children[i]);
      }
    }
    return last;
  }

  /// Whether the condition is true; one that is not known is noted and taken as false.
  bool holds(const ShellNode& condition) {
    const Truth truth = run_node(condition);
    if (truth == Truth::kUnknown) note_undecided(condition);
    return truth == Truth::kTrue;
  }

  void note_undecided(const ShellNode& condition) {
    const ShellNode* node = &condition;
    while (!node->children.empty()) node = node->children.front().get();
    std::string words;
    for (const std::string& word : node->words) {
      if (word != "[" && word != "[[" && word != "]" && word != "]]" && word != "test") {
        words += (words.empty() ? "" : " ") + word;
      }
    }
    if (out_.undecided.size() < kMostNotes) out_.undecided.push_back(std::move(words));
  }

  Truth run_branches(const ShellNode& node) {
    ++branches_;
    Truth last = Truth::kTrue;
    const std::size_t count = node.children.size();
    std::size_t i = 0;
    for (; i + 1 < count; i += 2) {
      if (!holds(*node.children[i])) continue;
      last = run_node(*node.children[i + 1]);
      break;
    }
    if (i + 1 == count) last = run_node(*node.children[i]);  // else
    --branches_;
    return last;
  }

  Truth run_for(const ShellNode& node) {
    if (node.words.empty()) return Truth::kTrue;
    std::vector<std::string> values;
    for (std::size_t i = 1; i < node.words.size(); ++i) {
      for (std::string& field : expand_word(state_, node.words[i])) {
        values.push_back(std::move(field));
      }
    }
    for (const std::string& value : values) {
      state_.set(node.words[0], {value}, false);
      run_node(*node.children[0]);
      if (flow_ == Flow::kBreak) flow_ = Flow::kOn;
      if (flow_ != Flow::kOn || state_.exhausted()) break;
    }
    return Truth::kTrue;
  }

  /// As often as its condition holds; once where a program decides.
  Truth run_while(const ShellNode& node) {
    constexpr int kMostRounds = 1000;
    for (int i = 0; i < kMostRounds && !state_.exhausted(); ++i) {
      const std::size_t programs = out_.commands.size();
      if (!holds(*node.children[0])) break;
      run_node(*node.children[1]);
      if (flow_ == Flow::kBreak) {
        flow_ = Flow::kOn;
        break;
      }
      if (flow_ != Flow::kOn || out_.commands.size() > programs) break;
    }
    return Truth::kTrue;
  }

  Truth run_case(const ShellNode& node) {
    const std::string subject = expand_text(state_, node.words[0]);
    for (std::size_t i = 0; i < node.children.size(); ++i) {
      for (const std::string& raw : node.patterns[i]) {
        const std::string pattern = expand_text(state_, raw);
        if (!matches(subject, pattern) || (has_unknown(subject) && pattern != "*")) continue;
        if (has_unknown(subject) && out_.undecided.size() < kMostNotes) {
          out_.undecided.push_back("case " + node.words[0]);
        }
        return run_node(*node.children[i]);
      }
    }
    return Truth::kTrue;
  }

  Truth run_command(const ShellNode& node) {
    if (!node.words.empty() &&
        (node.words[0] == "[" || node.words[0] == "[[" || node.words[0] == "test")) {
      std::vector<std::string> words(node.words.begin() + 1, node.words.end());
      if (!words.empty() && (words.back() == "]" || words.back() == "]]")) words.pop_back();
      return test_words(state_, words, node.words[0] == "[[");
    }
    if (node.words.size() == 2 && node.words[0] == "((") return calculate(node.words[1]);
    std::size_t first = 0;
    while (first < node.words.size() && assign(node.words[first])) ++first;
    std::vector<std::string> words;
    for (std::size_t i = first; i < node.words.size(); ++i) {
      // export A=..., declare A=...: values of assignments are not split.
      if (!words.empty() && declares(words[0]) && !assigned_name(node.words[i]).empty()) {
        assign(node.words[i]);
        continue;
      }
      for (std::string& field : expand_word(state_, node.words[i])) {
        words.push_back(std::move(field));
      }
    }
    read_files(node, words);
    return words.empty() ? Truth::kTrue : run_program(std::move(words), node);
  }

  static bool declares(std::string_view word) {
    return word == "export" || word == "declare" || word == "local" || word == "readonly" ||
           word == "typeset";
  }

  /// NAME=value, NAME+=value, NAME=( ... ), NAME[i]=value.
  bool assign(std::string_view raw) {
    const std::string_view name = assigned_name(raw);
    if (name.empty()) return false;
    std::string_view rest = raw.substr(name.size());
    const bool indexed = rest.starts_with('[');
    std::string_view place;
    if (indexed) {
      place = rest.substr(1, rest.find(']') - 1);
      rest.remove_prefix(rest.find(']') + 1);
    }
    const bool adds = rest.starts_with('+');
    rest.remove_prefix(adds ? 2 : 1);
    const ShellVariable* old = state_.find(name);
    std::vector<std::string> items =
        old != nullptr && (adds || indexed) ? old->items : std::vector<std::string>();
    if (rest.starts_with('(')) {
      const std::size_t inside = rest.ends_with(')') ? rest.size() - 2 : rest.size() - 1;
      for (std::string& item : expand_array(state_, rest.substr(1, inside))) {
        items.push_back(std::move(item));
      }
      state_.set(name, std::move(items), true);
    } else if (indexed) {
      assign_item(name, std::move(items), place, expand_text(state_, rest), adds);
    } else {
      if (items.empty()) items.emplace_back();
      items.front() = (adds ? items.front() : std::string()) + expand_text(state_, rest);
      state_.set(name, std::move(items), old != nullptr && old->array && adds);
    }
    return true;
  }

  void assign_item(std::string_view name, std::vector<std::string> items, std::string_view place,
                   std::string value, bool adds) {
    constexpr std::size_t kMost = 1000;
    const auto number = parse_whole<std::size_t>(arithmetic(state_, place));
    if (!number || *number >= kMost) return;  // a table by words: nobody makes flags of one
    if (items.size() <= *number) items.resize(*number + 1);
    items[*number] = (adds ? items[*number] : std::string()) + value;
    state_.set(name, std::move(items), true);
  }

  /// (( ... )): its assignments and its truth.
  Truth calculate(std::string_view expression) {
    std::string_view text = trim(expression);
    std::size_t end = 0;
    while (end < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_')) {
      ++end;
    }
    const std::string name(text.substr(0, end));
    std::string_view rest = trim(text.substr(end));
    if (end > 0 && (rest == "++" || rest == "--")) {
      state_.set(name, {arithmetic(state_, name + rest[0] + "1")}, false);
      return Truth::kTrue;
    }
    const bool adds = rest.size() > 1 && rest[1] == '=' &&
                      std::string_view("+-*/").find(rest[0]) != std::string_view::npos;
    if (end > 0 && (adds || (rest.starts_with('=') && !rest.starts_with("==")))) {
      std::string value(rest.substr(adds ? 2 : 1));
      if (adds) value = name + rest[0] + "(" + value + ")";
      state_.set(name, {arithmetic(state_, value)}, false);
      return Truth::kTrue;
    }
    const std::string value = arithmetic(state_, expression);
    if (has_unknown(value)) return Truth::kUnknown;
    return value == "0" ? Truth::kFalse : Truth::kTrue;
  }

  /// Here-documents: what is written where, and what `read` takes.
  void read_files(const ShellNode& node, const std::vector<std::string>& words) {
    std::string target;
    bool appends = false;
    for (const Redirect& redirect : node.redirects) {
      if (redirect.sign != ">" && redirect.sign != ">>" && redirect.sign != ">|") continue;
      target = expand_text(state_, redirect.word);
      appends = redirect.sign == ">>";
    }
    std::string text;
    for (const Redirect& redirect : node.redirects) {
      if (!redirect.document) continue;
      const HereDocument& document = *redirect.document;
      text = document.quoted ? document.body : expand_document(state_, document.body);
    }
    const bool prints = !words.empty() && (words[0] == "echo" || words[0] == "printf");
    if (text.empty() && prints && !target.empty()) {
      for (std::size_t i = 1; i < words.size(); ++i) {
        if (words[i] != "-e" && words[i] != "-n") text += (text.empty() ? "" : " ") + words[i];
      }
      text += '\n';
    }
    if (text.empty()) return;
    if (!words.empty() && words[0] == "read") return read_into(words, std::move(text));
    if (target.empty() && words.size() > 1 && words[0] == "tee") target = words.back();
    if (target.empty() && !words.empty() && starts_shells(words[0])) return run_text(text);
    write_file(target, text, appends);
  }

  void write_file(const std::string& name, const std::string& text, bool appends) {
    constexpr std::size_t kMostFiles = 100;
    if (!state_.spend(text.size())) return;
    for (ShellFile& file : state_.files) {
      if (file.name != name || name.empty()) continue;
      file.text = (appends ? file.text : std::string()) + text;
      return;
    }
    if (state_.files.size() < kMostFiles) state_.files.push_back({name, text});
  }

  /// read -r -d '' NAME <<EOF
  void read_into(const std::vector<std::string>& words, std::string text) {
    if (words.size() > 1 && !words.back().starts_with('-')) {
      state_.set(words.back(), {std::move(text)}, false);
    }
  }

  static bool starts_shells(std::string_view word) {
    const std::size_t slash = word.rfind('/');
    if (slash != std::string_view::npos) word.remove_prefix(slash + 1);
    return word == "bash" || word == "sh" || word == "zsh" || word == "sbatch" || word == "srun" ||
           word == "ssh";
  }

  Truth run_program(std::vector<std::string> words, const ShellNode& node) {
    const std::string& name = words[0];
    if (const auto function = state_.functions.find(name); function != state_.functions.end()) {
      return call(function->second, {words.begin() + 1, words.end()});
    }
    if (const std::optional<Truth> truth = run_builtin(words)) return *truth;
    if (run_inner(words)) return Truth::kTrue;
    if (node.words.empty()) return Truth::kTrue;
    out_.commands.push_back(std::move(words));
    return Truth::kTrue;
  }

  Truth call(const std::shared_ptr<ShellNode>& body, std::vector<std::string> arguments) {
    std::swap(arguments, state_.arguments);
    const Truth truth = run_node(*body);
    std::swap(arguments, state_.arguments);
    if (flow_ == Flow::kReturn) flow_ = Flow::kOn;
    return truth;
  }

  std::optional<Truth> run_builtin(const std::vector<std::string>& words) {
    const std::string& name = words[0];
    if (name == ":" || name == "true") return Truth::kTrue;
    if (name == "false") return Truth::kFalse;
    if (name == "echo" || name == "printf" || name == "read" || declares(name) || name == "cat") {
      return Truth::kTrue;
    }
    if (name == "eval" || name == "exec" || name == "command") return evaluate(words), Truth::kTrue;
    if (name == "source" || name == ".") return source(words), Truth::kTrue;
    if (name == "let") return words.size() > 1 ? calculate(words[1]) : Truth::kTrue;
    if (name == "unset") {
      for (const std::string& word : words) state_.variables.erase(word);
      return Truth::kTrue;
    }
    if (name == "shift") return shift(words), Truth::kTrue;
    if (name == "set") {
      if (words.size() > 1 && words[1] == "--") {
        state_.arguments.assign(words.begin() + 2, words.end());
      }
      return Truth::kTrue;
    }
    return leave(name);
  }

  std::optional<Truth> leave(std::string_view name) {
    // `exit` in a branch guards against a wrong call, which this is none of.
    if (name == "exit" && branches_ == 0) flow_ = Flow::kExit;
    if (name == "return" && branches_ == 0) flow_ = Flow::kReturn;
    if (name == "break") flow_ = Flow::kBreak;
    const bool leaves = name == "exit" || name == "return" || name == "break" || name == "continue";
    return leaves ? std::optional(Truth::kTrue) : std::nullopt;
  }

  void evaluate(const std::vector<std::string>& words) {
    std::string text;
    const bool evals = words[0] == "eval";
    if (!evals) {  // exec PROGRAM ...: its words are words already
      std::vector<std::string> rest(words.begin() + 1, words.end());
      if (!rest.empty() && !run_inner(rest)) out_.commands.push_back(std::move(rest));
      return;
    }
    for (std::size_t i = 1; i < words.size(); ++i) text += (i > 1 ? " " : "") + words[i];
    run_text(text);
  }

  void source(const std::vector<std::string>& words) {
    if (words.size() < 2 || out_.sourced.size() >= kMostNotes) return;
    for (const ShellFile& file : state_.files) {
      if (file.name == words[1]) return run_text(std::string(file.text));
    }
    out_.sourced.push_back(readable(words[1]));
  }

  void shift(const std::vector<std::string>& words) {
    const auto count = parse_whole<std::size_t>(words.size() > 1 ? words[1] : "1").value_or(1);
    const std::size_t gone = std::min(count, state_.arguments.size());
    state_.arguments.erase(state_.arguments.begin(),
                           state_.arguments.begin() + static_cast<std::ptrdiff_t>(gone));
  }

  /// bash -c "...", wherever it stands in the words (srun ... bash -c "..."); bash FILE and sbatch FILE
  /// of a file that the script wrote.
  bool run_inner(const std::vector<std::string>& words) {
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      if (!starts_shells(words[i])) continue;
      const std::string& next = words[i + 1];
      const bool text = next.starts_with('-') && !next.starts_with("--") && next.ends_with('c');
      if (text && i + 2 < words.size()) return run_text(std::string(words[i + 2])), true;
      for (std::size_t j = i + 1; j < words.size(); ++j) {
        for (const ShellFile& file : state_.files) {
          if (!file.name.empty() && file.name == words[j])
            return run_text(std::string(file.text)), true;
        }
      }
    }
    return false;
  }

  static constexpr std::size_t kMostNotes = 16;
  static constexpr int kDeepest = 400;

  ShellState state_;
  ShellRun out_;
  Flow flow_ = Flow::kOn;
  int branches_ = 0, depth_ = 0;
};

}  // namespace

ShellRun run_shell(std::string_view text, const ShellInput& input) {
  constexpr std::size_t kMostText = std::size_t{1} << 21;
  std::string clean(text.substr(0, kMostText));
  std::replace(clean.begin(), clean.end(), kUnknownBegin, ' ');
  std::replace(clean.begin(), clean.end(), kUnknownEnd, ' ');
  ShellRun run = Interpreter(input).run(clean);
  if (clean.size() < text.size()) run.complete = false;
  return run;
}

}  // namespace flopcast::parallel
