#include "serving/search/scorer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "serving/search/part.h"

namespace flopcast::serving {
namespace {

using Quantity = ServiceLimit::Quantity;

constexpr double kChipHoursOfMillion = 1e6 / 3600;

/// Why the engine cannot take the longest of the requests.
std::optional<Diagnostic> too_long_for(const Deployment& deployment, const ServingMemory& memory,
                                       const Demand& demand, bool answers) {
  const EngineSettings& settings = deployment.settings;
  if (!settings.chunked_prefill && demand.longest_input() > settings.batch_tokens) {
    return usage_error("batch_tokens",
                       fmt::format("a prompt of {} tokens does not fit in an iteration of {}",
                                   demand.longest_input(), settings.batch_tokens),
                       "allow chunks of prompts, or more tokens in an iteration");
  }
  const std::int64_t longest = answers ? demand.longest() : demand.longest_input() + 1;
  const std::int64_t kept = (longest + settings.block - 1) / settings.block * settings.block;
  if (kept > memory.tokens) {
    return Diagnostic{ErrorCode::kTooLarge, "memory",
                      fmt::format("there is room for keys and values of {} tokens; the longest "
                                  "request has {}",
                                  memory.tokens, longest),
                      "use more chips a replica, or smaller weights"};
  }
  return std::nullopt;
}

struct LeastTimes {
  const IterationModel& model;
  const Deployment& deployment;
  double ttft(double input) const {
    return least_ttft(model, deployment.settings, deployment.layout, input);
  }
  double tpot(double input) const {
    return least_tpot(model, deployment.settings, deployment.layout, input);
  }
};

/// At least what a limit's percentile comes to, of what this pool decides.
double least_value(const ServiceLimit& limit, const LeastTimes& least, const Demand& demand,
                   bool prompts, bool answers) {
  const double percentile = limit.percentile;
  const double input = demand.answered_input(percentile);
  switch (limit.quantity) {
    case Quantity::kTtft:
      return prompts ? least.ttft(demand.input(percentile)) : 0;
    case Quantity::kTpot:
      return answers && input > 0 ? least.tpot(input) : 0;
    case Quantity::kInterToken:
      return 0;  // drafts come several at once
    case Quantity::kLatency: {
      const double first = prompts ? least.ttft(demand.input(percentile)) : 0;
      const double rest = answers ? (demand.output(percentile) - 1) * least.tpot(1) : 0;
      return std::max(first, rest);
    }
  }
  return 0;
}

double cost_of(const FleetSearch& search, double chips, double tokens_per_s) {
  const double price = search.chip_usd_per_hour > 0 ? search.chip_usd_per_hour : 1;
  return tokens_per_s > 0 ? price * chips * kChipHoursOfMillion / tokens_per_s
                          : std::numeric_limits<double>::infinity();
}

Fleet one_replica(const FleetSearch& search, const SearchSpace& space,
                  const Configuration& configuration) {
  FleetChoice choice = choice_of(space, configuration, 1, 1);
  return fleet_with(search, choice, space.values[configuration.precision]);
}

}  // namespace

FleetScorer::FleetScorer(const FleetSearch& search, const Catalog& catalog,
                         const SearchSpace& space, const Demand& demand)
    : search_(search), catalog_(catalog), space_(space), demand_(demand) {
  for (std::size_t i = search.shard; i < space.configurations.size(); i += search.shards) {
    numbers_.push_back(i);
  }
  bounds_.resize(numbers_.size());
}

PoolBound FleetScorer::pool_bound(const Deployment& deployment, bool prompts, bool answers) const {
  PoolBound bound;
  const std::vector<Diagnostic> problems = deployment_problems(deployment);
  if (!problems.empty()) {
    bound.problem = problems.front();
    return bound;
  }
  const Result<ServingMemory> memory = serving_memory(deployment);
  if (!memory) {
    bound.problem = memory.error();
    return bound;
  }
  bound.problem = too_long_for(deployment, *memory, demand_, answers);
  if (bound.problem) return bound;
  const Result<IterationModel> model = IterationModel::make(deployment, catalog_);
  if (!model) {
    bound.problem = model.error();
    return bound;
  }
  const LeastTimes least{*model, deployment};
  bound.ttft = prompts ? least.ttft(demand_.input(0)) : 0;
  bound.tpot = answers && demand_.output(0) > 1 ? least.tpot(demand_.answered_input(1)) : 0;
  bound.works =
      least_works(*model, *memory, deployment.settings, deployment.layout, demand_.tokens());
  bound.least = demand_.least_replicas(bound.works, search_.limits, prompts, answers);
  for (const ServiceLimit& limit : search_.limits) {
    const double value = least_value(limit, least, demand_, prompts, answers);
    bound.ratio = std::max(bound.ratio, value / limit.below.value);
  }
  return bound;
}

Assessment FleetScorer::assess(std::size_t i) const {
  const Fleet fleet = one_replica(search_, space_, configuration(i));
  Bounds& bounds = bounds_[i];
  bounds.pool = pool_bound(fleet.pool.deployment, true, !fleet.decode);
  if (fleet.decode && !bounds.pool.problem) {
    bounds.decode = pool_bound(fleet.decode->deployment, false, true);
  }
  Assessment found;
  found.chips = fleet.pool.deployment.layout.chips();
  found.least = bounds.pool.least;
  found.ratio = std::max(bounds.pool.ratio, bounds.decode.ratio);
  if (fleet.decode) {
    found.decode_chips = fleet.decode->deployment.layout.chips();
    found.least_decode = bounds.decode.least;
  }
  if (const auto& problem = bounds.pool.problem ? bounds.pool.problem : bounds.decode.problem) {
    found.verdict =
        problem->code == ErrorCode::kTooLarge ? Verdict::kTooLarge : Verdict::kImpossible;
  }
  return found;
}

FleetBound FleetScorer::bound(std::size_t i, unsigned replicas, unsigned decode) const {
  const Configuration& one = configuration(i);
  const Bounds& bounds = bounds_[i];
  const double prompts = demand_.mean_input(), answers = demand_.mean_output() - 1;
  double per_request = work_of(bounds.pool.works, one.decode ? 0 : answers, prompts) / replicas;
  double chips = replicas * one.layout.chips();
  double tpot = bounds.pool.tpot;
  if (one.decode) {
    per_request = std::max(per_request, work_of(bounds.decode.works, answers, 0) / decode);
    chips += decode * one.decode->chips();
    tpot = bounds.decode.tpot;
  }
  return {cost_of(search_, chips, demand_.mean_output() / per_request), bounds.pool.ttft, tpot};
}

/// Of a long open load: its beginning shows most fleets that are too small.
std::vector<double> FleetScorer::parts_to_try() const {
  constexpr std::int64_t kWorthwhile = 1000;
  if (demand_.requests() < kWorthwhile || demand_.span() <= 0) return {};
  return {1.0 / 32, 1.0 / 8};
}

/// A queue that never drains is a run without answers.
Result<FleetRun> FleetScorer::run_fleet(const PreparedFleet& fleet, Time longest) const {
  FleetOptions options;
  options.longest = longest;
  Result<FleetRun> run = fleet.run(search_.workload, options);
  if (run || run.error().code != ErrorCode::kNoAnswer) return run;
  FleetRun none;
  none.unanswered = 1;
  return none;
}

void FleetScorer::tell(const FleetRun& run, FleetScore& score) const {
  score.tokens_per_s = run.output_tokens_per_s;
  score.cost = cost_of(search_, score.chips, score.tokens_per_s);
  score.ttft = run.ttft.mean.value;
  score.tpot = run.tpot.mean.value;
  score.told = {run.ttft,    run.tpot,           run.inter_token,
                run.latency, run.requests_per_s, run.counts.preemptions};
}

Result<FleetScore> FleetScorer::run(std::size_t i, unsigned replicas, unsigned decode) const {
  const Configuration& one = configuration(i);
  const FleetChoice choice = choice_of(space_, one, replicas, decode);
  const Result<PreparedFleet> fleet =
      PreparedFleet::make(fleet_with(search_, choice, space_.values[one.precision]), catalog_);
  if (!fleet) return fleet.error();
  FleetScore score;
  score.configuration = i;
  score.replicas = replicas;
  score.decode = decode;
  score.chips = choice.chips();
  for (const double part : parts_to_try()) {
    const Time end{std::llround(part * demand_.span() * 1e12)};
    const Result<FleetRun> run = run_fleet(*fleet, end);
    if (!run) return run.error();
    const double ratio = least_ratio_of(*run, end, demand_.requests(), search_.limits);
    if (ratio < 1) continue;
    tell(*run, score);
    score.ratio = ratio;
    return score;
  }
  const Result<FleetRun> run = run_fleet(*fleet, Time::max());
  if (!run) return run.error();
  tell(*run, score);
  score.ratio = limit_ratio(*run, search_.limits);
  return score;
}

std::optional<std::pair<Diagnostic, std::uint64_t>> FleetScorer::problem() const {
  std::optional<std::pair<Diagnostic, std::uint64_t>> first;
  for (std::size_t i = 0; i < bounds_.size(); ++i) {
    const Bounds& one = bounds_[i];
    const auto& problem = one.pool.problem ? one.pool.problem : one.decode.problem;
    if (!problem) continue;
    if (problem->code == ErrorCode::kTooLarge) return std::pair(*problem, numbers_[i]);
    if (!first) first.emplace(*problem, numbers_[i]);
  }
  return first;
}

}  // namespace flopcast::serving
