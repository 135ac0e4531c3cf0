// Whole-number arithmetic of a shell: $((...)), ((...)), let, expr.
#include <cctype>
#include <optional>

#include "base/text/numbers.h"
#include "parallel/shell/state.h"

namespace flopcast::parallel {
namespace {

/// A value, or the name of what it would need.
struct Amount {
  std::int64_t number = 0;
  std::string unknown;
};

constexpr int kDeepestTerm = 40;

class Calculator {
 public:
  Calculator(ShellState& state, std::string_view text) : state_(state), rest_(text) {}

  Amount run() {
    Amount value = choice();
    blanks();
    // What no expression is has no value; a list of expressions has that of its last.
    while (value.unknown.empty() && take(",")) value = choice();
    if (!rest_.empty() && value.unknown.empty()) value.unknown = "$((" + whole_ + "))";
    return value;
  }

 private:
  void blanks() {
    while (!rest_.empty() && std::isspace(static_cast<unsigned char>(rest_[0])) != 0) {
      rest_.remove_prefix(1);
    }
  }
  bool take(std::string_view sign) {
    blanks();
    if (!rest_.starts_with(sign)) return false;
    rest_.remove_prefix(sign.size());
    return true;
  }

  Amount choice() {
    Amount value = binary(0);
    if (depth_ > kDeepestTerm || !take("?")) return value;
    ++depth_;
    const Amount yes = choice();
    take(":");
    const Amount no = choice();
    --depth_;
    if (!value.unknown.empty()) return value;
    return value.number != 0 ? yes : no;
  }

  Amount binary(std::size_t level) {
    static const std::vector<std::vector<std::string_view>> kLevels = {{"||"},
                                                                       {"&&"},
                                                                       {"|"},
                                                                       {"^"},
                                                                       {"&"},
                                                                       {"==", "!="},
                                                                       {"<=", ">=", "<", ">"},
                                                                       {"<<", ">>"},
                                                                       {"+", "-"},
                                                                       {"*", "/", "%"}};
    if (level == kLevels.size()) return power();
    Amount left = binary(level + 1);
    while (true) {
      const std::string_view sign = one_of(kLevels[level]);
      if (sign.empty()) return left;
      left = apply(sign, left, binary(level + 1));
    }
  }

  std::string_view one_of(const std::vector<std::string_view>& signs) {
    blanks();
    for (const std::string_view sign : signs) {
      if (!rest_.starts_with(sign)) continue;
      // "|" is not the beginning of "||", nor "<" of "<<", nor "*" of "**".
      const char next = rest_.size() > sign.size() ? rest_[sign.size()] : '\0';
      const bool longer = next == '=' || (next == sign[0] && sign != "+" && sign != "-");
      if (sign.size() == 1 && longer) continue;
      rest_.remove_prefix(sign.size());
      return sign;
    }
    return {};
  }

  Amount power() {
    Amount base = unary();
    if (depth_ > kDeepestTerm || !take("**")) return base;
    ++depth_;
    const Amount exponent = power();
    --depth_;
    if (!base.unknown.empty() || !exponent.unknown.empty()) return apply("+", base, exponent);
    Amount value{1, {}};
    constexpr std::int64_t kMost = 64;
    for (std::int64_t i = 0; i < std::min(exponent.number, kMost); ++i) {
      value = apply("*", value, base);
    }
    return value;
  }

  Amount unary() {
    if (++depth_ > kDeepestTerm) {
      rest_ = {};
      return {0, "$((" + whole_ + "))"};
    }
    Amount value = signed_one();
    --depth_;
    return value;
  }

  Amount signed_one() {
    if (take("!")) {
      Amount value = unary();
      value.number = value.number == 0 ? 1 : 0;
      return value;
    }
    if (take("-")) return apply("-", {0, {}}, unary());
    if (take("+")) return unary();
    if (take("(")) {
      Amount value = choice();
      take(")");
      return value;
    }
    return primary();
  }

  Amount primary() {
    blanks();
    if (!rest_.empty() && rest_[0] == kUnknownBegin) {
      const std::size_t end = std::min(rest_.find(kUnknownEnd), rest_.size() - 1);
      Amount value{0, std::string(rest_.substr(1, end - 1))};
      rest_.remove_prefix(end + 1);
      return value;
    }
    std::size_t end = 0;
    while (end < rest_.size() &&
           (std::isalnum(static_cast<unsigned char>(rest_[end])) != 0 || rest_[end] == '_')) {
      ++end;
    }
    const std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(end);
    if (word.empty()) return {0, "$((" + whole_ + "))"};
    if (std::isdigit(static_cast<unsigned char>(word[0])) != 0) {
      const std::optional<std::int64_t> number = parse_whole(word);
      return number ? Amount{*number, {}} : Amount{0, std::string(word)};
    }
    return variable(word);
  }

  Amount variable(std::string_view name) {
    const ShellVariable* known = state_.find(name);
    if (known == nullptr) return {0, std::string(name)};
    const std::string& text = known->items.empty() ? std::string() : known->items.front();
    if (has_unknown(text)) return {0, unknown_in(text)};
    const std::optional<std::int64_t> number = parse_whole(text);
    return number ? Amount{*number, {}} : Amount{0, std::string(name)};
  }

  Amount apply(std::string_view sign, const Amount& left, const Amount& right) {
    if (!left.unknown.empty()) return left;
    if (!right.unknown.empty()) return right;
    const std::int64_t a = left.number, b = right.number;
    const Amount none{0, "$((" + whole_ + "))"};
    std::int64_t out = 0;
    if (sign == "+") return __builtin_add_overflow(a, b, &out) ? none : Amount{out, {}};
    if (sign == "-") return __builtin_sub_overflow(a, b, &out) ? none : Amount{out, {}};
    if (sign == "*") return __builtin_mul_overflow(a, b, &out) ? none : Amount{out, {}};
    if (sign == "/" || sign == "%") {
      if (b == 0 || b == -1) return b == 0 ? none : apply(sign == "/" ? "-" : "*", {0, {}}, left);
      return {sign == "/" ? a / b : a % b, {}};
    }
    if (sign == "<<" || sign == ">>") {
      if (a < 0 || b < 0 || b > 62) return none;
      if (sign == ">>") return {a >> b, {}};
      return __builtin_mul_overflow(a, std::int64_t{1} << b, &out) ? none : Amount{out, {}};
    }
    return {compared(sign, a, b), {}};
  }

  static std::int64_t compared(std::string_view sign, std::int64_t a, std::int64_t b) {
    if (sign == "==") return a == b ? 1 : 0;
    if (sign == "!=") return a != b ? 1 : 0;
    if (sign == "<") return a < b ? 1 : 0;
    if (sign == "<=") return a <= b ? 1 : 0;
    if (sign == ">") return a > b ? 1 : 0;
    if (sign == ">=") return a >= b ? 1 : 0;
    if (sign == "&&") return a != 0 && b != 0 ? 1 : 0;
    if (sign == "||") return a != 0 || b != 0 ? 1 : 0;
    if (sign == "&") return a & b;
    return sign == "|" ? a | b : a ^ b;
  }

  ShellState& state_;
  std::string_view rest_;
  std::string whole_ = std::string(rest_.substr(0, 40));
  int depth_ = 0;
};

}  // namespace

std::string arithmetic(ShellState& state, std::string_view expression) {
  if (state.depth > ShellState::kDeepest) return unknown_value("$((..))");
  const std::string text = expand_text(state, expression);
  const Amount value = Calculator(state, text).run();
  return value.unknown.empty() ? std::to_string(value.number) : unknown_value(value.unknown);
}

}  // namespace flopcast::parallel
