#include "whatif/changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text/names.h"
#include "whatif/knobs.h"

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

/// A change with the words that it was asked for in.
struct Asked {
  Verb verb;
  std::string name, argument;
  Change change;
};

/// @param text "straggler:2"; what else is said of it is in `said`. @param whole as answers name it
Result<Asked> named_change(Verb verb, const std::string& text, Said said, std::string whole) {
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
  said.argument = named.argument;
  Result<Action> action = knob->read(*knob, said);
  if (!action) return action.error();
  return Asked{verb, named.name, named.argument, {std::move(*action), std::move(whole)}};
}

Result<Asked> plain_change(Verb verb, const std::string& text) {
  return named_change(verb, text, {}, fmt::format("{} {}", verb_name(verb), text));
}

Result<Asked> set_change(const std::string& name, const std::string& value, bool scale_only) {
  Said said;
  said.value = trim(value);
  said.scale_only = scale_only;
  std::string whole = fmt::format("set {}={}", name, said.value);
  if (scale_only && name == "dp") whole += ", scale only";
  return named_change(Verb::kSet, name, std::move(said), std::move(whole));
}

Result<Asked> scale_change(const ScaleChange& asked) {
  if (!std::isfinite(asked.factor) || asked.factor <= 0) {
    return usage_error("--scale",
                       fmt::format("{}={}: a factor is above 0", asked.what, asked.factor),
                       "0.8 makes it a fifth shorter; remove takes something away");
  }
  Said said;
  said.factor = asked.factor;
  return named_change(Verb::kScale, asked.what, std::move(said),
                      fmt::format("scale {}={}{}", asked.what, asked.factor,
                                  asked.words.empty() ? "" : fmt::format(" ({})", asked.words)));
}

/// Of the verbs that have one meaning.
Result<Asked> value_change(Verb verb, const std::string& value) {
  Said said;
  said.value = value;
  return named_change(verb, "", std::move(said), fmt::format("{} {}", verb_name(verb), value));
}

/// All as they are given.
class Reader {
 public:
  explicit Reader(const WhatIfChanges& asked) : asked_(asked) {}

  Result<std::vector<Change>> read() {
    for (const auto& [name, value] : asked_.set) add(set_change(name, value, asked_.scale_only));
    for (const std::string& text : asked_.add) add(plain_change(Verb::kAdd, text));
    for (const std::string& text : asked_.remove) add(plain_change(Verb::kRemove, text));
    if (!asked_.kernels_from.empty())
      add(value_change(Verb::kKernelsFrom, asked_.kernels_from.string()));
    if (!asked_.chip.empty()) add(value_change(Verb::kChip, asked_.chip));
    if (!asked_.on.empty()) add(value_change(Verb::kOn, asked_.on));
    for (const ScaleChange& scale : asked_.scale) add(scale_change(scale));
    if (!problem_) check_together();
    if (problem_) return *problem_;
    std::vector<Change> changes;
    for (Asked& each : read_) changes.push_back(std::move(each.change));
    std::stable_sort(changes.begin(), changes.end(),
                     [](const Change& a, const Change& b) { return tier_of(a) < tier_of(b); });
    return changes;
  }

 private:
  void add(Result<Asked> change) {
    if (!change && !problem_) problem_ = change.error();
    if (change) read_.push_back(std::move(*change));
  }

  void check_together() {
    for (std::size_t i = 0; i < read_.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const Asked &one = read_[j], &other = read_[i];
        if (other.verb == Verb::kScale || other.verb != one.verb || other.name != one.name ||
            other.argument != one.argument) {
          continue;
        }
        problem_ = usage_error(option(other.verb),
                               fmt::format("'{}' and '{}' are one change asked for twice",
                                           one.change.text, other.change.text),
                               "give it once");
        return;
      }
    }
    const bool has_dp = std::any_of(read_.begin(), read_.end(), [](const Asked& each) {
      const auto* set = std::get_if<SetSize>(&each.change.action);
      return set != nullptr && set->size == &StructureChange::dp;
    });
    if (asked_.scale_only && !has_dp) {
      problem_ = usage_error("--scale-only", "there is no data-parallel degree to scale to",
                             "it goes with --set dp=N");
    }
  }

  const WhatIfChanges& asked_;
  std::vector<Asked> read_;
  std::optional<Diagnostic> problem_;
};

}  // namespace

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
