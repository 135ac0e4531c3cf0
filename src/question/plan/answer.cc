// From a question to a report: the search, and estimates of what it found.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/text/names.h"
#include "flopcast/machine/training.h"
#include "flopcast/question/plan.h"
#include "flopcast/version.h"
#include "question/estimate/precision.h"
#include "question/plan/launches.h"
#include "question/plan/ranking.h"

namespace flopcast {

using namespace question;  // the room's own names

namespace {

void fill_question(PlanReport& report, const PlanQuestion& question, const Model& model,
                   const PlanMachine& machine) {
  report.model = model.name;
  report.parameters = count_parameters(model).total;
  report.layers = model.layers();
  report.launchable = question.launchable;
  report.assumed = question.assumed;
  report.assumed.insert(report.assumed.end(), model.notes.begin(), model.notes.end());
  report.on = question.cluster;
  report.cluster = machine.cluster.name;
  report.chip = machine.cluster.chip.name;
  report.capacity = machine.cluster.chip.hbm_capacity;
  report.chips = machine.chips;
  report.software = question.training.software;
  if (report.software.empty()) report.software = training_software().front();
  report.own_fits = fit_notes(machine.cluster);
  report.version = kVersion;
  report.global_batch = question.global_batch;
  report.memory_share = question.training.memory_share;
  report.fit_odds = question.training.fit_odds;
  report.run = question.run;
  if (report.run) take_price(*report.run, machine.cluster);
  report.usd_per_chip_hour = question.training.usd_per_chip_hour;
  report.placements = question.placements;
  report.asked_launches =
      question.launches && question.changes.empty();  // of a sweep, bests are compared
  report.named = question.named;
  report.asked_best = question.best;
  report.constraints = question.constraints;
  report.changes = question.changes;
  report.base = question.base;
  report.base.global_batch = question.global_batch;
  if (question.sequence > 0) report.base.sequence = question.sequence;
  report.sequence = sequence_of(report.base, model);
}

PlanSearchOptions search_options(const PlanReport& report, const PlanRun& run) {
  PlanSearchOptions options;
  options.chips = report.chips;
  options.global_batch = report.global_batch;
  options.sequence = report.sequence;
  options.base = report.base;
  options.base.sequence = report.sequence;
  options.constraints = report.constraints;
  options.launchable = report.launchable;
  options.named = report.named;
  options.placements = report.placements;
  options.memory_share = report.memory_share;
  options.fit_odds = report.fit_odds;
  options.best = report.asked_best;
  options.threads = run.threads;
  options.shard = run.shard;
  options.shards = run.shards;
  options.progress = run.progress;
  return options;
}

/// Of all precisions that are searched, the first that the chip does not multiply in.
std::optional<Diagnostic> searched_precision_problem(const PlanReport& report, const Chip& chip) {
  const Result<std::vector<Precision>> precisions = searched_precisions(search_options(report, {}));
  if (!precisions) return precisions.error();
  for (const Precision precision : *precisions) {
    if (auto problem = precision_problem(precision, chip)) return problem;
  }
  return std::nullopt;
}

struct Opened {
  PlanReport report;
  Model model;
  PlanMachine machine;
};
/// What a launcher implies where nobody says otherwise.
PlanQuestion with_launcher(PlanQuestion question) {
  if (!question.launchable) return question;
  const PlanFormat launcher = *question.launchable;
  question.placements = false;
  question.assumed.push_back(launcher_placement(launcher));
  question.assumed.push_back(software_words(launcher, question.training.software));
  if (question.training.software.empty()) {
    question.training.software = launcher_softwares(launcher).front();
  }
  return question;
}

Result<Opened> open(const PlanQuestion& given) {
  const PlanQuestion question = with_launcher(given);
  if (question.global_batch < 1) {
    return Diagnostic{ErrorCode::kUsage, "--global-batch", "is missing or below 1",
                      "give the sequences of one step, over all replicas"};
  }
  Result<Model> model =
      question.own_model ? Result<Model>(*question.own_model) : load_model(question.model);
  if (!model) return model.error();
  if (auto problem = price_problem(*model)) return *std::move(problem);
  Result<PlanMachine> machine = plan_machine(question, Catalog::builtin());
  if (!machine) return machine.error();
  Opened opened{{}, std::move(*model), std::move(*machine)};
  fill_question(opened.report, question, opened.model, opened.machine);
  if (opened.report.run) {
    if (auto problem = run_problem(*opened.report.run)) return *std::move(problem);
  }
  const Chip& chip = opened.machine.cluster.chip;
  if (auto problem = searched_precision_problem(opened.report, chip)) return *std::move(problem);
  return opened;
}

/// Estimates of the best; what the first one assumed, and what it is sensitive to. Of a shard's any tie
/// may be the first of the whole.
std::optional<Diagnostic> estimate_best(const TrainingModel& training, PlanReport& report) {
  Result<std::vector<PlanCandidate>> list = ranked(training, report.search, report.run);
  if (!list) return list.error();
  report.best = std::move(*list);
  for (std::size_t i = 0; i < report.best.size(); ++i) {
    PlanCandidate& one = report.best[i];
    if (i > 0 && !(report.shards > 1 && one.tie)) continue;
    auto changes = sensitivities(training, one.found.plan, one.found.placement);
    if (!changes) return changes.error();
    one.sensitivities = std::move(*changes);
  }
  if (report.shards == 1) tell_first(report);
  return std::nullopt;
}

/// The fastest step of rounder sizes in this part of their plans. None: these are round, or the search was stopped.
Result<std::optional<RounderStep>> rounder_of(const TrainingModel& training,
                                              const PlanReport& report, const PlanRun& run) {
  std::optional<RounderStep> rounder = rounder_sizes(report.global_batch, report.sequence);
  if (!rounder) return rounder;
  PlanSearchOptions options = search_options(report, run);
  options.global_batch = options.base.global_batch = rounder->global_batch;
  options.sequence = options.base.sequence = rounder->sequence;
  options.best = 1;
  const Result<PlanSearch> search = search_plans(training, options);
  if (!search) return search.error();
  if (!search->complete || search->best.empty()) return std::optional<RounderStep>();
  rounder->time = search->best.front().time;
  return rounder;
}

// Degrees that a search takes as given although they could be varied.
constexpr std::array<std::string_view, 3> kGiven = {"layout", "recompute_modules",
                                                    "recompute_layers"};

/// The setting of this name, short or long; null: there is none.
const PlanSetting* find_setting(std::string_view given) {
  const std::string key = name_key(given);
  for (const PlanSetting& setting : plan_settings()) {
    if (name_key(setting.name) == key ||
        (!setting.long_name.empty() && name_key(setting.long_name) == key)) {
      return &setting;
    }
  }
  return nullptr;
}

/// The name of the setting, where a search varies it; else nothing.
std::string_view varied_setting(std::string_view given) {
  const PlanSetting* setting = find_setting(given);
  if (setting == nullptr || setting->kind != SettingKind::kDegree) return {};
  const bool fixed = std::find(kGiven.begin(), kGiven.end(), setting->name) != kGiven.end();
  return fixed ? std::string_view() : setting->name;
}

/// Its short name.
std::string setting_name(const std::string& given) {
  const PlanSetting* setting = find_setting(given);
  return setting == nullptr ? given : std::string(setting->name);
}

}  // namespace

std::string PlanReport::hint() const {
  if (search.pareto.empty()) return {};
  return rounder_words({global_batch, sequence, search.pareto.front().time}, rounder);
}

Result<PlanQuestion> with_settings(PlanQuestion question, const PlanSettings& settings,
                                   const PlanFile* from) {
  PlanSettings fixed;
  for (const auto& [given, value] : settings) {
    const std::string_view name = varied_setting(given);
    if (name.empty()) {
      fixed.emplace(given, value);
      question.named.push_back(setting_name(given));
    } else {
      Result<PlanConstraint> constraint = plan_constraint(name, "=", value);
      if (!constraint) return constraint.error();
      question.constraints.push_back(std::move(*constraint));
    }
  }
  const Result<NamedPlan> base = base_plan(fixed, from);
  if (!base) return base.error();
  question.base = base->plan;
  question.global_batch = base->plan.global_batch;
  question.sequence = base->plan.sequence;
  question.assumed = base->assumed;
  for (const std::string& words : base->unmodelled) {
    question.assumed.push_back("not modelled: " + words);
  }
  if (!base->unknown.empty()) {
    question.assumed.push_back(
        fmt::format("not known, and taken as without meaning: {}", fmt::join(base->unknown, ", ")));
  }
  if (!base->ignored.empty()) {
    question.assumed.push_back(
        fmt::format("ignored, without meaning for a step: {}", fmt::join(base->ignored, ", ")));
  }
  return question;
}

Result<PlanReport> asked(const PlanQuestion& question) {
  Result<Opened> opened = open(question);
  if (!opened) return opened.error();
  return std::move(opened->report);
}

Result<PlanReport> answer(const PlanQuestion& question, const PlanRun& run) {
  Result<Opened> opened = open(question);
  if (!opened) return opened.error();
  PlanReport& report = opened->report;
  const TrainingOptions training_options = opened->machine.training;
  const Result<TrainingModel> training =
      TrainingModel::make(std::move(opened->model), std::move(opened->machine.cluster),
                          Catalog::builtin(), training_options);
  if (!training) return training.error();
  // Of the searches behind the first no more is told than that it is done; they can be stopped as well.
  std::uint64_t whole = 0;
  bool stopped = false;
  PlanRun first = run, rest = run;
  if (run.progress) {
    first.progress = [&](std::uint64_t done, std::uint64_t all) {
      whole = all;
      return run.progress(done, all);
    };
    rest.progress = [&](std::uint64_t, std::uint64_t) {
      stopped = stopped || (whole > 0 && !run.progress(whole, whole));
      return !stopped;
    };
  }
  Result<PlanSearch> search = search_plans(*training, search_options(report, first));
  if (!search) return search.error();
  report.shard = run.shard;
  report.shards = run.shards;
  report.search = std::move(*search);
  if (!report.search.complete) return std::move(report);
  if (const auto problem = estimate_best(*training, report)) return *problem;
  if (auto problem = find_launches(*training, search_options(report, rest), report)) {
    return *std::move(problem);
  }
  Result<std::optional<RounderStep>> rounder = rounder_of(*training, report, rest);
  if (!rounder) return rounder.error();
  report.rounder = *rounder;
  if (stopped) report.search.complete = false;
  return std::move(report);
}

}  // namespace flopcast
