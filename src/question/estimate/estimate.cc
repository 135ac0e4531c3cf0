// What is asked of one plan: its estimate, why it does not fit, and what would.
#include "flopcast/question/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text/amounts.h"
#include "base/text/format.h"
#include "flopcast/analytic/odds.h"
#include "flopcast/parallel/fields.h"
#include "question/estimate/precision.h"

namespace flopcast {

using namespace question;  // the room's own names

namespace {

/// All reasons as one error: the first one's place and hint where there is only one.
Diagnostic joined(const std::vector<Diagnostic>& problems) {
  if (problems.size() == 1) return problems.front();
  std::string what = fmt::format("{} reasons why it cannot run:", problems.size());
  for (const Diagnostic& problem : problems) what += "\n  " + problem.text();
  return {problems.front().code, "plan", what, ""};
}

/// The class of memory that is biggest, in words.
std::string biggest_class(const StageMemory& memory) {
  const std::vector<MemoryClass> classes = memory_classes(memory);
  const auto biggest = std::max_element(
      classes.begin(), classes.end(),
      [](const MemoryClass& a, const MemoryClass& b) { return a.bytes < b.bytes; });
  return fmt::format("{} take {}", biggest->meaning, short_bytes(biggest->bytes));
}

/// "fits: 52 %, 90 % are asked for (--fit-odds)"
std::string asked_words(const EstimateReport& report) {
  return fmt::format("{}, {} are asked for (--fit-odds)", odds_words(report.estimate.fit_odds),
                     percent(report.asked_odds));
}

std::string nearest_words(const EstimateReport& report) {
  if (report.fitting.empty()) return "no plan of this many chips fits";
  const FittingPlan& nearest = report.fitting.front();
  return fmt::format(
      "nearest plan that fits: {}; {} a step, {}, {}", plan_change_words(report.plan, nearest.plan),
      short_time(nearest.estimate.step), short_bytes(nearest.estimate.memory().total()),
      odds_words(nearest.estimate.fit_odds));
}

/// What a rounder step of the same plan would cost less.
std::string hint_of(const TrainingModel& model, const EstimateReport& report) {
  Plan plan = report.plan;
  auto rounder = rounder_sizes(plan.global_batch, plan.sequence);
  if (!rounder) return {};
  const RounderStep asked{plan.global_batch, plan.sequence, report.estimate.step};
  plan.global_batch = rounder->global_batch;
  plan.sequence = rounder->sequence;
  const Result<TrainingEstimate> estimate = model.estimate(plan);
  if (!estimate) return {};  // this plan does not divide it
  rounder->time = estimate->step;
  return rounder_words(asked, rounder);
}

}  // namespace

std::vector<MemoryClass> memory_classes(const StageMemory& memory) {
  constexpr std::array<std::string_view, 7> kMeanings = {
      "weights",
      "gradients",
      "optimizer states",
      "activations of microbatches in flight",
      "tensors of the layer that runs",
      "communication buffers and the device's context",
      "rounding and holes of the allocator",
  };
  std::vector<MemoryClass> classes;
  visit_memory(memory, [&](std::string_view name, Bytes bytes) {
    classes.push_back({name, kMeanings[classes.size()], bytes});
  });
  return classes;
}

GraphAnswer graph_answer(const StepRun& run) {
  return {run.step, run.tasks.size(), run.critical, run.busy};
}

Result<EstimateReport> make_estimate_report(const TrainingModel& model, const Plan& plan,
                                            std::vector<std::string> assumed) {
  const Cluster& cluster = model.cluster();
  auto problems = plan_problems(plan, model.model(), cluster.chips());
  if (auto problem = precision_problem(plan.precision, cluster.chip)) {
    problems.push_back(std::move(*problem));
  }
  if (!problems.empty()) return joined(problems);
  Result<TrainingEstimate> estimate = model.estimate(plan);
  if (!estimate) return estimate.error();
  EstimateReport report;
  report.model = model.model().name;
  report.cluster = cluster.name;
  report.own_fits = fit_notes(cluster);
  report.chip = cluster.chip.name;
  report.software = model.software();
  report.capacity = cluster.chip.hbm_capacity;
  report.parameters = count_parameters(model.model());
  report.asked_odds = model.options().fit_odds;
  report.plan = plan;
  report.plan.sequence = sequence_of(plan, model.model());
  report.estimate = std::move(*estimate);
  report.assumed = std::move(assumed);
  const std::vector<std::string>& notes = model.model().notes;
  report.assumed.insert(report.assumed.end(), notes.begin(), notes.end());
  if (model.options().software.empty()) {
    report.assumed.push_back(fmt::format("no software given: {}", report.software));
  }
  if (plan.sequence == 0) {
    report.assumed.push_back(
        fmt::format("no sequence length given: the model's longest, {} tokens",
                    grouped(static_cast<std::uint64_t>(report.plan.sequence))));
  }
  const auto& more = report.estimate.assumed;
  report.assumed.insert(report.assumed.end(), more.begin(), more.end());
  report.hint = hint_of(model, report);
  if (!report.estimate.fits) report.fitting = fitting_plans(model, report.plan);
  return report;
}

std::optional<Diagnostic> add_whole_run(const TrainingModel& model, const RunQuestion& asked,
                                        EstimateReport& report) {
  report.asked = asked;
  report.asked->usd_per_chip_hour = model.options().usd_per_chip_hour;
  take_price(*report.asked, model.cluster());
  Result<WholeRun> run = whole_run(report.estimate, report.plan, model.model(), *report.asked);
  if (!run) return run.error();
  report.run = *run;
  return std::nullopt;
}

std::optional<Diagnostic> memory_problem(const EstimateReport& report) {
  const TrainingEstimate& estimate = report.estimate;
  if (estimate.fits) return std::nullopt;
  const StageMemory& memory = estimate.memory();
  const auto bytes = [](Bytes b) { return short_bytes(b); };
  const Bytes usable = estimate.capacity, over = memory.total() - usable;
  return Diagnostic{
      ErrorCode::kTooLarge, fmt::format("memory of pipeline stage {}", estimate.fullest),
      fmt::format("a chip needs {} (10-90 %: {} to {}), {} the {} it may use; {}; {}",
                  bytes(memory.total()), bytes(estimate.memory_low), bytes(estimate.memory_high),
                  over > Bytes{0} ? bytes(over) + " more than" : "of", bytes(usable),
                  asked_words(report), biggest_class(memory)),
      nearest_words(report)};
}

}  // namespace flopcast
