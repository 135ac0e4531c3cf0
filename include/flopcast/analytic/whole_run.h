// Floor 5: from a step to a whole training run: days, failures, chip-hours, money, energy.
//
//   RunQuestion asked;
//   asked.tokens = 15e12;
//   whole_run(estimate, plan, asked)->time  // with all failures
#pragma once

#include <optional>
#include <string>

#include "flopcast/analytic.h"

namespace flopcast {

/// What a run is, and what it meets. 0: not told, unless said otherwise.
struct RunQuestion {
  double tokens = 0;             ///< that are trained on: these or `steps`
  double steps = 0;              ///< of the optimizer
  double usd_per_chip_hour = 0;  ///< what an hour of one chip costs
  std::string price_source;      ///< who says so, with the date; empty: whoever asks
  double kg_co2_per_kwh = 0;     ///< of the electricity
  double power_overhead = 1;     ///< energy of the site over that of its chips, at least 1 (PUE)
  Seconds
      chip_between_failures;  ///< mean time in which one chip, with its share of host and network, fails once
  Seconds checkpoint;  ///< for which training stands still while a checkpoint is written
  Seconds restart;     ///< from a failure until training goes on from the last checkpoint
};

/// Calls visit(name, number) for each number of the question, times in seconds.
template <typename Question, typename Visit>
void visit_run_question(Question& asked, Visit&& visit) {
  visit("tokens", asked.tokens);
  visit("steps", asked.steps);
  visit("usd_per_chip_hour", asked.usd_per_chip_hour);
  visit("kg_co2_per_kwh", asked.kg_co2_per_kwh);
  visit("power_overhead", asked.power_overhead);
  visit("chip_between_failures_s", asked.chip_between_failures.value);
  visit("checkpoint_s", asked.checkpoint.value);
  visit("restart_s", asked.restart.value);
}

/// A training run to its end.
struct WholeRun {
  double steps = 0, tokens = 0;
  Seconds work;  ///< of the steps alone
  Seconds time, low,
      high;  ///< by the clock, with checkpoints, failures and restarts; 10-90 % as the step's
  Seconds
      checkpoint_every;  ///< work between two checkpoints that makes `time` least; 0: no failures were told
  double failures = 0;    ///< expected in `time`
  double chip_hours = 0;  ///< of `time`
  double cost_usd = 0;    ///< 0: no price was told
  double energy_j = 0;    ///< chips at their power limit, times power_overhead
  double co2_kg = 0;      ///< 0: no rate was told
};

/// Calls visit(name, number) for each number of the run, times in seconds.
template <typename Run, typename Visit>
void visit_whole_run(Run& run, Visit&& visit) {
  visit("steps", run.steps);
  visit("tokens", run.tokens);
  visit("work_s", run.work.value);
  visit("time_s", run.time.value);
  visit("low_s", run.low.value);
  visit("high_s", run.high.value);
  visit("checkpoint_every_s", run.checkpoint_every.value);
  visit("failures", run.failures);
  visit("chip_hours", run.chip_hours);
  visit("cost_usd", run.cost_usd);
  visit("energy_j", run.energy_j);
  visit("co2_kg", run.co2_kg);
}

/// Time between checkpoints that makes a run with failures shortest (Daly 2006, "A higher order estimate of the optimum
/// checkpoint interval for restart dumps", eq. 37; to first order sqrt(2 C M), Young 1974).
/// @param checkpoint what writing one takes, > 0
/// @param between mean time between failures of the whole, > 0
Seconds best_checkpoint_interval(Seconds checkpoint, Seconds between);
/// What `work` takes with checkpoints, failures and restarts: M e^(R/M) (e^((t+C)/M) - 1) W/t (Daly 2006, eq. 20).
Seconds time_with_failures(Seconds work, Seconds interval, Seconds checkpoint, Seconds restart,
                           Seconds between);

/// Takes the catalogue's price of this cluster's chip, with its source, where the question has none. None is known of a
/// machine whose numbers were changed, but for one that came with the change.
void take_price(RunQuestion& asked, const Cluster& cluster);

/// What of a question makes no sense, as of whole_run.
std::optional<Diagnostic> run_problem(const RunQuestion& asked);

/// The run of a plan's steps. Errors (kUsage): neither or both of tokens and steps, a number that is none, failures without
/// a checkpoint's time; a machine that fails too often to get on.
Result<WholeRun> whole_run(const TrainingEstimate& estimate, const Plan& plan, const Model& model,
                           const RunQuestion& asked);

}  // namespace flopcast
