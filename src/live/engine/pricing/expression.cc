#include "live/engine/pricing/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text/numbers.h"

namespace flopcast::live {
namespace {

using Node = Expression::Node;
using Kind = Node::Kind;

constexpr int kDeepest = 32;
/// Signs and commas of an expression: each is a step in depth where it is reckoned.
constexpr int kMostSigns = 1000;
constexpr auto kFunctions =
    std::to_array<std::string_view>({"sum", "max", "min", "count", "steps", "ceil", "floor"});
constexpr auto kProperties =
    std::to_array<std::string_view>({"bytes", "elements", "element_bytes"});

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

template <typename List>
bool is_among(const List& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

/// Sums of products of what `primary` reads.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::optional<Node> read() {
    std::optional<Node> node = sum(0);
    skip();
    if (node && at_ < text_.size()) return fail("an operator");
    return node;
  }
  const std::string& problem() const { return problem_; }

 private:
  std::optional<Node> sum(int depth) { return chain(depth, "+-", &Reader::product); }
  std::optional<Node> product(int depth) { return chain(depth, "*/%", &Reader::primary); }

  std::optional<Node> chain(int depth, std::string_view signs,
                            std::optional<Node> (Reader::*part)(int)) {
    std::optional<Node> left = (this->*part)(depth);
    while (left && signs.find(peek()) != std::string_view::npos) {
      if (++signs_ > kMostSigns) return fail("fewer signs");
      Node both{Kind::kOperation, std::string(1, text_[at_++]), {}, 0, 0, {}};
      std::optional<Node> right = (this->*part)(depth);
      if (!right) return std::nullopt;
      both.of.push_back(std::move(*left));
      both.of.push_back(std::move(*right));
      left = std::move(both);
    }
    return left;
  }

  std::optional<Node> primary(int depth) {
    if (depth > kDeepest) return fail("fewer parentheses");
    const char first = peek();
    if (first == '(') {
      ++at_;
      std::optional<Node> inner = sum(depth + 1);
      return inner && !take(')') ? fail("')'") : inner;
    }
    if (first == '-') {
      ++at_;
      std::optional<Node> value = primary(depth + 1);
      if (!value) return std::nullopt;
      Node zero{Kind::kNumber, {}, {}, 0, 0, {}};
      return Node{Kind::kOperation, "-", {}, 0, 0, {std::move(zero), std::move(*value)}};
    }
    if (is_digit(first) || first == '.') return number();
    return is_letter(first) ? named(depth) : fail("a number, a name or '('");
  }

  std::optional<Node> number() {
    std::size_t end = at_;
    while (end < text_.size()) {
      const bool exponent = (text_[end] == '+' || text_[end] == '-') && text_[end - 1] == 'e';
      if (!is_digit(text_[end]) && text_[end] != '.' && text_[end] != 'e' && !exponent) break;
      ++end;
    }
    const auto value = parse_number(text_.substr(at_, end - at_));
    if (!value || !std::isfinite(*value)) return fail("a number");
    at_ = end;
    return Node{Kind::kNumber, {}, {}, *value, 0, {}};
  }

  std::string word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::optional<Node> named(int depth) {
    Node node{Kind::kName, word(), {}, 0, 0, {}};
    const char next = peek();
    if (next == '(') return function(std::move(node), depth);
    if (next == '[') {
      ++at_;
      const bool negative = take('-');
      skip();
      const auto index = parse_whole(word());
      if (!index || !take(']')) return fail("a dimension and ']'");
      node.kind = Kind::kSize;
      node.index = negative ? -*index : *index;
    } else if (next == '.') {
      ++at_;
      node.kind = Kind::kProperty;
      node.property = word();
      if (!is_among(kProperties, node.property)) return fail("bytes, elements or element_bytes");
    }
    return node;
  }

  std::optional<Node> function(Node node, int depth) {
    if (!is_among(kFunctions, node.text)) return fail("sum, max, min, count, steps, ceil or floor");
    node.kind = Kind::kFunction;
    do {
      ++at_;  // "(" or ","
      if (++signs_ > kMostSigns) return fail("fewer arguments");
      std::optional<Node> argument = sum(depth + 1);
      if (!argument) return std::nullopt;
      node.of.push_back(std::move(*argument));
    } while (peek() == ',');
    const bool several = node.text == "max" || node.text == "min";
    if (node.of.size() > 1 && !several) return fail("one argument");
    if (!take(')')) return fail("')'");
    return node;
  }

  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  /// The next sign; a space at the end, which is none.
  char peek() {
    skip();
    return at_ < text_.size() ? text_[at_] : ' ';
  }
  bool take(char sign) {
    if (peek() != sign) return false;
    ++at_;
    return true;
  }
  std::nullopt_t fail(std::string_view expected) {
    if (problem_.empty()) problem_ = fmt::format("expected {} in column {}", expected, at_ + 1);
    return std::nullopt;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int signs_ = 0;
  std::string problem_;
};

Evaluated single(double number) { return {Amount{{number}, false}, {}, {}}; }
Evaluated lacks(Lack what, const std::string& name) { return {std::nullopt, what, name}; }

const OperatorTensor* tensor_named(const Facts& facts, std::string_view name) {
  if (!facts.call) return nullptr;
  for (const OperatorTensor& one : facts.call->inputs)
    if (one.name == name) return &one;
  constexpr std::string_view kResult = "result";
  if (!name.starts_with(kResult)) return nullptr;
  const std::string_view place = name.substr(kResult.size());
  const auto number =
      place.empty() ? std::optional<std::size_t>(0) : parse_whole<std::size_t>(place);
  const auto& outputs = facts.call->outputs;
  const std::size_t first = std::min(facts.call->changed.size(), outputs.size());
  return number && *number < outputs.size() - first ? &outputs[first + *number] : nullptr;
}

std::optional<double> number_named(const Facts& facts, std::string_view name) {
  if (const auto found = facts.numbers.find(name); found != facts.numbers.end())
    return found->second;
  if (!facts.call) return std::nullopt;
  for (const auto& [own, number] : facts.call->numbers)
    if (own == name) return number;
  return std::nullopt;
}

Evaluated value_named(const Facts& facts, const std::string& name) {
  if (const auto number = number_named(facts, name)) return single(*number);
  const OperatorTensor* const tensor = tensor_named(facts, name);
  if (!tensor) return lacks(Lack::kArgument, name);
  if (!tensor->values) return lacks(Lack::kValues, name);
  return {Amount{*tensor->values, !tensor->sizes.empty()}, {}, {}};
}

Evaluated size_of(const Facts& facts, const Node& node) {
  const OperatorTensor* const tensor = tensor_named(facts, node.text);
  const auto dims = tensor ? static_cast<std::int64_t>(tensor->sizes.size()) : 0;
  const std::int64_t at = node.index < 0 ? dims + node.index : node.index;
  if (at < 0 || at >= dims)
    return lacks(Lack::kArgument, fmt::format("{}[{}]", node.text, node.index));
  return single(static_cast<double>(tensor->sizes[static_cast<std::size_t>(at)]));
}

Evaluated property_of(const Facts& facts, const Node& node) {
  const OperatorTensor* const tensor = tensor_named(facts, node.text);
  if (facts.call && !tensor && node.property == "bytes") {
    if (node.text == "inputs") return single(facts.call->read_bytes());
    if (node.text == "outputs") return single(facts.call->written_bytes());
  }
  if (!tensor) return lacks(Lack::kArgument, node.text);
  // Lists have one name: all of their tensors.
  double sum = 0;
  for (const OperatorTensor& one : facts.call->inputs) {
    if (one.name.empty() || one.name != tensor->name) continue;
    sum += node.property == "bytes" ? one.bytes() : one.elements;
  }
  if (node.property == "element_bytes") return single(tensor->element_bytes);
  if (tensor->name.empty()) sum = node.property == "bytes" ? tensor->bytes() : tensor->elements;
  return single(sum);
}

double combined(char sign, double a, double b) {
  switch (sign) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    case '/':
      return a / b;
    default:
      return std::fmod(a, b);
  }
}

Evaluated operation(const Node& node, const Facts& facts);
Evaluated function_of(const Node& node, const Facts& facts);

Evaluated value_of(const Node& node, const Facts& facts) {
  switch (node.kind) {
    case Kind::kNumber:
      return single(node.number);
    case Kind::kName:
      return value_named(facts, node.text);
    case Kind::kSize:
      return size_of(facts, node);
    case Kind::kProperty:
      return property_of(facts, node);
    case Kind::kOperation:
      return operation(node, facts);
    default:
      return function_of(node, facts);
  }
}

Evaluated operation(const Node& node, const Facts& facts) {
  Evaluated left = value_of(node.of[0], facts), right = value_of(node.of[1], facts);
  if (!left.amount) return left;
  if (!right.amount) return right;
  Amount &a = *left.amount, &b = *right.amount;
  const bool list = a.list || b.list;
  const std::size_t count = !list     ? 1
                            : !a.list ? b.numbers.size()
                            : !b.list ? a.numbers.size()
                                      : std::min(a.numbers.size(), b.numbers.size());
  Amount made{{}, list};
  for (std::size_t i = 0; i < count; ++i) {
    made.numbers.push_back(
        combined(node.text[0], a.numbers[a.list ? i : 0], b.numbers[b.list ? i : 0]));
  }
  return {std::move(made), {}, {}};
}

Evaluated function_of(const Node& node, const Facts& facts) {
  std::vector<double> all;
  bool list = false;
  for (const Node& argument : node.of) {
    Evaluated value = value_of(argument, facts);
    if (!value.amount) return value;
    all.insert(all.end(), value.amount->numbers.begin(), value.amount->numbers.end());
    list = list || value.amount->list;
  }
  const std::string& name = node.text;
  if (name == "count") return single(static_cast<double>(all.size()));
  if (name == "ceil" || name == "floor") {
    for (double& number : all) number = name == "ceil" ? std::ceil(number) : std::floor(number);
    return {Amount{std::move(all), list}, {}, {}};
  }
  if (name == "steps") {
    std::vector<double> steps;
    for (std::size_t i = 1; i < all.size(); ++i) steps.push_back(all[i] - all[i - 1]);
    return {Amount{std::move(steps), true}, {}, {}};
  }
  double result = name == "sum" || all.empty() ? 0 : all.front();
  for (const double number : all) {
    result = name == "sum"   ? result + number
             : name == "max" ? std::max(result, number)
                             : std::min(result, number);
  }
  return single(result);
}

}  // namespace

Result<Expression> Expression::parse(std::string_view text) {
  Reader reader(text);
  std::optional<Node> root = reader.read();
  if (!root)
    return Diagnostic{
        ErrorCode::kBadInput, {}, fmt::format("'{}': {}", text, reader.problem()), {}};
  return Expression(std::move(*root));
}

Evaluated Expression::evaluate(const Facts& facts) const {
  Evaluated value = value_of(root_, facts);
  if (!value.amount) return value;
  for (const double number : value.amount->numbers)
    if (!std::isfinite(number)) return lacks(Lack::kArgument, "a divisor that is not 0");
  return value;
}

}  // namespace flopcast::live
