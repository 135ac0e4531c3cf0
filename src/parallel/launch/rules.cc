#include "parallel/launch/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text/names.h"
#include "catalog_files.h"
#include "flopcast/parallel/fields.h"

namespace flopcast::parallel {
namespace {

constexpr std::array kFormats = {PlanFormat::kMegatron, PlanFormat::kTorchtitan,
                                 PlanFormat::kDeepspeed};

/// "the schedule {schedule}" with the plan's own.
std::string filled(std::string_view text, const Plan& plan) {
  std::string words(text);
  for (std::size_t open = words.find('{'); open != std::string::npos; open = words.find('{')) {
    const std::size_t close = words.find('}', open);
    if (close == std::string::npos) break;
    const std::string_view name = std::string_view(words).substr(open + 1, close - open - 1);
    std::string value = "?";
    for (const PlanCell& cell : plan_cells(plan)) {
      if (cell.name == name) value = cell.value;
    }
    words.replace(open, close - open + 1, value);
  }
  return words;
}

/// Whether a setting that somebody named is the field: "overlap" names all that overlaps.
bool names(std::string_view setting, std::string_view field) {
  return field == setting || (setting == "overlap" && field.starts_with("overlap_"));
}

Diagnostic bad_rule(const TomlFile& file, const toml::node& at, std::string what) {
  return {ErrorCode::kBadInput, place(file, at), std::move(what), "correct the rule"};
}

}  // namespace

const LauncherRules& LauncherRules::of(PlanFormat format) {
  static const auto all = [] {
    std::array<LauncherRules, kFormats.size()> rules;
    for (const PlanFormat one : kFormats) {
      const std::string path = fmt::format("launch/rules/{}.toml", name(one));
      for (const CatalogFile& file : catalog_files()) {
        if (file.path != path) continue;
        // Compiled in and read by a test: it cannot fail on a user's machine and work on ours.
        Result<LauncherRules> read = parse(file.text, "catalog/" + path);
        if (read) rules[static_cast<std::size_t>(one)] = std::move(*read);
      }
    }
    return rules;
  }();
  return all[static_cast<std::size_t>(format)];
}

std::optional<Diagnostic> LauncherRules::add(const TomlFile& file, std::string_view group,
                                             std::string_view key, Rules& rules) const {
  const toml::array* list = file.root[group].as_array();
  if (list == nullptr) return std::nullopt;
  for (const toml::node& node : *list) {
    const toml::table* table = node.as_table();
    if (table == nullptr) return bad_rule(file, node, fmt::format("[[{}]] is expected", group));
    const auto text = (*table)[key].value<std::string>();
    const std::string source = (*table)["source"].value_or(std::string());
    if (!text) return bad_rule(file, node, fmt::format("the rule has no '{}'", key));
    if (!file.sources.contains(source)) return bad_rule(file, node, "the rule has no source");
    const std::string when = (*table)["when"].value_or(std::string());
    Result<Condition> condition = Condition::parse(when, place(file, node), softwares_);
    if (!condition) return condition.error();
    rules.push_back({std::move(*condition), *text});
  }
  return std::nullopt;
}

Result<LauncherRules> LauncherRules::parse(std::string_view text, const std::string& where) {
  const Result<TomlFile> file = parse_toml(text, where, false);
  if (!file) return file.error();
  LauncherRules rules;
  rules.words_ = file->root["words"].value_or(std::string());
  if (const toml::array* list = file->root["softwares"].as_array()) {
    for (const toml::node& one : *list) rules.softwares_.push_back(one.value_or(std::string()));
  }
  Rules does;
  const std::tuple<std::string_view, std::string_view, Rules*> groups[] = {
      {"refuses", "what", &rules.refuses_},
      {"does", "what", &does},
      {"needs", "text", &rules.needs_},
      {"flag", "text", &rules.flags_},
      {"environment", "text", &rules.environment_}};
  for (const auto& [group, key, list] : groups) {
    if (auto problem = rules.add(*file, group, key, *list)) return *std::move(problem);
  }
  for (Rule& rule : does) {
    const std::size_t sign = rule.text.find(" = ");
    const std::string field = rule.text.substr(0, sign);
    const auto value = sign == std::string::npos
                           ? std::nullopt
                           : fact_value(field, rule.text.substr(sign + 3), rules.softwares_);
    if (!value) {
      return Diagnostic{ErrorCode::kBadInput, where,
                        fmt::format("'{}' sets no field of a plan", rule.text), "correct the rule"};
    }
    rules.does_.push_back({std::move(rule.when), field, *find_fact(field), *value});
  }
  return rules;
}

bool LauncherRules::runs(const Plan& plan, const LaunchContext& context) const {
  return runs(PlanFacts(plan, context));
}

bool LauncherRules::runs(const PlanFacts& facts) const {
  return std::none_of(refuses_.begin(), refuses_.end(),
                      [&](const Rule& rule) { return rule.when.holds(facts); });
}

std::vector<std::string> LauncherRules::texts(const Rules& rules, const PlanFacts& facts) {
  std::vector<std::string> all;
  for (const Rule& rule : rules) {
    if (rule.when.holds(facts)) all.push_back(rule.text);
  }
  return all;
}

std::vector<std::string> LauncherRules::refusals(const Plan& plan,
                                                 const LaunchContext& context) const {
  std::vector<std::string> all = texts(refuses_, PlanFacts(plan, context));
  for (std::string& one : all) one = filled(one, plan);
  return all;
}

PlanFacts LauncherRules::settled(Plan& plan, const LaunchContext& context,
                                 std::span<const std::string> named) const {
  PlanFacts facts(plan, context);
  for (const Deed& deed : does_) {
    if (facts[deed.fact] == deed.value || !deed.when.holds(facts)) continue;
    const bool kept = std::any_of(named.begin(), named.end(), [&](const std::string& setting) {
      return names(setting, deed.field);
    });
    if (kept) continue;
    set_fact(plan, deed.fact, deed.value);
    facts = PlanFacts(plan, context);
  }
  return facts;
}

void LauncherRules::settle(Plan& plan, const LaunchContext& context,
                           std::span<const std::string> named) const {
  settled(plan, context, named);
}

bool LauncherRules::settle_and_run(Plan& plan, const LaunchContext& context,
                                   std::span<const std::string> named) const {
  return runs(settled(plan, context, named));
}

std::vector<std::string> LauncherRules::needs(const Plan& plan,
                                              const LaunchContext& context) const {
  return texts(needs_, PlanFacts(plan, context));
}

std::vector<std::string> LauncherRules::flags(const Plan& plan,
                                              const LaunchContext& context) const {
  return texts(flags_, PlanFacts(plan, context));
}

std::vector<std::string> LauncherRules::environment(const Plan& plan,
                                                    const LaunchContext& context) const {
  return texts(environment_, PlanFacts(plan, context));
}

}  // namespace flopcast::parallel
