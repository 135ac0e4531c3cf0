// Floor 5: the best plans of all: exact search over parallelism, schedule and placement.
//
//   PlanSearchOptions options;
//   options.chips = 16384, options.global_batch = 2048;
//   options.constraints = {*parse_plan_constraint("tp<=8")};
//   Result<PlanSearch> found = search_plans(training, options);
//
// Exact: every plan of the space counts, and only those are not timed that do not fit into memory
// or whose lower bound on time shows that they are neither among the best nor on the Pareto front.
// Results are the same bytes for any number of threads; those of shards merge to those of the whole
// (but for `bounded` and `timed`). docs/theory/search.md has the space, the order it is gone through
// and why what is left out cannot be better.
//
// What is counted: a *plan* is one possible choice of everything but the placement, a *placed plan*
// is a plan at one of its placements. Each is judged once: its memory is worked out, then a bound on
// its time, then its time, as far as the answer needs them. Plans per second count all that were
// judged, proven worse by a bound or timed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flopcast/analytic.h"
#include "flopcast/base.h"
#include "flopcast/parallel.h"
#include "flopcast/parallel/files.h"

namespace flopcast {

/// What the user fixes ("pp=4"), bounds ("tp<=8", "dp>=2") or lists ("recompute=none,full") of a
/// plan. Names are Megatron's short forms: tp cp pp dp ep etp vpp micro_batch zero shard schedule
/// recompute sequence_parallel precision context. Several constraints of one name all hold.
struct PlanConstraint {
  std::string name;                        ///< one of these
  std::int64_t low = 0, high = INT64_MAX;  ///< of numbers
  std::vector<std::string> values;  ///< named choices as reports print them, numbers; empty: any
  bool operator==(const PlanConstraint&) const = default;
};
/// Errors (kUsage): no operator, an unknown name or value; each lists what there is.
Result<PlanConstraint> parse_plan_constraint(std::string_view text);
/// The same of its parts: "tp", "<=", "8". Errors: as above.
Result<PlanConstraint> plan_constraint(std::string_view name, std::string_view sign,
                                       std::string_view values);
/// As reports print it and parse_plan_constraint reads it: "tp<=8". @pre bounds on one side only, or
/// equal ones: what lies between two numbers is two constraints
std::string constraint_text(const PlanConstraint& constraint);
/// Of each.
std::vector<std::string> constraint_texts(std::span<const PlanConstraint> constraints);

/// What search_plans looks for, and where.
struct PlanSearchOptions {
  unsigned chips = 0;             ///< 0: all of the cluster
  std::int64_t global_batch = 0;  ///< sequences a step
  std::int64_t sequence = 0;      ///< 0: the model's longest
  /// What the search does not vary: optimiser, overlap, tensor kind and tp2, recompute modules; and
  /// precision, shard and layers of stages unless a constraint lists others.
  Plan base;
  std::vector<PlanConstraint> constraints;  ///< that every plan meets
  std::optional<PlanFormat> launchable;     ///< only plans that this launcher can run, as it does
  std::vector<std::string> named;  ///< settings of `base` that a launcher's own ways do not replace
  bool placements = true;          ///< all placements; false: the default one of each plan
  double memory_share = 1;         ///< of a chip's capacity that a plan may need
  double fit_odds = 0.9;           ///< with which it has to fit into that
  std::size_t best = 10;           ///< plans to return
  unsigned threads = 0;            ///< 0: all cores
  unsigned shard = 0, shards = 1;  ///< search only every shards-th part of the space, from `shard`
  /// Called now and then with parts of the work done of how many, from one thread at a time; false
  /// stops.
  std::function<bool(std::uint64_t done, std::uint64_t all)> progress;
};

/// One plan that a search found.
struct PlanFound {
  Plan plan;                 ///< what to run
  Placement placement;       ///< the plan's fastest; of equals, the first of placements()
  Seconds time;              ///< of one step
  Bytes memory;              ///< of the fullest chip
  std::uint64_t number = 0;  ///< of the plan in the space, whatever the shard: breaks ties
};
/// What a search found, and how it found it.
struct PlanSearch {
  std::uint64_t plans = 0;   ///< possible ones of this shard, without placements
  std::uint64_t placed = 0;  ///< plans x placements
  /// Plans that cannot fit: weights, gradients, optimiser and kept activations alone need more. Of the others those that
  /// could win are looked at more closely.
  std::uint64_t too_big = 0;
  /// Placed plans that were not timed, because a bound showed that they cannot win. The
  /// same for any number of threads, but not for another cut into shards: a part knows less.
  std::uint64_t bounded = 0;
  std::uint64_t timed = 0;      ///< placed plans whose schedule was run; the rest are too big
  std::vector<PlanFound> best;  ///< different plans, fastest first; equal times by number
  /// Of plans that fit, time against memory, fastest first: no plan is as fast and as lean as one of
  /// these and better in one of both.
  std::vector<PlanFound> pareto;
  /// Least memory of all possible plans, fitting or not; of these the fastest.
  std::optional<PlanFound> leanest;
  bool complete = true;  ///< false: stopped by `progress`
  /// Where no plan is possible: reasons by how many candidates each refuses, most frequent first.
  /// A candidate is a choice of degrees, micro batch and schedule.
  std::vector<std::pair<std::string, std::uint64_t>> refused;
};

/// Precisions that plans are searched in. Errors (kUsage): constraints that leave no value of what
/// they name.
Result<std::vector<Precision>> searched_precisions(const PlanSearchOptions& options);

/// Where nothing fits, `best` is empty and `leanest` is not. Errors (kUsage): more chips than the
/// cluster has, a batch below 1, a shard that is not one of `shards`, constraints that leave no
/// value of what they name.
Result<PlanSearch> search_plans(const TrainingModel& model, const PlanSearchOptions& options);
/// Of all shards of one search, in any order: what the whole search gives, but for `bounded` and
/// `timed`.
PlanSearch merge_searches(std::span<const PlanSearch> shards, std::size_t best);

/// Relative change of the step for +10 % of one hardware number, everything else equal. Numbers: the
/// chip's matrix rate and hbm bandwidth, bandwidth and latency of each level of the network.
struct Sensitivity {
  std::string number;  ///< "matrix rate", "hbm bandwidth", "node bandwidth"
  double change = 0;   ///< -0.02: 2 % faster
};
/// Of this plan; most important first, equals by name. Errors: those of Machine::make and
/// TrainingModel::estimate.
Result<std::vector<Sensitivity>> sensitivities(const TrainingModel& model, const Plan& plan,
                                               const Placement& placement);

}  // namespace flopcast
