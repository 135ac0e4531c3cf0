// Which rules hold of a run, and what they say.
#include "measured/training/launches.h"
#include "flopcast/machine/training.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/text/numbers.h"
#include "measured/training/book.h"
#include "measured/training/words.h"

namespace flopcast::measured {
namespace {

using Names = std::vector<std::string>;

bool among(const Names& list, std::string_view name) {
  return std::ranges::find(list, name) != list.end();
}
/// A list that asks nothing, or has the name.
bool takes(const Names& list, std::string_view name) { return list.empty() || among(list, name); }
bool begins_as(const Names& list, std::string_view name) {
  return std::ranges::any_of(list, [&](const std::string& word) { return name.starts_with(word); });
}

bool is_of(const Publisher& publisher, const RunTexts& texts, const LaunchFacts& facts) {
  return among(publisher.repos, texts.repo) ||
         (facts.chip != nullptr && among(publisher.architectures, facts.chip->architecture)) ||
         std::ranges::any_of(publisher.frameworks, [&](const std::string& phrase) {
           return says(texts.framework, phrase);
         });
}

const std::string& text_named(const RunTexts& texts, std::string_view name) {
  const std::array<std::pair<std::string_view, const std::string*>, 6> all = {
      {{"framework", &texts.framework},
       {"recompute", &texts.recompute},
       {"task", &texts.task},
       {"remarks", &texts.remarks},
       {"note", &texts.note},
       {"path", &texts.path}}};
  static const std::string kNone;
  const auto found =
      std::ranges::find(all, name, &std::pair<std::string_view, const std::string*>::first);
  return found != all.end() ? *found->second : kNone;
}

bool has_latent_attention(const Model* model) {
  return model != nullptr && std::ranges::any_of(model->kinds, [](const Layer& layer) {
           return layer.attention.latent();
         });
}

/// Whether the run's words are those that are asked for.
bool words_hold(const LaunchBook& book, const LaunchMatch& match, const RunTexts& texts,
                const LaunchFacts& facts) {
  if (!match.publisher.empty()) {
    const auto publisher = book.publishers.find(match.publisher);
    if (publisher == book.publishers.end() || !is_of(publisher->second, texts, facts)) return false;
  }
  const bool in_time = (match.from == 0 || (texts.month != 0 && texts.month >= match.from)) &&
                       (match.to == 0 || (texts.month != 0 && texts.month <= match.to));
  return in_time && takes(match.repos, texts.repo) && takes(match.sets, texts.set) &&
         takes(match.tasks, texts.task) && std::ranges::all_of(match.says, [&](const auto& said) {
           return says(text_named(texts, said.first), said.second);
         });
}

/// Whether model, chip and plan are.
bool facts_hold(const LaunchMatch& match, const LaunchFacts& facts) {
  const std::string_view model = facts.model != nullptr ? facts.model->name : std::string_view();
  const std::string_view chip = facts.chip != nullptr ? facts.chip->name : std::string_view();
  const std::string_view kind =
      facts.chip != nullptr ? facts.chip->architecture : std::string_view();
  const std::string_view precision = facts.precision ? name(*facts.precision) : std::string_view();
  const bool small = match.memory_below.value <= 0 ||
                     (facts.chip != nullptr && facts.chip->hbm_capacity < match.memory_below);
  return (match.models.empty() || begins_as(match.models, model)) &&
         !begins_as(match.models_not, model) && takes(match.chips, chip) &&
         takes(match.architectures, kind) && takes(match.precisions, precision) &&
         !among(match.precisions_not, precision) && small &&
         (!match.latent || has_latent_attention(facts.model)) &&
         (!match.compiled || *match.compiled == facts.compiled) &&
         (!match.zero || *match.zero == facts.zero) && facts.tp >= match.tp_from &&
         facts.pp >= match.pp_from && facts.vpp >= match.vpp_from &&
         (match.vpp_below == 0 || facts.vpp < match.vpp_below) &&
         facts.micro_batch >= match.micro_batch_from;
}

std::optional<std::uint8_t> modules_of(const toml::node& node) {
  constexpr std::array<std::pair<std::string_view, std::uint8_t>, 6> kModules = {
      {{"core_attn", kRecomputeCoreAttention},
       {"layernorm", kRecomputeNorm},
       {"activation", kRecomputeActivation},
       {"mlp", kRecomputeMlp},
       {"mla_up_proj", kRecomputeLatentUp},
       {"op", kRecomputeOp}}};
  const toml::array* list = node.as_array();
  if (list == nullptr) return std::nullopt;
  std::uint8_t modules = 0;
  for (const toml::node& item : *list) {
    const std::string word = item.value_or(std::string());
    const auto found = std::ranges::find(kModules, word, &decltype(kModules)::value_type::first);
    if (found == kModules.end()) return std::nullopt;
    modules |= found->second;
  }
  return modules;
}

constexpr std::array kFlags = {std::pair{"experts_as_layers", &Launch::experts_as_layers},
                               std::pair{"stages_of_one_layer", &Launch::stages_of_one_layer},
                               std::pair{"batch_by_stages", &Launch::batch_by_stages},
                               std::pair{"flash_attention", &Launch::flash_attention},
                               std::pair{"fp32_gradients", &Launch::fp32_gradients},
                               std::pair{"reshard", &Launch::reshard},
                               std::pair{"sums_as_reduced", &Launch::sums_as_reduced},
                               std::pair{"overlap_gradients", &Launch::overlap_gradients},
                               std::pair{"overlap_tensor", &Launch::overlap_tensor},
                               std::pair{"overlap_experts", &Launch::overlap_experts},
                               std::pair{"overlap_pipeline", &Launch::overlap_pipeline},
                               std::pair{"lora_mlp", &Launch::lora_mlp},
                               std::pair{"forced_routing", &Launch::forced_routing},
                               std::pair{"memory_reserved", &Launch::memory_reserved}};

bool put_one(std::string_view key, const toml::node& value, Launch& launch) {
  const auto flag = std::ranges::find_if(kFlags, [&](const auto& f) { return key == f.first; });
  if (flag != kFlags.end()) {
    launch.*(flag->second) = value.value_or(false);
    return value.is_boolean();
  }
  const auto number = value.value<std::int64_t>();
  const auto word = value.value<std::string>();
  if (key == "software" && word) return launch.software = *word, true;
  if (key == "assumed" && word) return launch.assumed.push_back(*word), true;
  if (key == "mtp_layers" && number)
    return launch.mtp_layers = static_cast<unsigned>(*number), true;
  if (key == "lora_rank" && number) return launch.lora_rank = *number, true;
  if (key == "document_tokens" && number) return launch.document_tokens = *number, true;
  if (key == "context" && word) {
    launch.context = ContextKind::kAllGather;
    return *word == "all_gather";
  }
  const auto modules = key == "recompute" ? modules_of(value) : std::nullopt;
  if (modules) launch.recompute = *modules;
  return modules.has_value();
}

/// Found in sets of which at least one has been seen; or a matter of words.
bool is_known(const LaunchRule& rule, const Names& unseen) {
  return rule.found_in.empty() || std::ranges::any_of(rule.found_in, [&](const std::string& set) {
           return !among(unseen, set);
         });
}

void put_all(const std::vector<LaunchRule>& rules, const LaunchBook& book, const Names& unseen,
             const RunTexts& texts, const LaunchFacts& facts, Launch& launch) {
  for (const LaunchRule& rule : rules) {
    if (!is_known(rule, unseen) || !holds(book, rule.match, texts, facts, launch.software))
      continue;
    put(rule.set, launch);
  }
}

/// In which anything was found out.
std::set<std::string> sets_of_rules(const LaunchBook& book) {
  std::set<std::string> sets;
  for (const auto* rules : {&book.compiled, &book.software, &book.layout, &book.launch}) {
    for (const LaunchRule& rule : *rules) sets.insert(rule.found_in.begin(), rule.found_in.end());
  }
  return sets;
}

}  // namespace

bool holds(const LaunchBook& book, const LaunchMatch& match, const RunTexts& texts,
           const LaunchFacts& facts, std::string_view software) {
  return takes(match.software, software) && words_hold(book, match, texts, facts) &&
         facts_hold(match, facts);
}

std::string put(const toml::table& set, Launch& launch) {
  for (const auto& [key, value] : set) {
    if (!put_one(key.str(), value, launch)) return std::string(key.str());
  }
  return "";
}

Result<LaunchRules> LaunchRules::make(const std::vector<std::string>& unseen) {
  if (!launch_book()) return launch_book().error();
  LaunchRules rules;
  rules.unseen_ = unseen;
  return rules;
}

bool LaunchRules::compiled(const RunTexts& texts, const LaunchFacts& facts) const {
  const LaunchBook& book = *launch_book();
  return std::ranges::any_of(book.compiled, [&](const LaunchRule& rule) {
    return is_known(rule, unseen_) && holds(book, rule.match, texts, facts, texts.software);
  });
}

std::string LaunchRules::software(const RunTexts& texts, const LaunchFacts& facts) const {
  const LaunchBook& book = *launch_book();
  for (const LaunchRule& rule : book.software) {
    if (!texts.software.empty() && !rule.told) continue;
    if (is_known(rule, unseen_) && holds(book, rule.match, texts, facts, "")) return rule.software;
  }
  return texts.software.empty() ? training_software().front() : texts.software;
}

void LaunchRules::put_layout(const RunTexts& texts, const LaunchFacts& facts,
                             Launch& launch) const {
  put_all(launch_book()->layout, *launch_book(), unseen_, texts, facts, launch);
}

void LaunchRules::put_launch(const RunTexts& texts, const LaunchFacts& facts,
                             Launch& launch) const {
  put_all(launch_book()->launch, *launch_book(), unseen_, texts, facts, launch);
}

Result<TableRuns> table_runs() {
  if (!launch_book()) return launch_book().error();
  return launch_book()->table;
}

}  // namespace flopcast::measured

namespace flopcast {

std::optional<Diagnostic> unseen_problem(const RunReading& reading,
                                         const std::vector<TrainingRun>& runs) {
  const Result<measured::LaunchBook>& book = measured::launch_book();
  if (!book) return book.error();
  std::set<std::string> known = measured::sets_of_rules(*book);
  for (const TrainingRun& run : runs) known.insert(run.set);
  for (const std::string& set : reading.unseen_sets) {
    if (known.contains(set)) continue;
    return Diagnostic{ErrorCode::kUsage, set,
                      "is no set of these runs, nor one that a rule on launches was found in",
                      fmt::format("there are {}", fmt::join(known, ", "))};
  }
  return std::nullopt;
}

}  // namespace flopcast
