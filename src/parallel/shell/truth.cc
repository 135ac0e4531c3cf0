// The tests of a shell: [ ... ], [[ ... ]].
#include <algorithm>

#include "base/text/numbers.h"
#include "parallel/shell/state.h"

namespace flopcast::parallel {
namespace {

Truth truth_of(bool value) { return value ? Truth::kTrue : Truth::kFalse; }

class Test {
 public:
  Test(ShellState& state, const std::vector<std::string>& raw, bool extended)
      : state_(state), raw_(raw), extended_(extended) {}

  Truth run() { return any(); }

 private:
  bool at(std::string_view sign) const { return place_ < raw_.size() && raw_[place_] == sign; }
  bool take(std::string_view sign) {
    if (!at(sign)) return false;
    ++place_;
    return true;
  }

  Truth any() {
    Truth left = every();
    while (take("||") || take("-o")) {
      const Truth right = every();
      if (left == Truth::kFalse || (left == Truth::kUnknown && right == Truth::kTrue)) left = right;
    }
    return left;
  }

  Truth every() {
    Truth left = one();
    while (take("&&") || take("-a")) {
      const Truth right = one();
      if (left == Truth::kTrue || (left == Truth::kUnknown && right == Truth::kFalse)) left = right;
    }
    return left;
  }

  Truth one() {
    if (place_ >= raw_.size() || ++depth_ > ShellState::kDeepest) return Truth::kFalse;
    Truth truth = Truth::kFalse;
    if (take("!")) {
      truth = negated(one());
    } else if (take("(")) {
      truth = any();
      take(")");
    } else {
      truth = comparison();
    }
    --depth_;
    return truth;
  }

  std::string operand(std::size_t place) {
    return place < raw_.size() ? expand_text(state_, raw_[place]) : std::string();
  }

  /// A variable that nothing set is empty to -z and -n; other tests do not know it.
  Truth empty(std::string_view raw, bool wanted) {
    const std::string text = expand_text(state_, raw);
    if (!has_unknown(text)) return truth_of(text.empty() == wanted);
    const std::string name = unknown_in(text);
    const bool unset = text.size() == name.size() + 2 && state_.find(name) == nullptr &&
                       bare(raw) == name && !name.starts_with("$(");
    return truth_of(unset == wanted);
  }
  /// NAME of "$NAME", "${NAME}" and the same without quotes.
  static std::string bare(std::string_view raw) {
    std::string name = unquoted(raw);
    std::erase_if(name, [](char c) { return c == '$' || c == '{' || c == '}'; });
    return name;
  }

  Truth comparison() {
    const std::string& first = raw_[place_];
    const bool unary = first.size() == 2 && first[0] == '-' && place_ + 1 < raw_.size() &&
                       !is_sign(raw_[place_ + 1]);
    if (unary) {
      const std::string raw = raw_[place_ + 1];
      place_ += 2;
      if (first[1] == 'z') return empty(raw, true);
      if (first[1] == 'n') return empty(raw, false);
      if (first[1] == 'v') return truth_of(state_.find(unquoted(raw)) != nullptr);
      return Truth::kTrue;  // files are there
    }
    if (place_ + 2 < raw_.size() && is_sign(raw_[place_ + 1])) return pair();
    if (place_ + 1 < raw_.size() && is_sign(raw_[place_ + 1])) {  // nothing to the right
      place_ = raw_.size();
      return Truth::kUnknown;
    }
    return empty(raw_[place_++], false);
  }

  static bool is_sign(std::string_view word) {
    constexpr std::string_view kSigns[] = {"=",   "==",  "!=",  "=~",  "<",   ">",
                                           "-eq", "-ne", "-lt", "-le", "-gt", "-ge"};
    return std::find(std::begin(kSigns), std::end(kSigns), word) != std::end(kSigns);
  }

  Truth pair() {
    const std::string left = operand(place_), right = operand(place_ + 2);
    const std::string sign = raw_[place_ + 1];
    place_ += 3;
    if (has_unknown(left) || has_unknown(right) || sign == "=~") return Truth::kUnknown;
    if (sign[0] != '-') return words(left, sign, right);
    const auto a = parse_whole(left), b = parse_whole(right);
    if (!a || !b) return Truth::kUnknown;
    if (sign == "-eq") return truth_of(*a == *b);
    if (sign == "-ne") return truth_of(*a != *b);
    if (sign == "-lt") return truth_of(*a < *b);
    if (sign == "-le") return truth_of(*a <= *b);
    return truth_of(sign == "-gt" ? *a > *b : *a >= *b);
  }

  Truth words(const std::string& left, std::string_view sign, const std::string& right) const {
    const bool same = extended_ ? matches(left, right) : left == right;
    if (sign == "=" || sign == "==") return truth_of(same);
    if (sign == "!=") return truth_of(!same);
    return truth_of(sign == "<" ? left < right : left > right);
  }

  ShellState& state_;
  const std::vector<std::string>& raw_;
  bool extended_;
  std::size_t place_ = 0;
  int depth_ = 0;
};

}  // namespace

Truth negated(Truth truth) {
  if (truth == Truth::kUnknown) return truth;
  return truth == Truth::kTrue ? Truth::kFalse : Truth::kTrue;
}

Truth test_words(ShellState& state, const std::vector<std::string>& raw, bool extended) {
  return Test(state, raw, extended).run();
}

}  // namespace flopcast::parallel
