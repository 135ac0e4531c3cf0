#include "whatif/changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text/names.h"
#include "base/text/numbers.h"
#include "whatif/change/pattern.h"

namespace flopcast::whatif {
namespace {

/// "straggler:2" as its name and what stands behind the colon.
struct Named {
  std::string name, argument;
  bool has_argument = false;
};
Named take_apart(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return {std::string(trim(text)), "", false};
  return {std::string(trim(text.substr(0, colon))), std::string(trim(text.substr(colon + 1))),
          true};
}

std::string option(Verb verb) { return fmt::format("--{}", verb_name(verb)); }

/// "kernel:CLASS|NAME|/REGEX/", "straggler[:RANK]".
std::string shown(const Knob& knob) {
  std::string text(knob.name);
  if (knob.argument == Argument::kRequired) text += fmt::format(":{}", knob.argument_shown);
  if (knob.argument == Argument::kOptional) text += fmt::format("[:{}]", knob.argument_shown);
  return text;
}

Diagnostic unknown(Verb verb, const std::string& name) {
  std::vector<std::string> names;
  std::string all;
  for (const Knob& knob : knobs()) {
    if (knob.verb != verb) continue;
    names.emplace_back(knob.name);
    all += (all.empty() ? "" : ", ") + shown(knob);
  }
  return usage_error(option(verb), fmt::format("'{}' is nothing that can be changed so", name),
                     did_you_mean(name, names, "there are " + all));
}

/// The text as a regular expression where it is written as one: "/.../".
std::optional<Diagnostic> regex_problem(Verb verb, const std::string& text, bool slashes) {
  if (slashes && (text.size() < 2 || text.front() != '/' || text.back() != '/'))
    return std::nullopt;
  const Result<Pattern> made =
      Pattern::make(slashes ? text.substr(1, text.size() - 2) : text, option(verb));
  return made ? std::nullopt : std::optional(made.error());
}

/// Knob and argument of a change; the rest is the caller's.
Result<Change> named_change(Verb verb, const std::string& text) {
  const Named named = take_apart(text);
  const Knob* knob = find_knob(verb, named.name);
  if (knob == nullptr) return unknown(verb, named.name);
  if (knob->argument == Argument::kNone && named.has_argument) {
    return usage_error(option(verb),
                       fmt::format("'{}': {} takes nothing after a colon", text, named.name),
                       fmt::format("write {}", shown(*knob)));
  }
  if (named.has_argument ? named.argument.empty() : knob->argument == Argument::kRequired) {
    return usage_error(option(verb), fmt::format("'{}' does not say which", text),
                       fmt::format("write {}", shown(*knob)));
  }
  const bool pattern = knob->argument_shown == "REGEX";
  if (pattern || named.argument.starts_with('/')) {
    if (auto problem = regex_problem(verb, named.argument, !pattern)) return *problem;
  }
  if (knob->argument_shown == "RANK" && named.has_argument &&
      !parse_whole<std::uint32_t>(named.argument)) {
    return usage_error(option(verb), fmt::format("'{}': '{}' is no rank", text, named.argument),
                       fmt::format("write {}, a whole number", shown(*knob)));
  }
  Change change;
  change.verb = verb;
  change.name = named.name;
  change.argument = named.argument;
  change.text = fmt::format("{} {}", verb_name(verb), text);
  return change;
}

std::optional<Diagnostic> check_value(const Knob& knob, Change& change) {
  const auto wrong = [&](std::string_view wanted) {
    return usage_error("--set", fmt::format("'{}' is no value of {}", change.value, change.name),
                       fmt::format("{} takes {}", change.name, wanted));
  };
  const std::optional<double> number = parse_number(change.value);
  change.number = number.value_or(1);
  switch (knob.value) {
    case Value::kCount:
      if (!parse_whole<std::uint32_t>(change.value) || change.number < 1)
        return wrong("a whole number, at least 1");
      break;
    case Value::kFactor:
      if (!number || *number <= 0) return wrong("a number above 0");
      break;
    case Value::kWord:
      if (change.value.empty()) return wrong("a name");
      break;
    case Value::kNone:
      break;
  }
  return std::nullopt;
}

Result<Change> set_change(const std::string& name, const std::string& value, bool scale_only) {
  Result<Change> change = named_change(Verb::kSet, name);
  if (!change) return change;
  change->value = trim(value);
  change->text = fmt::format("set {}={}", name, change->value);
  change->scale_only = scale_only && name == "dp";
  if (change->scale_only) change->text += ", scale only";
  if (auto problem = check_value(*find_knob(Verb::kSet, change->name), *change)) return *problem;
  return change;
}

Result<Change> scale_change(const ScaleChange& asked) {
  if (!std::isfinite(asked.factor) || asked.factor <= 0) {
    return usage_error("--scale",
                       fmt::format("{}={}: a factor is above 0", asked.what, asked.factor),
                       "0.8 makes it a fifth shorter; remove takes something away");
  }
  Result<Change> change = named_change(Verb::kScale, asked.what);
  if (!change) return change;
  change->number = asked.factor;
  change->text = fmt::format("scale {}={}", asked.what, asked.factor);
  return change;
}

/// All as they are given.
class Reader {
 public:
  explicit Reader(const WhatIfChanges& asked) : asked_(asked) {}

  Result<std::vector<Change>> read() {
    for (const auto& [name, value] : asked_.set) add(set_change(name, value, asked_.scale_only));
    for (const std::string& text : asked_.add) add(named_change(Verb::kAdd, text));
    for (const std::string& text : asked_.remove) add(named_change(Verb::kRemove, text));
    if (!asked_.kernels_from.empty()) add_value(Verb::kKernelsFrom, asked_.kernels_from.string());
    if (!asked_.chip.empty()) add_value(Verb::kChip, asked_.chip);
    if (!asked_.on.empty()) add_value(Verb::kOn, asked_.on);
    for (const ScaleChange& scale : asked_.scale) add(scale_change(scale));
    if (!problem_) check_together();
    if (problem_) return *problem_;
    std::stable_sort(changes_.begin(), changes_.end(), [](const Change& a, const Change& b) {
      return find_knob(a.verb, a.name)->tier < find_knob(b.verb, b.name)->tier;
    });
    return std::move(changes_);
  }

 private:
  void add(Result<Change> change) {
    if (!change && !problem_) problem_ = change.error();
    if (change) changes_.push_back(std::move(*change));
  }

  void add_value(Verb verb, const std::string& value) {
    Change change;
    change.verb = verb;
    change.value = value;
    change.text = fmt::format("{} {}", verb == Verb::kOn ? "on" : verb_name(verb), value);
    changes_.push_back(std::move(change));
  }

  void check_together() {
    for (std::size_t i = 0; i < changes_.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const bool same =
            changes_[i].verb == changes_[j].verb && changes_[i].verb != Verb::kScale &&
            changes_[i].name == changes_[j].name && changes_[i].argument == changes_[j].argument;
        if (same) {
          problem_ = usage_error(option(changes_[i].verb),
                                 fmt::format("'{}' and '{}' are one change asked for twice",
                                             changes_[j].text, changes_[i].text),
                                 "give it once");
          return;
        }
      }
    }
    const bool has_dp = std::any_of(changes_.begin(), changes_.end(), [](const Change& c) {
      return c.verb == Verb::kSet && c.name == "dp";
    });
    if (asked_.scale_only && !has_dp) {
      problem_ = usage_error("--scale-only", "there is no data-parallel degree to scale to",
                             "it goes with --set dp=N");
    }
  }

  const WhatIfChanges& asked_;
  std::vector<Change> changes_;
  std::optional<Diagnostic> problem_;
};

}  // namespace

const char* verb_name(Verb verb) {
  static constexpr const char* kNames[] = {"set",          "scale", "remove", "add",
                                           "kernels-from", "chip",  "on"};
  return kNames[static_cast<int>(verb)];
}

const Knob* find_knob(Verb verb, std::string_view name) {
  for (const Knob& knob : knobs()) {
    if (knob.verb == verb && knob.name == name) return &knob;
  }
  return nullptr;
}

Result<std::vector<Change>> read_changes(const WhatIfChanges& asked) {
  return Reader(asked).read();
}

}  // namespace flopcast::whatif

namespace flopcast {

bool WhatIfChanges::empty() const {
  return set.empty() && scale.empty() && remove.empty() && add.empty() && kernels_from.empty() &&
         chip.empty() && on.empty();
}

std::vector<WhatIfKnob> whatif_knobs() {
  std::vector<WhatIfKnob> all;
  for (const whatif::Knob& knob : whatif::knobs()) {
    std::string argument(knob.argument_shown);
    if (knob.argument == whatif::Argument::kOptional) argument = "[" + argument + "]";
    all.push_back({whatif::verb_name(knob.verb), std::string(knob.name), std::move(argument),
                   std::string(knob.help)});
  }
  return all;
}

}  // namespace flopcast
