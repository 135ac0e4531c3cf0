#include "flopcast/analytic/whole_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/text/format.h"

namespace flopcast {
namespace {

constexpr double kSecondsOfHour = 3600;

/// What an hour of the chip costs; nullptr: the catalogue does not know.
const Fact* rent_of(const Chip& chip) {
  const auto rent = std::find_if(chip.facts.begin(), chip.facts.end(),
                                 [](const Fact& fact) { return fact.key == "rent_usd_per_hour"; });
  return rent == chip.facts.end() ? nullptr : &*rent;
}

}  // namespace

std::optional<Diagnostic> run_problem(const RunQuestion& asked) {
  const std::array<std::pair<std::string_view, double>, 8> numbers = {{
      {"tokens", asked.tokens},
      {"steps", asked.steps},
      {"price", asked.usd_per_chip_hour},
      {"co2", asked.kg_co2_per_kwh},
      {"power-overhead", asked.power_overhead - 1},
      {"chip-mtbf", asked.chip_between_failures.value},
      {"checkpoint-time", asked.checkpoint.value},
      {"restart-time", asked.restart.value},
  }};
  for (const auto& [name, value] : numbers) {
    if (value >= 0 && std::isfinite(value)) continue;
    return usage_error(std::string(name), fmt::format("{} is too small, or no number", value),
                       name == "power-overhead" ? "give 1 or more" : "give 0 or more");
  }
  if ((asked.tokens > 0) == (asked.steps > 0)) {
    return usage_error(
        "tokens", asked.tokens > 0 ? "is given, and so is steps" : "is not given, nor is steps",
        "say how long the run is by one of them: 15T tokens, or 500000 steps");
  }
  const bool fails = asked.chip_between_failures.value > 0;
  if (asked.restart.value > 0 && !fails) {
    return usage_error("chip-mtbf", "is not given, and nothing restarts where nothing fails",
                       "say how often a chip fails: 50000h");
  }
  if (fails != (asked.checkpoint.value > 0)) {
    return usage_error(fails ? "checkpoint-time" : "chip-mtbf",
                       "is not given, so that nothing tells how often a checkpoint pays",
                       fails ? "say how long training stands still for a checkpoint: 30s"
                             : "say how often a chip fails: 50000h");
  }
  return std::nullopt;
}

namespace {

/// What of the run is more than a result can hold: nobody asks that in earnest.
std::optional<Diagnostic> beyond_telling(const WholeRun& run) {
  constexpr double kMost = 1e21;
  std::optional<Diagnostic> problem;
  visit_whole_run(run, [&](std::string_view name, double value) {
    if (value <= kMost || problem) return;
    problem = usage_error("tokens", fmt::format("{} of the run would be {:.3g}", name, value),
                          "ask for a shorter run, at another price or with more failures");
  });
  return problem;
}

/// Sets what failures do to the run.
std::optional<Diagnostic> add_failures(WholeRun& run, const RunQuestion& asked, unsigned chips) {
  const Seconds between = asked.chip_between_failures / static_cast<double>(chips);
  run.checkpoint_every = best_checkpoint_interval(asked.checkpoint, between);
  const Seconds once = time_with_failures(Seconds{1}, run.checkpoint_every, asked.checkpoint,
                                          asked.restart, between);
  const double longer = once.value;
  // A hundredth of the time at work: nobody runs that, and the formula leaves the clock soon after.
  constexpr double kHopeless = 100;
  if (!(longer < kHopeless)) {
    return usage_error("chip-mtbf",
                       fmt::format("one of {} chips fails every {}: with checkpoints of {} and "
                                   "restarts of {} the run does not get on",
                                   grouped(chips), short_time(between),
                                   short_time(asked.checkpoint), short_time(asked.restart)),
                       "give the hours between two failures of one chip, such as 50000h");
  }
  for (Seconds* time : {&run.time, &run.low, &run.high}) *time = *time * longer;
  run.failures = run.time / between;
  return std::nullopt;
}

}  // namespace

Seconds best_checkpoint_interval(Seconds checkpoint, Seconds between) {
  const double c = checkpoint.value, m = between.value;
  if (c >= 2 * m) return between;
  const double x = std::sqrt(c / (2 * m));
  return Seconds{std::sqrt(2 * c * m) * (1 + x / 3 + x * x / 9) - c};
}

Seconds time_with_failures(Seconds work, Seconds interval, Seconds checkpoint, Seconds restart,
                           Seconds between) {
  const double m = between.value;
  return Seconds{m * std::exp(restart.value / m) * std::expm1((interval + checkpoint).value / m) *
                 (work / interval)};
}

void take_price(RunQuestion& asked, const Cluster& cluster) {
  if (asked.usd_per_chip_hour > 0) return;
  const Fact* rent = rent_of(cluster.chip);
  if (rent == nullptr) return;
  // Nobody lends a machine that there is not at the price of the one that it was made from.
  const Fact* before = cluster.nominal ? rent_of(cluster.nominal->chip) : nullptr;
  if (before != nullptr && before->source == rent->source && before->value == rent->value) return;
  asked.usd_per_chip_hour = rent->value;
  asked.price_source = rent->source;
}

Result<WholeRun> whole_run(const TrainingEstimate& estimate, const Plan& plan, const Model& model,
                           const RunQuestion& asked) {
  if (auto wrong = run_problem(asked)) return *std::move(wrong);
  const double tokens_of_step =
      static_cast<double>(plan.global_batch) * static_cast<double>(sequence_of(plan, model));
  WholeRun run;
  run.steps = asked.steps > 0 ? asked.steps : std::ceil(asked.tokens / tokens_of_step);
  run.tokens = run.steps * tokens_of_step;
  run.work = run.time = estimate.step * run.steps;
  run.low = estimate.low * run.steps;
  run.high = estimate.high * run.steps;
  if (asked.chip_between_failures.value > 0) {
    if (auto hopeless = add_failures(run, asked, plan.chips())) return *std::move(hopeless);
  }
  run.chip_hours = run.time.value / kSecondsOfHour * plan.chips();
  run.cost_usd = run.chip_hours * asked.usd_per_chip_hour;
  run.energy_j = estimate.energy_j / estimate.step.value * run.time.value * asked.power_overhead;
  constexpr double kJoulesOfKwh = 3.6e6;
  run.co2_kg = run.energy_j / kJoulesOfKwh * asked.kg_co2_per_kwh;
  if (auto beyond = beyond_telling(run)) return *std::move(beyond);
  return run;
}

}  // namespace flopcast
