// What a launcher runs, and how it is started: catalog/launch/rules/<format>.toml, the one place where that stands. The
// search keeps to it, messages tell it, and launch lines are written by it.
//
// A file of rules has the release that they are of, the profiles of the software that it behaves as, and
//
//   [[refuses]]       when, what    plans that it does not run: in words that follow "cannot run"
//   [[does]]          when, what    what it does whatever it is told: a field, and its value ("overlap_weights = false")
//   [[needs]]         when, text    a flag that others of the plan need
//   [[flag]]          when, text    of the launch line, beside those of the plan and the model
//   [[environment]]   when, text    "NAME=VALUE"
//
// each with its source. Conditions: parallel/launch/conditions.h.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/toml_file.h"
#include "flopcast/parallel/launch.h"
#include "parallel/launch/conditions.h"

namespace flopcast::parallel {

class LauncherRules {
 public:
  static const LauncherRules& of(PlanFormat format);
  /// Of a text. Errors: a condition that cannot be read, a rule without a source or a text, an unknown field.
  static Result<LauncherRules> parse(std::string_view text, const std::string& where);

  /// In words, with its release: "torchtitan 0.2.2".
  const std::string& words() const { return words_; }
  /// Profiles that the release behaves as, the usual first.
  const std::vector<std::string>& softwares() const { return softwares_; }
  /// Whether no rule refuses it.
  bool runs(const Plan& plan, const LaunchContext& context) const;
  /// settle, then runs.
  bool settle_and_run(Plan& plan, const LaunchContext& context,
                      std::span<const std::string> named) const;
  /// All that it refuses of the plan, in words.
  std::vector<std::string> refusals(const Plan& plan, const LaunchContext& context) const;
  /// The plan as it runs it: fields that it sets itself, but for those that somebody named.
  /// @param named settings: of plan_settings()
  void settle(Plan& plan, const LaunchContext& context, std::span<const std::string> named) const;
  /// Flags that those of the plan need.
  std::vector<std::string> needs(const Plan& plan, const LaunchContext& context) const;
  /// Flags of the launch line beside those of the plan and the model: "--mock-data".
  std::vector<std::string> flags(const Plan& plan, const LaunchContext& context) const;
  /// "NAME=VALUE".
  std::vector<std::string> environment(const Plan& plan, const LaunchContext& context) const;

 private:
  struct Rule {
    Condition when;
    std::string text;
  };
  struct Deed {
    Condition when;
    std::string field;
    std::size_t fact = 0;  ///< the field's place
    std::int64_t value = 0;
  };
  bool runs(const PlanFacts& facts) const;
  PlanFacts settled(Plan& plan, const LaunchContext& context,
                    std::span<const std::string> named) const;
  using Rules = std::vector<Rule>;
  std::optional<Diagnostic> add(const TomlFile& file, std::string_view group, std::string_view key,
                                Rules& rules) const;
  static std::vector<std::string> texts(const Rules& rules, const PlanFacts& facts);

  std::string words_;
  std::vector<std::string> softwares_;
  Rules refuses_, needs_, flags_, environment_;
  std::vector<Deed> does_;
};

}  // namespace flopcast::parallel
