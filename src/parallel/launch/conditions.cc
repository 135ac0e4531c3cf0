#include "parallel/launch/conditions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <sstream>
#include <type_traits>

#include "base/text/numbers.h"
#include "flopcast/parallel/fields.h"
#include "flopcast/parallel/names.h"

namespace flopcast::parallel {
namespace {

constexpr std::string_view kSoftware = "software";

/// Names of all facts, in their order.
const std::vector<std::string_view>& fact_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> list;
    const Plan plan;
    visit_plan(plan, [&](std::string_view key, const auto&) { list.push_back(key); });
    list.insert(list.end(), kDerivedFacts.begin(), kDerivedFacts.end());
    return list;
  }();
  return names;
}

template <typename Value>
std::int64_t number_of(const Value& value) {
  if constexpr (std::is_same_v<Value, std::vector<unsigned>>) {
    return static_cast<std::int64_t>(value.size());
  } else {
    return static_cast<std::int64_t>(value);
  }
}

bool drops(const Plan& plan) {
  return plan.recompute == Recompute::kSelective &&
         (plan.recompute_modules & kRecomputeSecondProduct) != 0;
}

}  // namespace

std::optional<std::size_t> find_fact(std::string_view name) {
  const auto& names = fact_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

PlanFacts::PlanFacts(const Plan& plan, const LaunchContext& context) {
  std::size_t at = 0;
  const auto put = [&](std::int64_t value) { values_[at++] = value; };
  visit_plan(plan, [&](std::string_view, const auto& field) { put(number_of(field)); });
  const std::int64_t replicas = std::int64_t{plan.dp} * plan.cp;
  const std::int64_t pass = plan.micro_batch * plan.dp;
  const std::int64_t microbatches = pass > 0 ? plan.global_batch / pass : 0;
  const std::int64_t rounds = std::max<std::int64_t>(microbatches / std::max(plan.pp, 1u), 1);
  put(replicas);
  put(plan.expert_tp());
  put(std::int64_t{plan.pp} * plan.vpp);
  put(microbatches);
  put(microbatches % rounds);
  put(plan.shard == 0 ? 1 : replicas / plan.shard);
  put(drops(plan));
  put(context.software);
  put(std::llround(context.capability * 10));
  put(context.model != nullptr);
  put(context.experts);
  put(context.expert_biases);
  put(context.latent);
  put(context.rotary);
}

std::optional<std::int64_t> fact_value(std::string_view fact, std::string_view word,
                                       const std::vector<std::string>& softwares) {
  if (const auto number = parse_whole(word)) return *number;
  if (fact == kSoftware) {
    const auto found = std::find(softwares.begin(), softwares.end(), word);
    if (found == softwares.end()) return std::nullopt;
    return found - softwares.begin();
  }
  std::optional<std::int64_t> value;
  const Plan plan;
  visit_plan(plan, [&](std::string_view key, const auto& field) {
    using Field = std::decay_t<decltype(field)>;
    if (key != fact) return;
    if constexpr (std::is_enum_v<Field>) {
      if (const auto choice = parse_choice(word, field)) value = static_cast<std::int64_t>(*choice);
    } else if constexpr (std::is_same_v<Field, bool>) {
      if (word == "true" || word == "false") value = word == "true";
    }
  });
  return value;
}

void set_fact(Plan& plan, std::size_t fact, std::int64_t value) {
  std::size_t at = 0;
  visit_plan(plan, [&](std::string_view, auto& field) {
    using Field = std::decay_t<decltype(field)>;
    if constexpr (!std::is_same_v<Field, std::vector<unsigned>>) {
      if (at == fact) field = static_cast<Field>(value);
    }
    ++at;
  });
}

std::int64_t Condition::Product::of(const PlanFacts& facts_of) const {
  std::int64_t product = number;
  for (std::uint8_t i = 0; i < count; ++i) product *= facts_of[facts[i]];
  return product;
}

bool Condition::Test::holds(const PlanFacts& facts) const {
  std::int64_t value = simple ? facts[left.facts[0]] : left.of(facts);
  if (divides) {
    const std::int64_t by = divisor.of(facts);
    value = by == 0 ? 0 : value % by;
  }
  const std::int64_t against = simple ? right.number : right.of(facts);
  switch (sign) {
    case Sign::kEqual:
      return value == against;
    case Sign::kOther:
      return value != against;
    case Sign::kLess:
      return value < against;
    case Sign::kMore:
      return value > against;
    case Sign::kAtMost:
      return value <= against;
    case Sign::kAtLeast:
      return value >= against;
  }
  return false;
}

bool Condition::holds(const PlanFacts& facts) const {
  bool all = true;
  for (const Test& test : tests_) {
    if (test.begins && all) return true;
    all = (all || test.begins) && test.holds(facts);
  }
  return all;
}

/// Takes a condition apart; the first word that is wrong is kept.
class ConditionReader {
 public:
  ConditionReader(std::string_view text, const std::vector<std::string>& softwares)
      : softwares_(softwares) {
    std::istringstream words{std::string(text)};
    words_.assign(std::istream_iterator<std::string>(words), {});
  }

  Condition read() {
    Condition condition;
    std::vector<std::string> words;
    bool begins = false;
    const auto end_test = [&] {
      condition.tests_.push_back(read_test(words));
      condition.tests_.back().begins = begins;
      words.clear();
    };
    for (const std::string& word : words_) {
      if (word != "and" && word != "or") {
        words.push_back(word);
        continue;
      }
      end_test();
      begins = word == "or";
    }
    if (!words_.empty()) end_test();
    return condition;
  }
  const std::string& problem() const { return problem_; }

 private:
  using Sign = Condition::Sign;

  Condition::Test read_test(const std::vector<std::string>& words) {
    Condition::Test test;
    test.right.number = 0;  // of a truth
    const bool negated = words.size() == 2 && words[0] == "not";
    if (words.size() == 1 || negated) {
      test.left = product(words.back());
      test.sign = negated ? Sign::kEqual : Sign::kOther;
      test.simple = is_simple(test);
      return test;
    }
    const bool divides = words.size() == 5 && words[1] == "%";
    if (words.size() != 3 && !divides) {
      refuse("a test is 'NAME', 'not NAME', 'A < B' or 'A % B != C'");
      return test;
    }
    test.left = product(words[0]);
    test.divides = divides;
    if (divides) test.divisor = product(words[2]);
    test.sign = sign(words[words.size() - 2]);
    test.right = right(words[0], words.back());
    test.simple = is_simple(test);
    return test;
  }

  static bool is_simple(const Condition::Test& test) {
    return test.left.count == 1 && test.left.number == 1 && !test.divides && test.right.count == 0;
  }

  Sign sign(std::string_view word) {
    constexpr std::string_view kSigns[] = {"==", "!=", "<", ">", "<=", ">="};
    const auto found = std::find(std::begin(kSigns), std::end(kSigns), word);
    if (found == std::end(kSigns)) refuse(fmt::format("'{}' is no sign", word));
    return static_cast<Sign>(found - std::begin(kSigns));
  }

  /// A choice of the left side's, or numbers and names.
  Condition::Product right(std::string_view left, const std::string& word) {
    Condition::Product value;
    if (const auto choice = fact_value(left, word, softwares_)) {
      value.number = *choice;
      return value;
    }
    return product(word);
  }

  Condition::Product product(std::string_view text) {
    Condition::Product product;
    while (!text.empty()) {
      const std::string_view factor = text.substr(0, text.find('*'));
      text.remove_prefix(std::min(factor.size() + 1, text.size()));
      const auto number = parse_whole(factor);
      const auto fact = find_fact(factor);
      if (number) {
        product.number *= *number;
      } else if (!fact || product.count == product.facts.size()) {
        refuse(fmt::format("'{}' is no field of a plan and no choice of one", factor));
      } else {
        product.facts[product.count++] = static_cast<std::uint8_t>(*fact);
      }
    }
    return product;
  }

  void refuse(std::string words) {
    if (problem_.empty()) problem_ = std::move(words);
  }

  std::vector<std::string> words_;
  const std::vector<std::string>& softwares_;
  std::string problem_;
};

Result<Condition> Condition::parse(std::string_view text, const std::string& where,
                                   const std::vector<std::string>& softwares) {
  ConditionReader reader(text, softwares);
  Condition condition = reader.read();
  if (reader.problem().empty()) return condition;
  return Diagnostic{ErrorCode::kBadInput, where,
                    fmt::format("condition '{}': {}", text, reader.problem()),
                    "correct the condition"};
}

}  // namespace flopcast::parallel
