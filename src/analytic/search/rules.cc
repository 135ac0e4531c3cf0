#include "analytic/search/rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/text/names.h"
#include "base/text/numbers.h"
#include "flopcast/parallel/files.h"
#include "flopcast/parallel/names.h"

namespace flopcast {

using namespace analytic;  // the room's own names
using analytic::search::kConstraintNames;

namespace {

std::optional<bool> parse_switch(std::string_view text) {
  if (text == "on" || text == "true" || text == "1") return true;
  if (text == "off" || text == "false" || text == "0") return false;
  return std::nullopt;
}
std::string_view name_of(bool on) { return on ? "on" : "off"; }

/// The words of a named choice, as reports print them.
template <typename Choice>
std::vector<std::string_view> words(std::size_t count) {
  std::vector<std::string_view> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(name(static_cast<Choice>(i)));
  return all;
}

std::vector<std::string_view> words_of(std::string_view constraint) {
  if (constraint == "schedule") return words<ScheduleKind>(6);
  if (constraint == "recompute") return words<Recompute>(3);
  if (constraint == "precision") return words<Precision>(kPrecisions);
  if (constraint == "context") return words<ContextKind>(3);
  if (constraint == "sequence_parallel") return {"off", "on"};
  return {};
}

/// The word as reports print it, of any spelling that readers take.
std::optional<std::string_view> canonical(std::string_view constraint, std::string_view word) {
  const auto named = [](const auto& choice) -> std::optional<std::string_view> {
    if (!choice) return std::nullopt;
    return name(*choice);
  };
  if (constraint == "schedule") return named(parse_schedule_kind(word));
  if (constraint == "recompute") return named(parse_recompute(word));
  if (constraint == "precision") return named(parse_precision(word));
  if (constraint == "context") return named(parse_context_kind(word));
  const std::optional<bool> on = parse_switch(word);
  return on ? std::optional(name_of(*on)) : std::nullopt;
}

Diagnostic refuse(std::string_view text, std::string what, std::string hint) {
  return {ErrorCode::kUsage, fmt::format("constraint '{}'", text.substr(0, 80)), std::move(what),
          std::move(hint)};
}

struct Split {
  std::string name;
  std::string_view sign;
  std::vector<std::string_view> values;
};

Split split(std::string_view name, std::string_view sign, std::string_view values) {
  Split parts;
  parts.name = std::string(trim(name));
  std::replace(parts.name.begin(), parts.name.end(), '-', '_');
  parts.sign = sign;
  while (true) {
    const std::size_t comma = values.find(',');
    parts.values.push_back(trim(values.substr(0, comma)));
    if (comma == std::string_view::npos) return parts;
    values.remove_prefix(comma + 1);
  }
}

Result<PlanConstraint> parse_words(std::string_view text, const Split& parts) {
  const std::string hint = fmt::format("use {}", fmt::join(words_of(parts.name), ", "));
  if (parts.sign != "=" && parts.sign != "==") {
    return refuse(text, fmt::format("{} has no order", parts.name), hint);
  }
  PlanConstraint constraint;
  constraint.name = parts.name;
  for (const std::string_view value : parts.values) {
    const std::optional<std::string_view> word = canonical(parts.name, value);
    if (!word) return refuse(text, fmt::format("unknown {} '{}'", parts.name, value), hint);
    constraint.values.emplace_back(*word);
  }
  return constraint;
}

Result<PlanConstraint> parse_numbers(std::string_view text, const Split& parts) {
  PlanConstraint constraint;
  constraint.name = parts.name;
  for (const std::string_view value : parts.values) {
    const std::optional<std::int64_t> number = parse_whole(value);
    if (!number || *number < 0 || *number > kMostInPlan) {
      return refuse(text, fmt::format("'{}' is no {}", value, parts.name),
                    fmt::format("use whole numbers, 0 to {}", kMostInPlan));
    }
    constraint.values.push_back(std::to_string(*number));
  }
  const bool equal = parts.sign == "=" || parts.sign == "==";
  if (parts.values.size() == 1) {
    const std::int64_t number = *parse_whole(constraint.values[0]);
    constraint.values.clear();
    if (equal || parts.sign == ">=") constraint.low = number;
    if (equal || parts.sign == "<=") constraint.high = number;
  } else if (!equal) {
    return refuse(text, "a bound takes one number", "use = before a list");
  }
  return constraint;
}

/// @param text the whole of it, for messages
Result<PlanConstraint> parse_parts(std::string_view text, const Split& parts) {
  if (std::find(kConstraintNames.begin(), kConstraintNames.end(), parts.name) ==
      kConstraintNames.end()) {
    return refuse(text, fmt::format("unknown name '{}'", parts.name),
                  fmt::format("names are {}", fmt::join(kConstraintNames, ", ")));
  }
  if (parts.sign == "<" || parts.sign == ">") {
    return refuse(text, fmt::format("'{}' is no operator", parts.sign), "use =, <= or >=");
  }
  return words_of(parts.name).empty() ? parse_numbers(text, parts) : parse_words(text, parts);
}

}  // namespace

Result<PlanConstraint> parse_plan_constraint(std::string_view text) {
  const std::size_t at = text.find_first_of("<>=");
  if (at == std::string_view::npos) {
    return refuse(text, "has no =, <= or >=", "write pp=4, \"tp<=8\" or recompute=none,full");
  }
  const std::string_view sign = text.substr(at, text.substr(at + 1).starts_with('=') ? 2 : 1);
  return parse_parts(text, split(text.substr(0, at), sign, text.substr(at + sign.size())));
}

Result<PlanConstraint> plan_constraint(std::string_view name, std::string_view sign,
                                       std::string_view values) {
  return parse_parts(fmt::format("{}{}{}", name, sign, values), split(name, sign, values));
}

std::string constraint_text(const PlanConstraint& constraint) {
  const auto& [name, low, high, values] = constraint;
  if (!values.empty()) return fmt::format("{}={}", name, fmt::join(values, ","));
  if (low == high) return fmt::format("{}={}", name, low);
  return high == INT64_MAX ? fmt::format("{}>={}", name, low) : fmt::format("{}<={}", name, high);
}

std::vector<std::string> constraint_texts(std::span<const PlanConstraint> constraints) {
  std::vector<std::string> texts;
  for (const PlanConstraint& one : constraints) texts.push_back(constraint_text(one));
  return texts;
}

namespace analytic::search {
namespace {

/// Of named choices: what all constraints list, `usual` where there is none.
template <typename Choice, typename Name>
std::vector<Choice> choices(const PlanSearchOptions& options, std::string_view constraint,
                            const std::vector<Choice>& all, const std::vector<Choice>& usual,
                            const Name& name_of_choice) {
  bool named = false;
  std::vector<Choice> left = all;
  for (const PlanConstraint& one : options.constraints) {
    if (one.name != constraint || one.values.empty()) continue;
    named = true;
    std::erase_if(left, [&](Choice choice) {
      return std::find(one.values.begin(), one.values.end(), name_of_choice(choice)) ==
             one.values.end();
    });
  }
  return named ? left : usual;
}

template <typename Choice>
std::vector<Choice> everything(std::size_t count) {
  std::vector<Choice> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(static_cast<Choice>(i));
  return all;
}

constexpr auto kByName = [](auto choice) { return name(choice); };

NumberRule number_rule(const PlanSearchOptions& options, std::string_view name) {
  NumberRule rule;
  for (const PlanConstraint& one : options.constraints) {
    if (one.name == name) rule.add(one);
  }
  return rule;
}

/// The base's way to share state, unless the user lists or bounds others.
std::vector<unsigned> shard_choices(const PlanSearchOptions& options) {
  const NumberRule rule = number_rule(options, "shard");
  std::vector<unsigned> shards;
  if (rule.listed) {
    for (const std::int64_t value : rule.of(*rule.listed)) {
      shards.push_back(static_cast<unsigned>(value));
    }
  } else if (rule.low > 0 && rule.low == rule.high) {
    shards.push_back(static_cast<unsigned>(rule.low));
  } else if (rule.allows(options.base.shard)) {
    shards.push_back(options.base.shard);
  }
  return shards;
}

void read_choices(const PlanSearchOptions& options, PlanRules& rules) {
  const NumberRule zero = number_rule(options, "zero");
  for (std::int64_t level = 0; level < 4; ++level) {
    if (zero.allows(level)) rules.zeros.push_back(static_cast<Zero>(level));
  }
  rules.shards = shard_choices(options);
  rules.schedules = choices(options, "schedule", everything<ScheduleKind>(6),
                            everything<ScheduleKind>(6), kByName);
  rules.recomputes =
      choices(options, "recompute", everything<Recompute>(3), everything<Recompute>(3), kByName);
  rules.sequence_parallel =
      choices<bool>(options, "sequence_parallel", {false, true}, {false, true}, name_of);
  rules.precisions = choices(options, "precision", everything<Precision>(kPrecisions),
                             {options.base.precision}, kByName);
  rules.contexts =
      choices(options, "context", everything<ContextKind>(3), everything<ContextKind>(3), kByName);
}

/// The first name of which nothing is left.
std::string_view contradicted(const PlanRules& rules) {
  const std::pair<std::string_view, const NumberRule*> numbers[] = {
      {"tp", &rules.tp},   {"cp", &rules.cp},
      {"pp", &rules.pp},   {"dp", &rules.dp},
      {"ep", &rules.ep},   {"etp", &rules.etp},
      {"vpp", &rules.vpp}, {"micro_batch", &rules.micro_batch}};
  for (const auto& [name, rule] : numbers) {
    const bool listed = rule->listed && rule->of(*rule->listed).empty();
    if (listed || rule->low > rule->high || rule->high < 1) return name;
  }
  if (rules.zeros.empty()) return "zero";
  if (rules.shards.empty()) return "shard";
  if (rules.schedules.empty()) return "schedule";
  if (rules.recomputes.empty()) return "recompute";
  if (rules.sequence_parallel.empty()) return "sequence_parallel";
  if (rules.precisions.empty()) return "precision";
  return rules.contexts.empty() ? "context" : "";
}

}  // namespace

bool NumberRule::allows(std::int64_t value) const {
  if (value < low || value > high) return false;
  return !listed || std::binary_search(listed->begin(), listed->end(), value);
}

std::vector<std::int64_t> NumberRule::of(const std::vector<std::int64_t>& values) const {
  std::vector<std::int64_t> left = values;
  std::erase_if(left, [&](std::int64_t value) { return !allows(value); });
  return left;
}

void NumberRule::add(const PlanConstraint& constraint) {
  low = std::max(low, constraint.low);
  high = std::min(high, constraint.high);
  if (constraint.values.empty()) return;
  std::vector<std::int64_t> values;
  for (const std::string& value : constraint.values) {
    const std::optional<std::int64_t> number = parse_whole(value);
    if (number && (!listed || std::binary_search(listed->begin(), listed->end(), *number))) {
      values.push_back(*number);
    }
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  listed = std::move(values);
}

Result<PlanRules> plan_rules(const PlanSearchOptions& options) {
  PlanRules rules;
  rules.tp = number_rule(options, "tp");
  rules.cp = number_rule(options, "cp");
  rules.pp = number_rule(options, "pp");
  rules.dp = number_rule(options, "dp");
  rules.ep = number_rule(options, "ep");
  rules.etp = number_rule(options, "etp");
  rules.vpp = number_rule(options, "vpp");
  rules.micro_batch = number_rule(options, "micro_batch");
  for (const PlanConstraint& one : options.constraints) {
    if (std::find(kConstraintNames.begin(), kConstraintNames.end(), one.name) ==
        kConstraintNames.end()) {
      return Diagnostic{ErrorCode::kUsage, "constraint", fmt::format("unknown name '{}'", one.name),
                        fmt::format("names are {}", fmt::join(kConstraintNames, ", "))};
    }
    rules.etp_named |= one.name == "etp";
  }
  read_choices(options, rules);
  const std::string_view nothing = contradicted(rules);
  if (nothing.empty()) return rules;
  return Diagnostic{ErrorCode::kUsage, fmt::format("constraint '{}'", nothing),
                    fmt::format("no value of {} satisfies all that is asked of it", nothing),
                    "drop one of its constraints"};
}

}  // namespace analytic::search
}  // namespace flopcast
