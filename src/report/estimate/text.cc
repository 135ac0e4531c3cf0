// An estimate for a terminal: the answer, where the time and the memory go, what both rest on.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/layout/fit.h"
#include "base/text/amounts.h"
#include "base/text/format.h"
#include "base/text/shown.h"
#include "flopcast/analytic/odds.h"
#include "flopcast/parallel/fields.h"
#include "report/estimate/report.h"
#include "report/render/bar.h"
#include "report/render/counts.h"
#include "report/render/table.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

constexpr unsigned kBarWidth = 28;

std::string gigabytes(Bytes bytes) { return fmt::format("{:.1f}", bytes.value * 1e-9); }

std::string parameters_text(const Parameters& parameters) {
  const std::string total = parameter_count(parameters.total) + " parameters";
  if (parameters.active == parameters.total) return total;
  return fmt::format("{}, {} of them active", total, parameter_count(parameters.active));
}

std::string head_text(const EstimateReport& r) {
  const Plan& plan = r.plan;
  const auto microbatches = static_cast<std::uint64_t>(plan.microbatches());
  return fmt::format(
      "{}, {}, on {} ({} x {})\n"
      "  plan  {}\n"
      "  step  {} of {} tokens, {}: {} microbatch{} of {} on each replica\n",
      escaped(r.model), parameters_text(r.parameters), escaped(r.cluster), grouped(plan.chips()),
      escaped(r.chip), plan_words(plan),
      counted(static_cast<std::uint64_t>(plan.global_batch), "sequence"),
      grouped(static_cast<std::uint64_t>(plan.sequence)), name(plan.precision),
      grouped(microbatches), microbatches == 1 ? "" : "es", plan.micro_batch);
}

/// "38.9 GB (10-90 %: 36.7 GB to 41.2 GB) of 85.9 GB, fits: > 99 %".
std::string memory_words(const TrainingEstimate& e) {
  return fmt::format("{} (10-90 %: {} to {}) of {}, {}", short_bytes(e.memory().total()),
                     short_bytes(e.memory_low), short_bytes(e.memory_high), short_bytes(e.capacity),
                     odds_words(e.fit_odds));
}

std::string answer_text(const EstimateReport& r) {
  const TrainingEstimate& e = r.estimate;
  return fmt::format("{} a step (10-90 %: {} to {})\n  {} tokens/s, MFU {}, HFU {}\n  {}{}\n",
                     short_time(e.step), short_time(e.low), short_time(e.high),
                     rounded_count(e.tokens_per_second), percent(e.mfu), percent(e.hfu),
                     e.fits ? "" : "DOES NOT FIT: ", memory_words(e));
}

/// All times of a step in one unit, to compare them at a glance.
std::string in_unit_of(Seconds step, Seconds time) {
  if (step.value >= 1) return fmt::format("{:.3f} s", time.value);
  return fmt::format("{:.2f} ms", time.value * 1e3);
}

std::string parts_text(const TrainingEstimate& e) {
  Table table({{"where the time goes", Align::kLeft}, {"time"}, {"share"}, {"", Align::kLeft}});
  const auto parts = ranked_parts(e);
  const double longest = parts.empty() ? 1 : parts.front().share;
  for (const PartShare& part : parts) {
    table.add({std::string(meaning(part.part)), in_unit_of(e.step, part.time), percent(part.share),
               bar(part.share / longest, kBarWidth)});
  }
  return table.text();
}

std::string_view meaning(StepTask task) {
  constexpr std::array<std::string_view, kStepTasks> kMeanings = {
      "forward passes",  "backward passes",   "forward and backward at once",
      "sends to stages", "gathering weights", "reducing gradients",
      "optimizer step",  "fixed costs"};
  return kMeanings[static_cast<std::size_t>(task)];
}

std::string graph_text(const EstimateReport& r) {
  if (!r.graph) return {};
  const GraphAnswer& graph = *r.graph;
  Table table({{"what holds the step up", Align::kLeft}, {"time"}, {"share"}, {"", Align::kLeft}});
  for (std::size_t i = 0; i < kStepTasks; ++i) {
    const double share = graph.critical[i] / graph.step;
    if (!(share > 0)) continue;
    table.add({std::string(meaning(static_cast<StepTask>(i))),
               in_unit_of(graph.step, graph.critical[i]), percent(share), bar(share, kBarWidth)});
  }
  return fmt::format("Run as an execution graph of {}: {} a step, {} from the closed form\n{}\n",
                     counted(graph.tasks, "task"), short_time(graph.step),
                     signed_percent(graph.step / r.estimate.step - 1), table.text());
}

std::string fitting_text(const EstimateReport& r) {
  if (r.fitting.empty()) return {};
  Table table({{"what would make it fit", Align::kLeft}, {"a step"}, {"memory"}, {""}});
  for (const FittingPlan& fitting : r.fitting) {
    table.add({plan_change_words(r.plan, fitting.plan), short_time(fitting.estimate.step),
               gigabytes(fitting.estimate.memory().total()) + " GB",
               odds_words(fitting.estimate.fit_odds)});
  }
  return table.text() + '\n';
}

std::vector<std::string> memory_row(const StageEstimate& stage, Bytes usable) {
  std::vector<std::string> cells = {fmt::format("{}", stage.layers)};
  for (const MemoryClass& c : memory_classes(stage.memory)) cells.push_back(gigabytes(c.bytes));
  const double share = stage.memory.total() / usable;
  cells.push_back(gigabytes(stage.memory.total()));
  cells.push_back(percent(share));
  return cells;
}

/// A row for each run of stages that look alike.
std::string memory_text(const EstimateReport& r) {
  const TrainingEstimate& e = r.estimate;
  const Bytes usable = e.capacity;
  std::vector<Table::Column> columns = {{"stage", Align::kLeft}, {"layers"}};
  for (const MemoryClass& c : memory_classes(e.memory())) columns.push_back({std::string(c.name)});
  columns.insert(columns.end(), {{"total"}, {"used"}});
  Table table(columns);
  for (std::size_t first = 0; first < e.stages.size();) {
    const std::vector<std::string> cells = memory_row(e.stages[first], usable);
    std::size_t last = first;
    while (last + 1 < e.stages.size() && memory_row(e.stages[last + 1], usable) == cells) ++last;
    std::vector<std::string> row = {first == last ? fmt::format("{}", first)
                                                  : fmt::format("{}-{}", first, last)};
    if (first <= e.fullest && e.fullest <= last) row[0] += " *";
    row.insert(row.end(), cells.begin(), cells.end());
    table.add(std::move(row));
    first = last + 1;
  }
  std::string text =
      fmt::format("Memory of a chip, GB of {} (* fullest)\n", gigabytes(usable)) + table.text();
  for (const std::string& note : r.estimate.memory_notes) text += "  " + note + '\n';
  return text;
}

std::string basis_text(const EstimateReport& r) {
  const TrainingEstimate& e = r.estimate;
  std::string text =
      fmt::format("What this rests on\n  kernels and transfers  {}\n", rests_on_words(e));
  text += fmt::format("  software               {}\n", r.software);
  text += fmt::format("  placement              {}\n", placement_words(e.placement));
  if (e.energy_j > 0) {
    const double mj = e.energy_j * 1e-6;
    text += fmt::format("  energy of a step       {:.3g} {}, chips at their power limit\n",
                        mj >= 1 ? mj : mj * 1e3, mj >= 1 ? "MJ" : "kJ");
  }
  if (e.cost_usd > 0) text += fmt::format("  cost of a step         {:.4g} USD\n", e.cost_usd);
  const auto list = [&](std::string_view title, const std::vector<std::string>& lines) {
    if (!lines.empty()) text += fmt::format("\n{}\n", title);
    for (const std::string& line : lines) text += "  " + line + '\n';
  };
  list("Assumed", r.assumed);
  list("Not modelled, with what is taken instead", r.unmodelled);
  list("Not known, and taken as without meaning", r.unknown);
  if (!r.ignored.empty()) {
    text +=
        fmt::format("\nIgnored: without meaning for a step\n  {}\n", fmt::join(r.ignored, ", "));
  }
  return text;
}

/// Why there is no such step, and what comes nearest: before anything that reads as if there were.
std::string refusal_text(const EstimateReport& report) {
  const std::optional<Diagnostic> problem = memory_problem(report);
  if (!problem) return {};
  return fmt::format("DOES NOT FIT: {}: {}\n  {}\n\n", problem->where, problem->what,
                     problem->hint);
}

}  // namespace

std::string report::placement_words(const Placement& placement) {
  constexpr std::array<std::string_view, kPlanDimensions> kNames = {"tp", "tp2", "cp", "dp", "pp"};
  if (placement.inside.size() < 2) return "chips numbered through";
  std::string text;
  for (std::size_t tier = 0; tier + 1 < placement.inside.size(); ++tier) {
    std::string members;
    for (std::size_t d = 0; d < kPlanDimensions; ++d) {
      if (placement.inside[tier][d] == 1) continue;
      members += fmt::format("{}{} {}", members.empty() ? "" : " x ", kNames[d],
                             placement.inside[tier][d]);
    }
    text += fmt::format("{}within {} chips: {}", text.empty() ? "" : "; ", placement.tiers[tier],
                        members.empty() ? "none" : members);
  }
  return text;
}

std::string estimate_text(const EstimateReport& report) {
  const std::string run = report.run ? whole_run_text(*report.run, *report.asked) + '\n' : "";
  const std::string hint = report.hint.empty() ? "" : "  hint: " + report.hint + '\n';
  return fit_text(refusal_text(report) + head_text(report) + '\n' + answer_text(report) + hint +
                      '\n' + run + parts_text(report.estimate) + '\n' + memory_text(report) + '\n' +
                      fitting_text(report) + graph_text(report) + basis_text(report),
                  kTextWidth);
}

}  // namespace flopcast
