#include "cli/plan/plan_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text/format.h"
#include "base/text/numbers.h"
#include "cli/terminal/options.h"
#include "flopcast/analytic/odds.h"
#include "flopcast/question/launch.h"

namespace flopcast::cli {
namespace {

Diagnostic unknown(std::string_view flag, std::string_view expected, std::string_view found) {
  return {ErrorCode::kUsage, std::string(flag),
          fmt::format("expected {}, found '{}'", expected, found), "--help has every choice"};
}

/// 0.9 of "90%" or "0.9".
Result<double> parse_share(const std::string& text) {
  const bool in_percent = text.ends_with('%');
  const std::string_view number(text.data(), text.size() - (in_percent ? 1 : 0));
  double value = parse_number(number).value_or(0);
  if (in_percent) value /= 100;
  if (value > 0 && value <= 1) return value;
  return unknown("--memory", "a share of the chip's memory such as 90%", text);
}

/// "tp" is "--tp", "micro_batch" "--micro-batch".
std::string flag_of(std::string_view name) {
  std::string flag = "--" + std::string(name);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

void add_setting(CLI::App& command, const PlanSetting& setting, PlanSettings& given) {
  const std::string name(setting.name), flag = flag_of(name), meaning(setting.meaning);
  if (setting.takes.empty()) {
    const std::string no = "--no-" + flag.substr(2);
    const auto set = [&](const std::string& names, const char* value, const std::string& text) {
      return command.add_flag_callback(
          names, [&given, name, value] { given[name] = value; }, text);
    };
    set(flag, "true", fmt::format("{}; or {}", meaning, no));
    set(no, "false", "")->group("");  // told beside the other
    return;
  }
  const std::string names =
      setting.long_name.empty() ? flag : fmt::format("{},--{}", flag, setting.long_name);
  command
      .add_option_function<std::string>(
          names, [&given, name](const std::string& value) { given[name] = value; }, meaning)
      ->type_name(std::string(setting.takes));
}

void add_settings(CLI::App& command, SettingKind kind, PlanSettings& given) {
  for (const PlanSetting& setting : plan_settings()) {
    if (setting.kind == kind) add_setting(command, setting, given);
  }
}

/// Diagnostics of the library name settings; on the command line they are flags.
template <typename T>
Result<T> as_flags(Result<T> result) {
  if (result) return result;
  Diagnostic error = result.error();
  for (const PlanSetting& setting : plan_settings()) {
    if (error.where == setting.name) error.where = flag_of(setting.name);
  }
  return error;
}

}  // namespace

void add_training(CLI::App& command, TrainingFlags& flags) {
  command
      .add_option(
          "MODEL", flags.model,
          "A built-in model (llama-3-70b, gpt-3-175b, ...), or a Hugging Face config.json or "
          "the folder that holds one; may be left out where the file of --plan-from tells it")
      ->type_name("");
  command
      .add_option("--on", flags.clusters,
                  "The cluster: \"128 x dgx-h100\", \"8 nodes of dgx-h100, rail NDR\", a name of "
                  "`flopcast hw list`, or a file")
      ->type_name("CLUSTER")
      ->allow_extra_args(false);
  command
      .add_option("--software", flags.software,
                  "How the training's software behaves: a profile of the catalogue")
      ->type_name("PROFILE");
  add_fits(command, flags.fits, "--fit,--constants");
  command
      .add_option(
          "--price", flags.prices,
          "What an hour of one chip costs, in USD; of several clusters a list, one for each")
      ->type_name("USD")
      ->delimiter(',')
      ->allow_extra_args(false);
  command.add_option("--memory", flags.memory, "Share of a chip's memory that may be used")
      ->type_name("SHARE")
      ->capture_default_str();
  command
      .add_option("--fit-odds", flags.fit_odds,
                  "How likely a plan has to fit into that; 0.5 takes plans at the edge")
      ->type_name("ODDS")
      ->capture_default_str();
}

Result<double> price_on(const TrainingFlags& flags, std::size_t cluster) {
  const std::size_t known = flags.prices.size();
  if (known > 1 && known != flags.clusters.size()) {
    return usage_error("--price",
                       fmt::format("{} for {}", counted(known, "price"),
                                   counted(flags.clusters.size(), "cluster")),
                       "give one for all, or one for each in their order");
  }
  if (known == 0) return 0.0;
  const double price = flags.prices[known == 1 ? 0 : cluster];
  if (price >= 0) return price;
  return usage_error("--price", "is below zero", "give USD per chip and hour");
}

std::optional<Diagnostic> take_fits(TrainingFlags& flags) {
  for (std::string& cluster : flags.clusters) {
    if (auto problem = take_fits(cluster, flags.fits)) return problem;
  }
  return std::nullopt;
}

Result<TrainingOptions> training_options(const TrainingFlags& flags) {
  TrainingOptions options;
  options.software = flags.software;
  const Result<double> share = parse_share(flags.memory);
  if (!share) return share.error();
  options.memory_share = *share;
  if (const auto problem = odds_problem("--fit-odds", flags.fit_odds)) return *problem;
  options.fit_odds = flags.fit_odds;
  const Result<double> price = price_on(flags, 0);
  if (!price) return price.error();
  options.usd_per_chip_hour = *price;
  return options;
}

Result<std::optional<PlanFile>> launch_file(const PlanFlags& flags, const std::string& cluster) {
  if (flags.from.empty()) return std::optional<PlanFile>();
  LaunchSite site;
  site.arguments = flags.arguments;
  if (!cluster.empty()) {
    const Result<Cluster> on = Catalog::builtin().cluster(cluster);
    if (!on) return on.error();
    site = launch_site(*on, flags.arguments);
  }
  Result<PlanFile> file = read_plan(flags.from.string(), site);
  if (!file) return file.error();
  if (flags.strict) {
    if (auto problem = strict_problem(*file, flags.from.string())) return *problem;
  }
  return std::optional<PlanFile>(std::move(*file));
}

Result<TrainingModel> open_training(const TrainingFlags& flags, std::optional<PlanFile>& file) {
  Result<TrainingOptions> options = training_options(flags);
  if (!options) return options.error();
  if (flags.clusters.size() > 1) {
    return usage_error("--on", fmt::format("names {} clusters", flags.clusters.size()),
                       "one plan is on one of them; flopcast plan compares several");
  }
  if (flags.clusters.empty()) {
    return Diagnostic{ErrorCode::kUsage, "--on", "is missing",
                      "name the cluster, such as \"128 x dgx-h100\""};
  }
  Result<Model> model = model_of(flags.model, file ? &*file : nullptr);
  if (!model) return model.error();
  if (file) {
    compare_model(*file, *model);
    take_software(*file, *options);
  }
  const Catalog& catalog = Catalog::builtin();
  Result<Cluster> cluster = catalog.cluster(flags.cluster());
  if (!cluster) return cluster.error();
  return TrainingModel::make(std::move(*model), std::move(*cluster), catalog, *options);
}

void add_batch(CLI::App& command, PlanFlags& flags) {
  add_settings(command, SettingKind::kBatch, flags.given);
  command
      .add_option(
          "--plan-from", flags.from,
          "Start from the file that a training is launched with: a script, flags, YAML, TOML, JSON "
          "or a log of Megatron-LM's; other flags change what it says")
      ->type_name("FILE");
  command
      .add_option("--plan-args", flags.arguments,
                  "What the script of --plan-from is called with: \"TP=4 8B 16\"")
      ->type_name("WORDS");
  command.add_flag("--strict", flags.strict,
                   "Refuse a file of --plan-from with settings that are not modelled or not known");
}

void add_degrees(CLI::App& command, PlanFlags& flags) {
  add_settings(command, SettingKind::kDegree, flags.given);
  add_settings(command, SettingKind::kGrid, flags.given);
}

void add_choices(CLI::App& command, PlanFlags& flags) {
  add_settings(command, SettingKind::kChoice, flags.given);
}

Result<NamedPlan> plan_of(const PlanFlags& flags, const std::optional<PlanFile>& file,
                          unsigned chips) {
  return as_flags(make_plan(flags.given, chips, file ? &*file : nullptr));
}

Result<NamedPlan> base_plan(const PlanFlags& flags, const std::optional<PlanFile>& file) {
  return as_flags(base_plan(flags.given, file ? &*file : nullptr));
}

Result<PlanFormat> plan_format(std::string_view flag, const std::string& text) {
  if (const std::optional<PlanFormat> format = parse_plan_format(text)) return *format;
  return unknown(flag, "megatron, torchtitan or deepspeed", text);
}

}  // namespace flopcast::cli
